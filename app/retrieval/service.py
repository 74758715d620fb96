"""Search inside one workspace, for one reader."""

from collections.abc import Sequence
from dataclasses import replace

from app.core.errors import InvalidRequestError, NotFoundError
from app.core.identifiers import extract_identifiers
from app.core.ids import ChunkId
from app.core.languages import searchable
from app.core.tenancy import WorkspaceScope
from app.db.session import Database
from app.llm.embedders import EmbedderChoice, Embedders, EmbeddingState
from app.llm.reranking import NullReranker
from app.llm.types import Embedder, Reranker, Vectors
from app.retrieval import repository
from app.retrieval.fusion import FusionSettings
from app.retrieval.repository import HybridQuery
from app.retrieval.reranking import MOST_RERANKED, PassageReranker
from app.retrieval.types import CorpusState, Passage, SearchResult


class RetrievalService:
    """Finds passages; every statement is limited to the workspace and to what the user may read."""

    def __init__(
        self,
        database: Database,
        embedders: Embedders,
        *,
        max_query_characters: int,
        reranker: Reranker | None = None,
        settings: FusionSettings | None = None,
    ) -> None:
        self._database = database
        self._embedders = embedders
        self._max_query_characters = max_query_characters
        self._reranker = PassageReranker(reranker or NullReranker())
        self._settings = settings or FusionSettings()

    async def search(self, scope: WorkspaceScope, query: str, limit: int = 8) -> SearchResult:
        """Return the passages that a question is about, best first, and what no document holds.

        Args:
            scope: Whose documents are searched, and for whom.
            query: A question or a few words; any characters.
            limit: Most passages to return.

        Raises:
            InvalidRequestError: The query is too long.
            UnavailableError: The workspace's model is out of reach, or this process cannot run it.
        """
        text = clean_query(query)
        if len(text) > self._max_query_characters:
            raise InvalidRequestError(f"The query is longer than {self._max_query_characters} characters.")
        state, embedder = await self._embedding(scope)
        vector = await embedder.embed_query(text)  # between transactions: no connection waits for a model
        comparable = embedder.model_id == state.serving
        given = vector if comparable else None
        hybrid = HybridQuery(searchable(text), extract_identifiers(text), given, state.serving)
        async with self._database.workspace(scope) as session:
            most = max(limit, MOST_RERANKED)
            passages = await repository.find_passages(session, scope, hybrid, self._settings, most)
            absent = await repository.absent_identifiers(session, scope, hybrid.identifiers, self._settings)
        if state.choice is not EmbedderChoice.LOCAL:  # who keeps texts from one model server keeps them from others
            passages = await self._reranker.rerank(text, passages)
        passages = passages[:limit]
        if not comparable:
            passages = await _compared(embedder, vector, passages)
        return SearchResult(passages, absent)

    async def _embedding(self, scope: WorkspaceScope) -> tuple[EmbeddingState, Embedder]:
        """Return the model that all of the workspace's passages have vectors of, and what embeds its questions.

        That is another one while the workspace keeps its questions from the server of the first. When the workspace
        changes its model before the search itself, the vectors of this one are still there.
        """
        async with self._database.workspace(scope) as session:
            state = await repository.read_embedding_state(session, scope)
        return state, self._embedders.for_questions(state)

    async def chunk(self, scope: WorkspaceScope, chunk_id: ChunkId) -> Passage:
        """Return one chunk, also of a version that was replaced.

        Raises:
            NotFoundError: No such chunk that this user may read.
        """
        async with self._database.workspace(scope) as session:
            passage = await repository.find_chunk(session, scope, chunk_id)
        if passage is None:
            raise NotFoundError("There is no such chunk.")
        return passage

    async def neighbours(self, scope: WorkspaceScope, passages: Sequence[Passage]) -> tuple[Passage, ...]:
        """Return the chunks before and after some passages, as far as this user can search them now."""
        if not passages:
            return ()
        async with self._database.workspace(scope) as session:
            return await repository.find_neighbours(session, scope, passages)

    async def corpus_state(self, scope: WorkspaceScope) -> CorpusState:
        """Return how much this user can search now, and what is still being processed."""
        async with self._database.workspace(scope) as session:
            return await repository.read_corpus_state(session, scope)


def clean_query(text: str) -> str:
    """Return the text without NUL and lone surrogates, which Postgres refuses."""
    return text.replace("\x00", " ").encode("utf-8", "replace").decode("utf-8").strip()


async def _compared(embedder: Embedder, question: Vectors, passages: Sequence[Passage]) -> tuple[Passage, ...]:
    """Return the same passages with their similarity, which no stored vector tells; some tens are embedded for it."""
    if not passages:
        return ()
    vectors = await embedder.embed_passages([passage.text for passage in passages])
    similarities = (vectors @ question).tolist()
    return tuple(replace(each, similarity=value) for each, value in zip(passages, similarities, strict=True))
