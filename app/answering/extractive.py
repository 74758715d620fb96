"""Answers without a language model: the sentence that answers, verbatim, or nothing. Pure.

What a document says is compared, never obeyed.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.answering.candidates import Candidate
from app.answering.claims import Draft, DraftClaim, DraftQuote
from app.answering.questions import Question
from app.answering.scoring import features, probability, rarities
from app.answering.thresholds import Thresholds
from app.llm.types import Vectors

_MOST_ITEMS = 3


@dataclass(frozen=True, slots=True)
class Scored:
    """A candidate, judged.

    Attributes:
        rank: What candidates are put in order by; above 1 for a numbered item that the question names.
        probability: How likely it answers.
        features: What both were made of, in the order of `scoring.FEATURES`.
    """

    candidate: Candidate
    rank: float
    probability: float
    features: tuple[float, ...]


def score_candidates(
    question: Question,
    candidates: Sequence[Candidate],
    question_vector: Vectors,
    vectors: Vectors,
    thresholds: Thresholds,
) -> tuple[Scored, ...]:
    """Return the candidates, judged, best first.

    Args:
        question: What is asked.
        candidates: Runs of passages.
        question_vector: Unit vector, shape `(dimension,)`.
        vectors: Unit vectors of the candidates' texts, in order, shape `(len(candidates), dimension)`.
        thresholds: Coefficients.
    """
    weights = rarities(question, candidates)
    cosines = vectors @ question_vector if candidates else np.zeros(0, dtype=np.float32)
    scored = [
        _score(candidate, features(question, candidate, float(cosine), weights), thresholds)
        for candidate, cosine in zip(candidates, cosines, strict=True)
    ]
    return tuple(sorted(scored, key=lambda each: -each.rank))


def _score(candidate: Candidate, values: tuple[float, ...], thresholds: Thresholds) -> Scored:
    rank, likely = probability(values, thresholds.rank), probability(values, thresholds.answers)
    if candidate.is_item:
        rank, likely = 1.0 + rank, max(likely, thresholds.item)
    return Scored(candidate, rank, likely, values)


def draft_part(question: Question, scored: Sequence[Scored], thresholds: Thresholds) -> Draft:
    """Return the best candidate as a claim, or nothing but the missing part.

    Numbered items are given as often as the documents number one so: each is what it says.

    Args:
        question: A whole question or one part of it.
        scored: Its candidates, best first.
        thresholds: When a candidate is good enough.
    """
    best = scored[0] if scored else None
    if best is None or best.probability < thresholds.answer:
        return Draft((), (question.text,), best.probability if best else 0.0)
    chosen = [each for each in scored if each.candidate.is_item][:_MOST_ITEMS] or [best]
    return Draft(tuple(dict.fromkeys(_claim(each.candidate) for each in chosen)), (), best.probability)


def join_parts(parts: Sequence[Draft]) -> Draft:
    """Join the drafts of a question's parts; what one part repeats is said once, nothing found is one abstention.

    The score is that of the best part: whether there is anything to say.
    """
    claims = tuple(dict.fromkeys(claim for part in parts for claim in part.claims))
    missing = tuple(text for part in parts for text in part.missing) if claims else ()
    return Draft(claims, missing, max((part.score for part in parts), default=0.0))


def _claim(candidate: Candidate) -> DraftClaim:
    text = candidate.text
    return DraftClaim(" ".join(text.split()), (DraftQuote(candidate.passage.chunk_id, text),))
