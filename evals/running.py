"""Asks every question of a loaded set and judges what comes back."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from app.answering.claims import Answer, Ask, Citation, Status
from app.bootstrap import Services
from app.core.tenancy import WorkspaceScope
from evals.formats import LabelledQuestion
from evals.loading import LoadedSet, progress, with_one_name
from evals.matching import Found, holds_answer, holds_evidence


@dataclass(frozen=True, slots=True)
class Outcome:
    """What happened to one question.

    Attributes:
        holds: Whether a quote of the answer holds the evidence.
        holds_answer: Whether the quotes hold one of the labelled answers.
        citations: How many, and how many of them stand at their offsets in their page.
        seconds: Of the whole answer.
    """

    question: LabelledQuestion
    status: Status
    reason: str | None
    score: float
    holds: bool
    holds_answer: bool
    citations: int
    exact_citations: int
    seconds: float


async def ask_all(services: Services, loaded: LoadedSet, questions: Sequence[LabelledQuestion]) -> list[Outcome]:
    """Ask one question after the other, as one user would."""
    outcomes = []
    for count, question in enumerate(questions, 1):
        outcomes.append(await _ask(services, loaded, question))
        progress(f"asked {count}/{len(questions)}")
    progress("")
    return outcomes


async def _ask(services: Services, loaded: LoadedSet, raw: LabelledQuestion) -> Outcome:
    question = with_one_name(loaded, raw)
    started = time.perf_counter()
    answer = await services.answering.answer(loaded.scope, Ask(question.text))
    seconds = time.perf_counter() - started
    cited = [citation for claim in answer.claims for citation in claim.citations]
    quotes = _quotes(loaded, answer)
    return Outcome(
        question=question,
        status=answer.status,
        reason=answer.reason,
        score=answer.score,
        holds=any(holds_evidence(quote, question) for quote in quotes),
        holds_answer=any(holds_answer(quote.text, answer) for quote in quotes for answer in question.answers),
        citations=len(cited),
        exact_citations=sum([await _is_exact(services, loaded.scope, citation) for citation in cited]),
        seconds=seconds,
    )


def _quotes(loaded: LoadedSet, answer: Answer) -> list[Found]:
    """Return the quotes of each claim, joined where they cross a page."""
    names = {view.id: name for name, view in loaded.documents.items()}
    return [
        Found(
            names.get(claim.citations[0].document_id, claim.citations[0].document_name),
            "\n".join(citation.quote for citation in claim.citations),
        )
        for claim in answer.claims
    ]


async def _is_exact(services: Services, scope: WorkspaceScope, citation: Citation) -> bool:
    page = await services.documents.page(scope, citation.document_id, citation.page, citation.version_id)
    return page.text[citation.start : citation.end] == citation.quote
