"""Asks the database as the service does: its own statement, its own role, bound by row-level security."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from uuid import UUID

import psycopg
from psycopg.rows import TupleRow

from app.core.errors import AppError
from app.core.identifiers import extract_identifiers
from app.core.languages import searchable
from app.core.tenancy import WorkspaceScope
from app.db.engine import create_engine
from app.db.session import Database
from app.llm.embedders import Embedders
from app.retrieval import repository
from app.retrieval.cells import Comparison, VectorCells
from app.retrieval.fusion import FusionSettings
from app.retrieval.repository import HybridQuery
from app.retrieval.reranking import MOST_RERANKED
from app.retrieval.service import RetrievalService
from app.retrieval.types import Passage
from bench.embedder import HashEmbedder
from bench.questions import Question
from bench.synthetic import MODEL, Floats

AT_ONCE = 2
"""Questions under way, where it is not their time that is measured."""
_LONGEST_QUESTION = 1_000_000
_EVERYTHING = 200
"""More than all arms bring together."""
_EXACT = """
    SELECT e.chunk_id FROM chunk_embeddings e
    WHERE e.workspace_id = %(workspace)s AND e.model = %(model)s
      AND (%(contents)s::text[] IS NULL OR e.content_sha256 = ANY(%(contents)s))
    ORDER BY e.embedding <=> %(vector)s::halfvec, e.chunk_id LIMIT %(limit)s
"""


@dataclass(frozen=True, slots=True)
class Fuzzing:
    """How a lot of odd questions went.

    Attributes:
        errors: What went wrong, each as the name of an exception and the question.
        seconds: How long each took.
        short: How many found less than there is.
    """

    errors: tuple[str, ...]
    seconds: tuple[float, ...]
    short: int


class Search:
    """Finds passages without an api and without a model.

    Args:
        database: The pool, as the role of the service.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._settings = FusionSettings()
        self._service = RetrievalService(
            database, Embedders(HashEmbedder()), max_query_characters=_LONGEST_QUESTION, settings=self._settings
        )

    async def arrange(self, scope: WorkspaceScope) -> Comparison | None:
        """Lay vectors out as the worker does; return how well they are then found, None in a small workspace."""
        cells = VectorCells(self._database)
        await cells.maintain(scope, MODEL)
        return await cells.compare(scope, MODEL)

    async def find(self, scope: WorkspaceScope, question: Question, limit: int) -> tuple[Passage, ...]:
        """Return the best passages."""
        return (await self._timed(scope, question, limit))[0]

    async def time(self, scope: WorkspaceScope, questions: Sequence[Question], limit: int) -> tuple[float, ...]:
        """Return how many seconds the statement takes for each question, from sending it to having its rows."""
        return tuple([(await self._timed(scope, question, limit))[1] for question in questions])

    async def find_all(
        self, scope: WorkspaceScope, questions: Sequence[Question], limit: int
    ) -> list[tuple[Passage, ...]]:
        """Return the best passages of every question."""
        slots = asyncio.Semaphore(AT_ONCE)

        async def find(question: Question) -> tuple[Passage, ...]:
            async with slots:
                return await self.find(scope, question, limit)

        return await asyncio.gather(*map(find, questions))

    async def fuzz(self, scope: WorkspaceScope, texts: Sequence[str], limit: int) -> Fuzzing:
        """Ask odd questions through the service that the api uses; all of them shall find as much as the limit says."""
        errors, seconds, short = [], [], 0
        for text in texts:
            began = time.perf_counter()
            try:
                found = await self._service.search(scope, text, limit)
                short += len(found.passages) < limit
            except Exception as error:  # noqa: BLE001 (whatever it is: it is counted and told)
                detail = error.detail if isinstance(error, AppError) else ""
                errors.append(f"{type(error).__name__} {detail}: {text[:60]!a}")
            seconds.append(time.perf_counter() - began)
        return Fuzzing(tuple(errors), tuple(seconds), short)

    async def nearest(self, scope: WorkspaceScope, question: Question, limit: int) -> list[UUID]:
        """Return the passages that the vector arm ranks first, best first."""
        ranked = {
            passage.arms.vector: UUID(str(passage.chunk_id))
            for passage in await self.find(scope, question, _EVERYTHING)
            if passage.arms.vector is not None and passage.arms.vector <= limit
        }
        return [chunk for _, chunk in sorted(ranked.items())]

    async def _timed(self, scope: WorkspaceScope, question: Question, limit: int) -> tuple[tuple[Passage, ...], float]:
        query = HybridQuery(searchable(question.text), extract_identifiers(question.text), question.vector, MODEL)
        async with self._database.workspace(scope) as session:
            began = time.perf_counter()
            found = await repository.find_passages(session, scope, query, self._settings, max(limit, MOST_RERANKED))
            return found[:limit], time.perf_counter() - began


@contextlib.asynccontextmanager
async def searching(app_url: str) -> AsyncIterator[Search]:
    """Open a pool until the block ends; the address names the driver, as SQLAlchemy wants it."""
    engine = create_engine(app_url, pool_size=AT_ONCE)
    try:
        yield Search(Database(engine))
    finally:
        await engine.dispose()


def exact(
    connection: psycopg.Connection[TupleRow],
    scope: WorkspaceScope,
    vector: Floats,
    limit: int,
    contents: Sequence[str] | None = None,
) -> list[UUID]:
    """Return the nearest passages of a workspace, or of some of its contents, by looking at every vector.

    Args:
        connection: As a superuser.
        scope: The workspace.
        vector: What is near.
        limit: How many.
        contents: The contents that the reader may read; all when left out.
    """
    given = {
        "workspace": scope.workspace_id,
        "model": MODEL,
        "contents": None if contents is None else list(contents),
        "vector": "[" + ",".join(map(str, vector.tolist())) + "]",
        "limit": limit,
    }
    return [UUID(str(chunk)) for (chunk,) in connection.execute(_EXACT, given)]
