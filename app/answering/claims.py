"""The values of answering: what is drafted, what is cited, what is answered."""

from dataclasses import dataclass, field
from enum import StrEnum
from uuid import UUID

from app.core.ids import AnswerId, ChunkId, DocumentId, VersionId


class Status(StrEnum):
    """How an answer ended."""

    ANSWERED = "answered"
    PARTIAL = "partial"
    ABSTAINED = "abstained"


class Reason(StrEnum):
    """Why there is no answer."""

    NO_DOCUMENTS = "no_documents"
    STILL_INDEXING = "still_indexing"
    NO_EVIDENCE = "no_evidence"
    INSUFFICIENT_EVIDENCE = "insufficient_evidence"
    UNVERIFIED = "unverified"
    BUDGET = "budget"
    OUT_OF_SCOPE = "out_of_scope"


class Mode(StrEnum):
    """Which path the asker wants."""

    AUTO = "auto"
    RETRIEVAL = "retrieval"
    AGENT = "agent"


@dataclass(frozen=True, slots=True)
class DraftQuote:
    """Words that an answerer says it copied from a passage."""

    chunk_id: ChunkId
    text: str


@dataclass(frozen=True, slots=True)
class DraftClaim:
    """One statement with its quotes; nothing of it is believed before verification."""

    text: str
    quotes: tuple[DraftQuote, ...]


@dataclass(frozen=True, slots=True)
class Draft:
    """What an answerer proposes.

    Attributes:
        claims: In the order in which they are shown.
        missing: Parts of the question that the passages do not answer.
        score: How sure it is that the passages answer, from 0 to 1.
    """

    claims: tuple[DraftClaim, ...]
    missing: tuple[str, ...] = ()
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class Citation:
    """A verified quote: `page_text[start:end] == quote` in the page of the cited version.

    Attributes:
        n: Number of the citation in its answer, from 1; given by us.
        page: Number of the page, from 1.
        start: Offset in the text of the page, in characters.
        end: Offset after the last character.
    """

    n: int
    chunk_id: ChunkId
    document_id: DocumentId
    document_name: str
    version_id: VersionId
    page: int
    start: int
    end: int
    quote: str


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement that its citations carry. Claims with the same `conflict` number contradict each other."""

    text: str
    citations: tuple[Citation, ...]
    conflict: int | None = None


@dataclass(frozen=True, slots=True)
class Cache:
    """Whether an answer came from a cache: `none`, `exact` or `semantic`."""

    layer: str = "none"
    stored_at: str | None = None
    distance: float | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """What the models of one answer used; money in millionths of a dollar."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost_microusd: int = 0
    model_calls: int = 0


@dataclass(frozen=True, slots=True)
class Answer:
    """One finished answer or abstention, in the shape that the API gives.

    Attributes:
        score: How sure the answerer was that the documents answer, from 0 to 1; kept for calibration, not shown.
    """

    id: AnswerId
    status: Status
    reason: Reason | None
    question: str
    standalone_question: str
    claims: tuple[Claim, ...]
    missing: tuple[str, ...]
    path: str
    model: str
    prompt_version: str
    corpus_version: str
    trace_id: str
    cache: Cache = field(default_factory=Cache)
    usage: Usage = field(default_factory=Usage)
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class Ask:
    """A question as it was asked.

    Attributes:
        conversation_id: Chosen by the client; its first use opens the conversation.
        use_cache: Whether a stored answer may be given.
        trace_id: Trace that the request belongs to; without one the request's own id stands for it.
    """

    question: str
    conversation_id: UUID | None = None
    mode: Mode = Mode.AUTO
    use_cache: bool = True
    trace_id: str | None = None
