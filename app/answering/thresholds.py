"""Coefficients and thresholds of the extractive answerer, from the file that calibration writes."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources


@dataclass(frozen=True, slots=True)
class Thresholds:
    """What decides between a sentence and an abstention.

    Attributes:
        rank: Weight of each feature of `scoring.FEATURES`, and `bias`, when candidates are put in order.
        answers: The same when the first of them is judged: does it answer, or does nothing?
        answer: Least probability at which a sentence is given as an answer.
        item: Probability of a numbered item that the question names.
        near: Least cosine at which a passage counts as near to the question.
        version: Hash of the file: two answers of one version were made by the same rules.
    """

    rank: Mapping[str, float]
    answers: Mapping[str, float]
    answer: float
    item: float
    near: float
    version: str


def load_thresholds() -> Thresholds:
    """Read the file that is shipped with the code."""
    raw = resources.files("app.answering").joinpath("thresholds.json").read_bytes()
    values = json.loads(raw)
    return Thresholds(
        rank=values["rank"],
        answers=values["answers"],
        answer=values["answer"],
        item=values["item"],
        near=values["near"],
        version=f"extractive-{hashlib.sha256(raw).hexdigest()[:12]}",
    )
