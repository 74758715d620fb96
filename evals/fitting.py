"""Fits the extractive answerer's coefficients and threshold. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.answering.scoring import FEATURES, probability

_STEPS = 30
_RIDGE = 0.05
"""Penalty on large coefficients; features are between 0 and 1, so one value serves all."""

Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Example:
    """The candidates of one question of one set.

    Attributes:
        features: One row for each candidate that is not a numbered item.
        right: Which of them hold the evidence; none for an unanswerable question.
    """

    set_name: str
    answerable: bool
    features: tuple[tuple[float, ...], ...]
    right: tuple[bool, ...]


def fit_rank(examples: Sequence[Example]) -> dict[str, float]:
    """Fit which candidate of a question is right; each question that has a right one weighs the same."""
    usable = [each for each in examples if any(each.right)]
    rows = np.array([row for each in usable for row in each.features])
    labels = np.array([float(right) for each in usable for right in each.right])
    weights = np.array([_balanced(each, right) for each in usable for right in each.right])
    return _logistic(rows, labels, weights)


def fit_answers(examples: Sequence[Example], rank: Mapping[str, float]) -> dict[str, float]:
    """Fit whether the best candidate of a question answers it; each set weighs the same."""
    tops = [(each, *_top(each, rank)) for each in examples if each.features]
    sizes = {name: sum(each.set_name == name for each, _, _ in tops) for name in {each.set_name for each, _, _ in tops}}
    rows = np.array([row for _, row, _ in tops])
    labels = np.array([float(right) for _, _, right in tops])
    weights = np.array([len(tops) / len(sizes) / sizes[each.set_name] for each, _, _ in tops])
    return _logistic(rows, labels, weights)


def fit_threshold(examples: Sequence[Example], rank: Mapping[str, float], answers: Mapping[str, float]) -> float:
    """Return the threshold with the most right answers less wrong ones, each set weighing the same.

    An answer counts 1 when it holds the evidence, and takes 1 away when the question is unanswerable. One that is
    beside the point takes 0.2 away: its quote is true, and the reader sees it.
    """
    sizes = {name: sum(each.set_name == name for each in examples) for name in {each.set_name for each in examples}}
    gains: list[tuple[float, float]] = []
    for each in examples:
        if each.features:
            row, right = _top(each, rank)
            gain = 1.0 if right else (-0.2 if each.answerable else -1.0)
            gains.append((probability(row, answers), gain / sizes[each.set_name]))
    gains.sort(reverse=True)
    totals = np.cumsum([gain for _, gain in gains])
    return round(gains[int(np.argmax(totals))][0], 3)


def _top(example: Example, rank: Mapping[str, float]) -> tuple[tuple[float, ...], bool]:
    best = max(range(len(example.features)), key=lambda at: probability(example.features[at], rank))
    return example.features[best], example.right[best]


def _balanced(example: Example, right: bool) -> float:
    count = sum(example.right)
    return 1.0 / count if right else 1.0 / max(1, len(example.right) - count)


def _logistic(rows: Matrix, labels: Matrix, weights: Matrix) -> dict[str, float]:
    """Return the coefficients of a weighted logistic regression with a ridge, by Newton's method."""
    design = np.hstack([rows, np.ones((len(rows), 1))])
    penalty = np.diag([_RIDGE] * rows.shape[1] + [1e-6])
    beta = np.zeros(design.shape[1])
    for _ in range(_STEPS):
        likely = 1.0 / (1.0 + np.exp(-design @ beta))
        gradient = design.T @ (weights * (labels - likely)) - penalty @ beta
        curvature = (design * (weights * likely * (1 - likely))[:, None]).T @ design + penalty
        beta += np.linalg.solve(curvature, gradient)
    named = zip((*FEATURES, "bias"), beta, strict=True)
    return {name: round(float(value), 4) for name, value in named}
