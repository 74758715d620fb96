"""What the search brought for a question and what became of it: kept with the answer, shown to its asker. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from app.core.ids import AnswerId, ChunkId, DocumentId, VersionId
from app.retrieval.context import Considered, Context, Fate
from app.retrieval.types import ArmRanks, CorpusState, Passage

MOST_CANDIDATES = 64
"""Of one answer; what was given comes first."""

_WHY: Mapping[Fate, str] = {
    Fate.GIVEN: "It is among the best passages: given to the answerer.",
    Fate.NEIGHBOUR: "It stands beside one of the best passages: given to the answerer.",
    Fate.DUPLICATE: "It says what another passage says that was given.",
    Fate.BUDGET: "There was no room left for it.",
    Fate.RANK: "Enough passages rank above it.",
}


@dataclass(frozen=True, slots=True)
class PartContext:
    """One part of a question with what was found for it.

    Attributes:
        question: The part, as it was searched for.
        context: What the answerer got for it, and what not.
        absent_identifiers: Those of its identifiers that no document of the asker holds.
    """

    question: str
    context: Context
    absent_identifiers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Candidate:
    """A passage that was considered, by its ids alone: what it says and is called is read anew each time.

    Attributes:
        part: The part of the question that it was found for, from 1.
        rank: Its place in the search for that part, from 1; None for a neighbour that the search did not bring.
        duplicate_of: For a repetition, the passage that was given instead.
    """

    chunk_id: ChunkId
    document_id: DocumentId
    version_id: VersionId
    part: int
    rank: int | None
    arms: ArmRanks
    fate: Fate
    duplicate_of: ChunkId | None = None

    @property
    def why(self) -> str:
        """The reason for its fate, in words."""
        return _WHY[self.fate]


@dataclass(frozen=True, slots=True)
class Retrieval:
    """What was searched for one answer.

    Attributes:
        questions: The question as it was searched for: its parts, or itself.
        context: What the answerer got, in order, each chunk once.
        candidates: What was given, in order, then the rest by part and rank; each chunk once, at most 64.
        absent_identifiers: Identifiers of the question that no document of the asker held.
        documents_readable: Documents that the asker could read then; None when it was not noted.
        documents_ready: Those of them that were searched.
    """

    questions: tuple[str, ...] = ()
    context: tuple[ChunkId, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    absent_identifiers: tuple[str, ...] = ()
    documents_readable: int | None = None
    documents_ready: int | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """Where a chunk stands, under the name that its document has now."""

    document_name: str
    page_start: int
    page_end: int
    heading: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why an answer is what it is, as far as its asker may read what it was made from.

    Attributes:
        candidates: Each with its place.
        not_shown: How many candidates were left out, since their documents are gone or may no longer be read.
    """

    answer_id: AnswerId
    question: str
    corpus_version: str
    retrieval: Retrieval
    candidates: tuple[tuple[Candidate, Place], ...]
    not_shown: int


def given(parts: Sequence[PartContext]) -> tuple[Passage, ...]:
    """Return the passages that the answerer gets for the parts of a question, each once."""
    return tuple({passage.chunk_id: passage for part in parts for passage in part.context.passages}.values())


def summarise(parts: Sequence[PartContext], state: CorpusState) -> Retrieval:
    """Return what is kept of the searches for the parts of a question."""
    context = tuple(passage.chunk_id for passage in given(parts))
    places = {chunk_id: place for place, chunk_id in enumerate(context)}
    found: dict[ChunkId, Candidate] = {}
    for number, part in enumerate(parts, 1):
        for considered in part.context.fates:
            candidate = _candidate(number, considered)
            known = found.get(candidate.chunk_id)
            if known is None or (_is_given(candidate) and not _is_given(known)):
                found[candidate.chunk_id] = candidate
    ordered = sorted(found.values(), key=lambda each: places.get(each.chunk_id, len(places)))
    return Retrieval(
        questions=tuple(part.question for part in parts),
        context=context,
        candidates=tuple(ordered[:MOST_CANDIDATES]),
        absent_identifiers=tuple(dict.fromkeys(each for part in parts for each in part.absent_identifiers)),
        documents_readable=state.documents_readable,
        documents_ready=state.documents_ready,
    )


def shown(
    candidates: Sequence[Candidate], places: Mapping[tuple[ChunkId, VersionId], Place]
) -> tuple[tuple[Candidate, Place], ...]:
    """Return the candidates that have a place, without the ids of those that have none."""
    readable = {each.chunk_id for each in candidates if (each.chunk_id, each.version_id) in places}
    return tuple(
        (_without_hidden(each, readable), places[each.chunk_id, each.version_id])
        for each in candidates
        if each.chunk_id in readable
    )


def _without_hidden(candidate: Candidate, readable: set[ChunkId]) -> Candidate:
    return candidate if candidate.duplicate_of in readable else replace(candidate, duplicate_of=None)


def _is_given(candidate: Candidate) -> bool:
    return candidate.fate in {Fate.GIVEN, Fate.NEIGHBOUR}


def _candidate(part: int, considered: Considered) -> Candidate:
    passage = considered.passage
    return Candidate(
        chunk_id=passage.chunk_id,
        document_id=passage.document_id,
        version_id=passage.version_id,
        part=part,
        rank=considered.rank,
        arms=passage.arms,
        fate=considered.fate,
        duplicate_of=considered.duplicate_of,
    )
