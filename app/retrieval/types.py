"""What retrieval hands on: passages with their place in the text, and the state of the corpus."""

from dataclasses import dataclass

from app.core.ids import ChunkId, DocumentId, VersionId


@dataclass(frozen=True, slots=True)
class ArmRanks:
    """Rank of a passage in each arm, from 1; None where that arm did not find it."""

    identifier: int | None = None
    keyword: int | None = None
    vector: int | None = None


@dataclass(frozen=True, slots=True)
class PageStart:
    """Where a page begins in the canonical text, in characters."""

    number: int
    offset: int


@dataclass(frozen=True, slots=True)
class Passage:
    """One chunk under the name by which this reader may cite it.

    Attributes:
        ordinal: Its place among the chunks of its content, from 0.
        start: Offset of `text` in the canonical text of the version, in characters.
        end: Offset after its last character: `version_text[start:end] == text`.
        pages: The pages that the passage touches, in order.
        token_count: Its length in tokens of the local embedder.
        score: Fused score; comparable only within one search, 0 for a passage fetched by its id.
        arms: Which arms found it.
        similarity: Cosine of the question's and the passage's vectors, from -1 to 1.
    """

    chunk_id: ChunkId
    document_id: DocumentId
    document_name: str
    version_id: VersionId
    content_sha256: str
    ordinal: int
    page_start: int
    page_end: int
    start: int
    end: int
    text: str
    heading: str
    pages: tuple[PageStart, ...]
    token_count: int
    score: float = 0.0
    arms: ArmRanks = ArmRanks()
    similarity: float = 0.0


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What was found for one question.

    Attributes:
        passages: Best first.
        absent_identifiers: Identifiers of the question, in its order, that no document of this reader holds in text,
            headings or name: evidence that there is no answer.
    """

    passages: tuple[Passage, ...]
    absent_identifiers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CorpusState:
    """What one reader can search in a workspace at a moment.

    Attributes:
        documents_readable: Documents that this reader may read, in any state.
        documents_ready: Those of them with a version that is searched.
        documents_in_progress: Those of them whose latest version is still being processed.
        corpus_version: Hash over all that retrieval uses in this workspace.
    """

    documents_readable: int
    documents_ready: int
    documents_in_progress: int
    corpus_version: str
