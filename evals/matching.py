"""Whether a retrieved passage or a quote holds the evidence of a question. Pure; the definitions of the figures."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from app.answering.folding import fold
from app.answering.words import content_stems
from evals.formats import Evidence, LabelledQuestion

OVERLAP = 0.6
"""Least share of the shorter text's content words that the longer one must hold."""
RUN = 12
"""Words in a row, of both texts, that show a passage to hold a part of the evidence."""
_LONG_ANSWER = 8
_LONG_OVERLAP = 0.8


@dataclass(frozen=True, slots=True)
class Found:
    """A passage or a quote: its text, and the file that it is from."""

    file: str
    text: str


def holds_evidence(found: Found, question: LabelledQuestion) -> bool:
    """Tell whether a text holds any evidence of a question.

    It must come from the file of the evidence. The evidence stands in it as a whole; or they share a run of `RUN`
    words, or `OVERLAP` of the content words of the shorter one, and where the evidence holds one of the labelled
    answers, the text holds one as well. So a paragraph that is cut in two is held by the part with the answer,
    wherever the cut is. Evidence without a text is met by any text of the file.
    """
    return any(_meets(found, evidence, question.answers) for evidence in question.evidence)


def _meets(found: Found, evidence: Evidence, answers: Sequence[str]) -> bool:
    if found.file != evidence.file:
        return False
    if not evidence.text:
        return True
    if _folded(evidence.text) in _folded(found.text):
        return True
    if _runs(evidence.text).isdisjoint(_runs(found.text)) and _overlap(found.text, evidence.text) < OVERLAP:
        return False
    telling = [answer for answer in answers if holds_answer(evidence.text, answer)]
    return not telling or any(holds_answer(found.text, answer) for answer in telling)


def holds_answer(text: str, answer: str) -> bool:
    """Tell whether an answer stands in a text; of a long one, most of its content words."""
    stems = content_stems(answer)
    if len(stems) > _LONG_ANSWER:
        return len(stems & content_stems(text)) >= _LONG_OVERLAP * len(stems)
    wanted = _folded(answer).strip(" .,")
    return bool(wanted) and wanted in _folded(text)


@lru_cache(maxsize=10_000)  # a passage is found by many questions, and folding it takes milliseconds
def _folded(text: str) -> str:
    return fold(text).text.casefold()


@lru_cache(maxsize=10_000)
def _runs(text: str) -> frozenset[tuple[str, ...]]:
    words = _folded(text).split()
    return frozenset(tuple(words[at : at + RUN]) for at in range(len(words) - RUN + 1))


def _overlap(left: str, right: str) -> float:
    a, b = content_stems(left), content_stems(right)
    return len(a & b) / min(len(a), len(b)) if a and b else 0.0
