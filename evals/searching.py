"""Measures search alone: the service's beside each of its arms and a plain hybrid, on one loaded workspace."""

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from app.bootstrap import Services
from app.retrieval.fusion import FusionSettings
from app.retrieval.service import RetrievalService
from app.retrieval.types import Passage
from evals.baseline import PlainHybrid
from evals.figures import ndcg
from evals.formats import LabelledQuestion
from evals.loading import LoadedSet, progress, read_texts, with_one_name
from evals.matching import Found, holds_evidence

_DEPTH = 30
"""Passages that are looked at: enough for ten different files."""
_KEYWORD_ALONE = FusionSettings(identifier_weight=0, name_weight=0, vector_weight=0)
_VECTOR_ALONE = FusionSettings(identifier_weight=0, name_weight=0, keyword_weight=0)

Search = Callable[[str], Awaitable[Sequence[Found]]]


@dataclass(frozen=True, slots=True)
class SearchOutcome:
    """What one way of searching found for one question.

    Attributes:
        rank: Place of the first passage that holds the evidence, from 1; None when none of the first 30 does.
        right_file: Whether the first passage is from a file that holds evidence.
        ndcg: Of the files in the order of their best passages, at 10.
        seconds: Of the search, the question's vector included. An arm alone takes no less than all of them: their
            statement is one.
    """

    question_id: str
    rank: int | None
    right_file: bool
    ndcg: float
    seconds: float


async def search_all(
    services: Services, loaded: LoadedSet, questions: Sequence[LabelledQuestion], *, with_plain: bool
) -> dict[str, list[SearchOutcome]]:
    """Search for each answerable question that has evidence, in each way; one after the other."""
    asked = [with_one_name(loaded, each) for each in questions if each.answerable and each.evidence]
    outcomes: dict[str, list[SearchOutcome]] = {}
    for name, search in (await _ways(services, loaded, with_plain=with_plain)).items():
        outcomes[name] = []
        for question in asked:
            outcomes[name].append(await _measure(search, question))
            progress(f"{name}: searched for {len(outcomes[name])}/{len(asked)} questions")
    progress("")
    return outcomes


def judge(found: Sequence[Found], question: LabelledQuestion, seconds: float) -> SearchOutcome:
    """Judge what was found, best first."""
    relevant = frozenset(evidence.file for evidence in question.evidence)
    files = list(dict.fromkeys(each.file for each in found))
    return SearchOutcome(
        question_id=question.id,
        rank=next((place for place, each in enumerate(found, 1) if holds_evidence(each, question)), None),
        right_file=bool(files) and files[0] in relevant,
        ndcg=ndcg(files, relevant),
        seconds=seconds,
    )


async def _ways(services: Services, loaded: LoadedSet, *, with_plain: bool) -> dict[str, Search]:
    ways: dict[str, Search] = {
        "ours": _by_service(services.retrieval, loaded),
        "keyword": _by_arm(services, loaded, _KEYWORD_ALONE, lambda passage: passage.arms.keyword),
        "vector": _by_arm(services, loaded, _VECTOR_ALONE, lambda passage: passage.arms.vector),
    }
    if with_plain:
        plain = await PlainHybrid.build(await read_texts(services, loaded), services.embedders.local, progress)
        ways["plain"] = lambda question: plain.search(question, _DEPTH)
    return ways


def _by_service(retrieval: RetrievalService, loaded: LoadedSet) -> Search:
    async def search(question: str) -> list[Found]:
        found = await retrieval.search(loaded.scope, question, _DEPTH)
        return [_found(loaded, passage) for passage in found.passages]

    return search


def _by_arm(
    services: Services, loaded: LoadedSet, settings: FusionSettings, rank: Callable[[Passage], int | None]
) -> Search:
    """Search by one arm: the others still bring passages, of no weight, which are left out."""
    retrieval = RetrievalService(
        services.database,
        services.embedders,
        max_query_characters=services.settings.max_question_characters,
        settings=settings,
    )

    async def search(question: str) -> list[Found]:
        found = await retrieval.search(loaded.scope, question, _DEPTH)
        return [_found(loaded, passage) for passage in found.passages if rank(passage) is not None]

    return search


async def _measure(search: Search, question: LabelledQuestion) -> SearchOutcome:
    started = time.perf_counter()
    found = await search(question.text)
    return judge(found, question, time.perf_counter() - started)


def _found(loaded: LoadedSet, passage: Passage) -> Found:
    return Found(loaded.files[passage.content_sha256], passage.text)
