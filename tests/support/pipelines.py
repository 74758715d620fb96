"""The pipeline under test: with embedders that stop or break, and with what it stored to compare."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

import numpy as np
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from app.bootstrap import Services
from app.core.ids import chunk_id
from app.core.tenancy import WorkspaceScope
from app.db.models import Chunk, ChunkEmbedding, ChunkWords, Content, Page
from app.db.session import Database
from app.ingestion.chunking import CHUNKER_VERSION
from app.ingestion.lease import Timing
from app.ingestion.parsing.types import PARSER_VERSION, ParseLimits
from app.ingestion.pipeline import IngestionService
from app.llm.embedders import Embedders
from app.llm.types import Vectors
from tests.support.documents import Shelf, digest
from tests.support.embedder import HashEmbedder

LIMITS = ParseLimits(
    seconds=30, memory_bytes=512 * 1024 * 1024, max_pages=10, max_characters=1_000_000, max_unpacked_bytes=2**29
)
QUICK = Timing(lease=timedelta(seconds=3), heartbeat=timedelta(seconds=0.1))
Hook = Callable[[int], Awaitable[None]]


class InterruptingEmbedder(HashEmbedder):
    """Calls a hook before each batch, with its number from 0."""

    def __init__(self, hook: Hook) -> None:
        self._hook = hook
        self.batches = 0
        self.embedded: list[str] = []

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Return one vector for each text, after the hook."""
        self.batches += 1
        await self._hook(self.batches - 1)
        self.embedded += texts
        return await super().embed_passages(texts)


class OtherEmbedder(HashEmbedder):
    """Another model: the same texts have other vectors, of another length."""

    model_id = "other-128"
    dimension = 128


async def always() -> bool:
    """Say that others wait, each time."""
    return True


class ProcessGoneError(Exception):
    """The process is gone: it writes nothing any more, not even that it failed."""


class CrashingDatabase(Database):
    """Dies in its n-th transaction, before or after the commit; counts those that it began.

    Args:
        database: The database behind it.
        at: Number of the transaction, from 0.
        committed: Whether that one is committed, with its reply lost.
    """

    def __init__(self, database: Database, at: int, *, committed: bool) -> None:
        super().__init__(database.engine)
        self._at = at
        self._committed = committed
        self.begun = 0

    @asynccontextmanager
    async def workspace(self, scope: WorkspaceScope) -> AsyncIterator[AsyncSession]:
        """Open a transaction unless the process is dead."""
        number = self.begun
        self.begun += 1
        if number > self._at:
            raise ProcessGoneError
        async with super().workspace(scope) as session:
            yield session
            if number == self._at and not self._committed:
                raise ProcessGoneError
        if number == self._at:
            raise ProcessGoneError


def pipeline(services: Services, embedder: HashEmbedder, timing: Timing = Timing()) -> IngestionService:  # noqa: B008
    """Return the pipeline of the services with another embedder."""
    return IngestionService(
        services.database, services.blobs, Embedders(embedder), services.parser, LIMITS, timing=timing
    )


def pausing() -> tuple[InterruptingEmbedder, asyncio.Event, asyncio.Event]:
    """Return an embedder that waits in its second batch, an event when it does, and one to let it go on."""
    reached, go_on = asyncio.Event(), asyncio.Event()

    async def pause(batch: int) -> None:
        if batch == 1:
            reached.set()
            await go_on.wait()

    return InterruptingEmbedder(pause), reached, go_on


async def expire_leases(services: Services, scope: WorkspaceScope) -> None:
    """Let the time of all claims of a workspace be over."""
    async with services.database.workspace(scope) as session:
        await session.execute(sa.update(Content).values(lease_until=sa.func.now() - timedelta(seconds=1)))


@dataclass(frozen=True, slots=True)
class Stored:
    """All that was made of the contents of a workspace."""

    pages: Sequence[Page]
    chunks: Sequence[Chunk]
    embeddings: Sequence[ChunkEmbedding]
    words: Sequence[ChunkWords]

    def golden(self) -> tuple[object, ...]:
        """Return what must be equal however a content was processed."""
        columns = [column.name for column in sa.inspect(Chunk).columns if column.name != "workspace_id"]
        return (
            [(page.number, page.start_offset, page.text) for page in self.pages],
            [[getattr(chunk, name) for name in columns] for chunk in self.chunks],
            sorted((str(row.chunk_id), row.model, str(row.embedding)) for row in self.embeddings),
            sorted((str(row.chunk_id), row.length, sorted(row.counts)) for row in self.words),
        )


async def stored(shelf: Shelf, scope: WorkspaceScope) -> Stored:
    """Return what a workspace holds, in order."""
    async with shelf.services.database.workspace(scope) as session:
        return Stored(
            (await session.scalars(sa.select(Page).order_by(Page.content_sha256, Page.number))).all(),
            (await session.scalars(sa.select(Chunk).order_by(Chunk.content_sha256, Chunk.ordinal))).all(),
            (await session.scalars(sa.select(ChunkEmbedding))).all(),
            (await session.scalars(sa.select(ChunkWords))).all(),
        )


async def models_of(shelf: Shelf, scope: WorkspaceScope) -> Mapping[str, int]:
    """Return how many vectors of each model a workspace holds."""
    async with shelf.services.database.workspace(scope) as session:
        query = sa.select(ChunkEmbedding.model, sa.func.count()).group_by(ChunkEmbedding.model)
        return {row[0]: row[1] for row in await session.execute(query)}


async def assert_whole(shelf: Shelf, scope: WorkspaceScope, data: bytes) -> None:
    """Check that what is stored for the only document is what an undisturbed run stores."""
    found = await stored(shelf, scope)
    pages, chunks = found.pages, found.chunks
    text = "".join(page.text for page in pages)
    assert [page.number for page in pages] == list(range(1, len(pages) + 1))
    assert [page.start_offset for page in pages] == [
        sum(len(page.text) for page in pages[:count]) for count in range(len(pages))
    ]
    assert [chunk.ordinal for chunk in chunks] == list(range(len(chunks)))
    for chunk in chunks:
        assert text[chunk.start_offset : chunk.end_offset] == chunk.text
        assert chunk.id == chunk_id(digest(data), PARSER_VERSION, CHUNKER_VERSION, chunk.ordinal)
        first, last = pages[chunk.page_start - 1], pages[chunk.page_end - 1]
        assert first.start_offset <= chunk.start_offset < first.start_offset + len(first.text)
        assert last.start_offset < chunk.end_offset <= last.start_offset + len(last.text)
    assert sorted(row.chunk_id for row in found.words) == sorted(chunk.id for chunk in chunks)
    vectors = {row.chunk_id: row for row in found.embeddings}
    assert vectors.keys() == {chunk.id for chunk in chunks}
    embedder = HashEmbedder()
    expected = await embedder.embed_passages([chunk.text for chunk in chunks])
    for chunk, vector in zip(chunks, expected, strict=True):
        assert np.allclose(vectors[chunk.id].embedding, vector, atol=1e-3)
        assert vectors[chunk.id].model == embedder.model_id
    (content,) = await shelf.contents(scope)
    assert (content.status, content.chunk_count, content.page_count) == ("ready", len(chunks), len(pages))
    assert (content.done, content.total, content.lease_until) == (len(chunks), len(chunks), None)
