"""What the routes of asking and searching take and give."""

from typing import Annotated, Literal, Self
from uuid import UUID

from pydantic import Field, StringConstraints

from app.answering.claims import Mode, Reason, Status
from app.answering.events import Accepted, StageReached
from app.answering.explanations import Candidate, Explanation, Place
from app.api.schemas.base import ReadModel, RequestBody
from app.retrieval.context import Fate
from app.retrieval.snippets import Asked, find_snippet
from app.retrieval.types import Passage

# The service's own limit is a setting and usually lower; this one keeps a body from being read at all.
_LONGEST_QUESTION = 100_000

QuestionText = Annotated[str, StringConstraints(min_length=1, max_length=_LONGEST_QUESTION)]


class AskCreate(RequestBody):
    """A question to the documents of a workspace."""

    question: QuestionText
    conversation_id: UUID | None = Field(None, description="Chosen by the client; its first use opens a conversation.")
    mode: Mode = Field(Mode.AUTO, description="Which path to take; `auto` leaves it to the service.")
    use_cache: bool = Field(default=True, description="Whether an answer that was stored before may be given.")


class CitationRead(ReadModel):
    """A quote: `text[start:end]` of that page of that version."""

    n: int = Field(description="Number of the citation in its answer, from 1.")
    chunk_id: UUID
    document_id: UUID
    document_name: str
    version_id: UUID
    page: int
    start: int
    end: int
    quote: str


class ClaimRead(ReadModel):
    """A statement that its citations carry."""

    text: str
    conflict: int | None = Field(description="Claims with the same number contradict each other.")
    citations: list[CitationRead]


class CacheRead(ReadModel):
    """Whether the answer was stored before."""

    layer: Literal["none", "exact", "semantic"]
    stored_at: str | None
    distance: float | None


class UsageRead(ReadModel):
    """What the models of this answer used."""

    input_tokens: int
    output_tokens: int
    cost_microusd: int
    model_calls: int


class AnswerRead(ReadModel):
    """An answer, a part of one, or an abstention with its reason."""

    id: UUID
    status: Status
    reason: Reason | None
    question: str
    standalone_question: str
    claims: list[ClaimRead]
    missing: list[str] = Field(description="What the documents do not say, for a partial answer.")
    cache: CacheRead
    path: Literal["retrieval", "agent"]
    model: str
    prompt_version: str
    corpus_version: str
    usage: UsageRead
    trace_id: str


class AcceptedRead(ReadModel):
    """The question is taken on."""

    answer_id: UUID

    @classmethod
    def of(cls, event: Accepted) -> Self:
        """Read the event."""
        return cls(answer_id=event.answer_id)


class StageRead(ReadModel):
    """What is being done now."""

    stage: Literal["searching", "reading", "verifying"]
    detail: str

    @classmethod
    def of(cls, event: StageReached) -> Self:
        """Read the event."""
        return cls(stage=event.stage.value, detail=event.detail)


class SearchCreate(RequestBody):
    """What to look for."""

    query: QuestionText
    limit: int = Field(8, ge=1, le=50, description="Most passages to return.")


class ArmRanksRead(ReadModel):
    """Rank of the passage in each arm of the search, from 1; null where that arm did not find it."""

    identifier: int | None
    keyword: int | None
    vector: int | None


class PassageRead(ReadModel):
    """A passage that a search found."""

    chunk_id: UUID
    document_id: UUID
    document_name: str
    version_id: UUID
    page: int
    page_end: int
    text: str
    heading: str
    arms: ArmRanksRead
    snippet: str = Field(description="The part of `text` around what was asked for: `text[snippet_start:snippet_end]`.")
    snippet_start: int = Field(description="Offset of the snippet in `text`, in characters.")
    snippet_end: int

    @classmethod
    def of(cls, passage: Passage, asked: Asked) -> Self:
        """Read a passage that was found for a question."""
        snippet = find_snippet(asked, passage.text)
        return cls(
            chunk_id=passage.chunk_id,
            document_id=passage.document_id,
            document_name=passage.document_name,
            version_id=passage.version_id,
            page=passage.page_start,
            page_end=passage.page_end,
            text=passage.text,
            heading=passage.heading,
            arms=ArmRanksRead.model_validate(passage.arms),
            snippet=passage.text[snippet.start : snippet.end],
            snippet_start=snippet.start,
            snippet_end=snippet.end,
        )


