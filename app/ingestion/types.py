"""What the steps of the pipeline hand to each other, and how a run can end."""

from dataclasses import dataclass
from datetime import timedelta

from app.core.ids import ChunkId
from app.documents.types import Status


@dataclass(frozen=True, slots=True)
class Finished:
    """A content has ended, for the log: ids and counts only."""

    status: Status
    chunks: int
    reason: str | None


@dataclass(frozen=True, slots=True)
class Yielded:
    """The work was put back for others: what is done is stored, and the next run goes on from there.

    Attributes:
        done: Passages with a vector so far.
        total: Passages in all.
    """

    done: int
    total: int


@dataclass(frozen=True, slots=True)
class Busy:
    """Another worker holds this content; its lease ends in so long, by the database's clock, unless it renews it."""

    lasts: timedelta


@dataclass(frozen=True, slots=True)
class Away:
    """A part that the run needs is away, which is no fault of the file: it waits, and this was no attempt.

    Attributes:
        progressed: Whether the run has stored something that the next one keeps.
    """

    progressed: bool


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to process one content until someone claims it with a higher fencing number.

    Attributes:
        attempts: Claims since the last progress, this one included.
        text_stored: Whether pages and chunks of the present parser and chunker are all stored.
    """

    sha256: str
    fence: int
    attempts: int
    blob_key: str
    media_type: str
    size_bytes: int
    text_stored: bool


@dataclass(frozen=True, slots=True)
class PendingChunk:
    """A stored chunk without a vector; `page` is where it begins."""

    id: ChunkId
    ordinal: int
    page: int
    text: str
