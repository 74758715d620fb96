"""What happens while a question is answered, in order: accepted, status, claims, answer."""

from dataclasses import dataclass
from enum import StrEnum

from app.answering.claims import Answer, Claim
from app.core.ids import AnswerId


class Stage(StrEnum):
    """What is being done."""

    SEARCHING = "searching"
    READING = "reading"
    VERIFYING = "verifying"


@dataclass(frozen=True, slots=True)
class Accepted:
    """The question is taken on; the answer will have this id."""

    answer_id: AnswerId


@dataclass(frozen=True, slots=True)
class StageReached:
    """Work went on to a stage; `detail` is a sentence for people."""

    stage: Stage
    detail: str


@dataclass(frozen=True, slots=True)
class ClaimVerified:
    """One claim of the answer, verified and stored."""

    claim: Claim


@dataclass(frozen=True, slots=True)
class Answered:
    """The whole answer; nothing follows."""

    answer: Answer


AnswerEvent = Accepted | StageReached | ClaimVerified | Answered