class PassageList(ReadModel):
    """What a search found, best first."""

    passages: list[PassageRead]


class ChunkRead(ReadModel):
    """One chunk with its place."""

    chunk_id: UUID
    document_id: UUID
    document_name: str
    version_id: UUID
    page: int
    page_end: int
    start: int = Field(description="Offset of its first character in the text of `page`.")
    end: int = Field(description="Offset after its last character in the text of `page_end`.")
    text: str
    heading: str

    @classmethod
    def of(cls, passage: Passage) -> Self:
        """Read a chunk that was fetched by its id."""
        return cls(
            chunk_id=passage.chunk_id,
            document_id=passage.document_id,
            document_name=passage.document_name,
            version_id=passage.version_id,
            page=passage.page_start,
            page_end=passage.page_end,
            start=passage.start - passage.pages[0].offset,
            end=passage.end - passage.pages[-1].offset,
            text=passage.text,
            heading=passage.heading,
        )


class CandidateRead(ReadModel):
    """A passage that was considered for an answer."""

    chunk_id: UUID
    document_id: UUID
    document_name: str
    version_id: UUID
    page: int
    page_end: int
    heading: str
    part: int = Field(description="Number of the question in `questions` that it was found for, from 1.")
    rank: int | None = Field(description="Its place in that search, from 1; null for what only stands beside a hit.")
    arms: ArmRanksRead
    fate: Fate = Field(description="Whether the answerer got it: `given` and `neighbour` say yes.")
    why: str = Field(description="The reason for its fate, in words.")
    duplicate_of: UUID | None = Field(description="For a repetition, the chunk that was given instead.")

    @classmethod
    def of(cls, candidate: Candidate, place: Place) -> Self:
        """Read a candidate and where it stands."""
        return cls(
            chunk_id=candidate.chunk_id,
            document_id=candidate.document_id,
            document_name=place.document_name,
            version_id=candidate.version_id,
            page=place.page_start,
            page_end=place.page_end,
            heading=place.heading,
            part=candidate.part,
            rank=candidate.rank,
            arms=ArmRanksRead.model_validate(candidate.arms),
            fate=candidate.fate,
            why=candidate.why,
            duplicate_of=candidate.duplicate_of,
        )


class ExplanationRead(ReadModel):
    """What was searched for an answer, as far as the caller may still read it."""

    answer_id: UUID
    question: str
    questions: list[str] = Field(description="The question as it was searched for: its parts, or itself.")
    corpus_version: str
    documents_readable: int | None = Field(description="Documents that the caller could read then, in any state.")
    documents_ready: int | None = Field(description="Those of them that were searched.")
    absent_identifiers: list[str] = Field(
        description="Numbers, codes and names with digits of the question that none of these documents held."
    )
    candidates: list[CandidateRead] = Field(
        description="What the answerer got, in order, then what it did not get, by rank."
    )
    not_shown: int = Field(description="Candidates whose documents were deleted or may no longer be read.")

    @classmethod
    def of(cls, explanation: Explanation) -> Self:
        """Read the explanation of an answer."""
        retrieval = explanation.retrieval
        return cls(
            answer_id=explanation.answer_id,
            question=explanation.question,
            questions=list(retrieval.questions),
            corpus_version=explanation.corpus_version,
            documents_readable=retrieval.documents_readable,
            documents_ready=retrieval.documents_ready,
            absent_identifiers=list(retrieval.absent_identifiers),
            candidates=[CandidateRead.of(candidate, place) for candidate, place in explanation.candidates],
            not_shown=explanation.not_shown,
        )
