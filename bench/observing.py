"""Looks at the database from outside, while the service works and afterwards."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from uuid import UUID

import psycopg
from psycopg.rows import class_row, scalar_row

_CONTENTS = """
    SELECT workspace_id, sha256, status, reason, attempts, fence, page_count, chunk_count
    FROM contents ORDER BY workspace_id, sha256
"""
_FREE = """
    SELECT c.workspace_id || ':' || c.sha256 FROM contents c
    JOIN procrastinate_jobs j ON j.args ->> 'workspace_id' = c.workspace_id::text
        AND j.args ->> 'content_sha256' = c.sha256
    WHERE j.status = 'todo' AND coalesce(j.scheduled_at, now()) <= now() AND coalesce(c.lease_until, now()) <= now()
"""
_CHUNKS = """
    SELECT c.workspace_id, c.content_sha256, c.id, c.ordinal, c.start_offset, c.end_offset, c.page_start, c.page_end,
           c.heading, md5(c.text) AS text_md5,
           (SELECT count(*) FROM chunk_embeddings e WHERE e.workspace_id = c.workspace_id AND e.chunk_id = c.id)
               AS vectors,
           (SELECT min(md5(e.embedding::text)) FROM chunk_embeddings e
            WHERE e.workspace_id = c.workspace_id AND e.chunk_id = c.id) AS vector_md5
    FROM chunks c WHERE %(every)s OR c.workspace_id = ANY(%(workspaces)s)
    ORDER BY c.workspace_id, c.content_sha256, c.ordinal
"""


@dataclass(frozen=True, slots=True)
class ContentState:
    """How far one content has come."""

    workspace_id: UUID
    sha256: str
    status: str
    reason: str | None
    attempts: int
    fence: int
    page_count: int
    chunk_count: int

    @property
    def ended(self) -> bool:
        """Whether nothing more happens to it."""
        return self.status in {"ready", "failed"}


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A row of the chunk table, with what is stored as its vectors."""

    workspace_id: UUID
    content_sha256: str
    id: UUID
    ordinal: int
    start_offset: int
    end_offset: int
    page_start: int
    page_end: int
    heading: str
    text_md5: str
    vectors: int
    vector_md5: str | None


class Observer:
    """Reads committed rows of every workspace."""

    def __init__(self, connection: psycopg.AsyncConnection[object]) -> None:
        self._connection = connection

    async def contents(self) -> list[ContentState]:
        """Return the state of every content."""
        async with self._connection.cursor(row_factory=class_row(ContentState)) as cursor:
            return await (await cursor.execute(_CONTENTS)).fetchall()

    async def free(self) -> set[str]:
        """Return the contents, as `workspace:hash`, that a worker with a free slot could claim now."""
        async with self._connection.cursor(row_factory=scalar_row) as cursor:
            return {str(key) for key in await (await cursor.execute(_FREE)).fetchall()}

    async def chunks(self, workspaces: Sequence[UUID] | None = None) -> list[StoredChunk]:
        """Return the chunks of some workspaces, or of all."""
        async with self._connection.cursor(row_factory=class_row(StoredChunk)) as cursor:
            given = {"every": workspaces is None, "workspaces": list(workspaces or ())}
            return await (await cursor.execute(_CHUNKS, given)).fetchall()

    async def texts(self, sha256s: Sequence[str]) -> list[str]:
        """Return the texts of all chunks of some contents, in order."""
        query = "SELECT text FROM chunks WHERE content_sha256 = ANY(%s) ORDER BY workspace_id, content_sha256, ordinal"
        async with self._connection.cursor(row_factory=scalar_row) as cursor:
            return [str(text) for text in await (await cursor.execute(query, [list(sha256s)])).fetchall()]

    async def count(self, table: str) -> int:
        """Return how many rows a table has."""
        query = psycopg.sql.SQL("SELECT count(*) FROM {}").format(psycopg.sql.Identifier(table))
        async with self._connection.cursor(row_factory=scalar_row) as cursor:
            return int(str(await (await cursor.execute(query)).fetchone()))

    async def until_ended(
        self, sha256s: Sequence[str] | None = None, *, seconds: float, check: Callable[[], None] | None = None
    ) -> list[ContentState]:
        """Wait until contents have ended, and return them.

        Args:
            sha256s: Which; all when left out.
            seconds: How long to wait at most; `TimeoutError` says how many are left then.
            check: Called at each look; raises when waiting has no sense any more.
        """
        wanted, deadline = None if sha256s is None else set(sha256s), time.monotonic() + seconds
        while True:
            states = [each for each in await self.contents() if wanted is None or each.sha256 in wanted]
            if all(each.ended for each in states) and (wanted is None or {each.sha256 for each in states} == wanted):
                return states
            if time.monotonic() > deadline:
                left = sum(not each.ended for each in states)
                raise TimeoutError(f"{left} of {len(states)} contents had not ended within {seconds:.0f} s")
            if check is not None:
                check()
            await asyncio.sleep(0.1 if len(states) < 100 else 0.2)  # noqa: PLR2004 - looks must not cost much


@contextlib.asynccontextmanager
async def observing(url: str) -> AsyncIterator[Observer]:
    """Connect as a superuser until the block ends."""
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        yield Observer(connection)
