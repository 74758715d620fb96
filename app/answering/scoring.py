"""How well a candidate answers a question, as a probability from a few features. Pure."""

import math
import re
from collections.abc import Mapping, Sequence

from app.answering.candidates import Candidate
from app.answering.questions import AnswerKind, Question
from app.answering.words import content_stems, words

FEATURES = (
    "cosine",
    "overlap",
    "context_overlap",
    "passage_overlap",
    "similarity",
    "place",
    "fits",
    "fits_not",
    "length",
    "cosine_overlap",
)

_CAPITALISED = re.compile(r"(?<!^)(?<![.!?] )\b[A-Z][a-z]+")
_TIME = re.compile(
    r"\b\d{4}\b|\b\d{1,2}(?:st|nd|rd|th)\b|\b(?:january|february|march|april|may|june|july|august|september|october"
    r"|november|december|century|monday|tuesday|wednesday|thursday|friday|saturday|sunday|years?|days?)\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|twelve|dozen|hundred|thousand|million|billion|half|"
    r"twice|once|several|few)\b",
    re.IGNORECASE,
)
_REASON = re.compile(
    r"\b(?:because|due to|since|so that|in order|caused?|causes|reasons?|result|therefore|to avoid|led)\b",
    re.IGNORECASE,
)
_PLACE = re.compile(r"\b(?:in|at|near|from|on|to|across|between|of) (?:the )?[A-Z]")


def rarities(question: Question, candidates: Sequence[Candidate]) -> Mapping[str, float]:
    """Return the weight of each word of the question: the rarer among the candidates, the heavier."""
    total = len(candidates)
    return {
        word: math.log((total + 1) / (sum(word in each.stems for each in candidates) + 0.5)) + 0.3
        for word in question.stems
    }


def features(
    question: Question, candidate: Candidate, cosine: float, weights: Mapping[str, float]
) -> tuple[float, ...]:
    """Return the features of one candidate, in the order of `FEATURES`.

    Args:
        question: What is asked.
        candidate: A run of a passage.
        cosine: Cosine of their vectors.
        weights: Rarity of each word of the question.
    """
    overlap = _share(weights, candidate.stems)
    fits = _fits(question, candidate)
    return (
        cosine,
        overlap,
        _share(weights, candidate.context_stems),
        _share(weights, candidate.passage_stems),
        candidate.passage.similarity,
        1.0 / (1 + candidate.place),
        1.0 if fits is True else 0.0,
        1.0 if fits is False else 0.0,
        min(1.0, len(candidate.text) / 400),
        cosine * overlap,
    )


def probability(values: Sequence[float], coefficients: Mapping[str, float]) -> float:
    """Return the logistic of the weighted sum of the features and the bias."""
    total = coefficients["bias"] + sum(coefficients[name] * value for name, value in zip(FEATURES, values, strict=True))
    return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, total))))


def _share(weights: Mapping[str, float], stems: frozenset[str]) -> float:
    whole = sum(weights.values())
    return sum(weight for word, weight in weights.items() if word in stems) / whole if whole else 0.0


def _fits(question: Question, candidate: Candidate) -> bool | None:
    """Whether the sentence holds something of the kind that is asked for, beyond the question's own words."""
    text = candidate.text
    if question.kind is AnswerKind.PERSON:
        return any(content_stems(name) - question.stems for name in _CAPITALISED.findall(text))
    if question.kind is AnswerKind.PLACE:
        return bool(_PLACE.search(text))
    if question.kind is AnswerKind.REASON:
        return bool(_REASON.search(text))
    new = " ".join(word for word in words(text) if word not in question.text.lower())
    if question.kind is AnswerKind.TIME:
        return bool(_TIME.search(new))
    return bool(_NUMBER.search(new)) if question.kind is AnswerKind.NUMBER else None
