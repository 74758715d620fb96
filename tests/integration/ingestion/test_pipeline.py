import asyncio
import dataclasses
import time
from collections.abc import Awaitable, Callable, Sequence

import numpy as np
import pytest
import sqlalchemy as sa
from fpdf import FPDF

from app.bootstrap import Services
from app.core.errors import NotFoundError, UnavailableError
from app.core.ids import ChunkId, chunk_id
from app.core.tenancy import WorkspaceScope
from app.db.models import Chunk, ChunkEmbedding, Content, Page
from app.documents.types import Status
from app.ingestion.chunking import CHUNKER_VERSION
from app.ingestion.parsing.types import PARSER_VERSION, ParseLimits
from app.ingestion.pipeline import MAX_ATTEMPTS, IngestionService
from app.llm.embedders import Embedders
from app.llm.types import InvalidEmbeddingsError, Vectors
from tests.support.documents import Shelf, digest, long_text, prose
from tests.support.embedder import HashEmbedder
from tests.support.tenants import Tenant

LIMITS = ParseLimits(
    seconds=30, memory_bytes=512 * 1024 * 1024, max_pages=10, max_characters=1_000_000, max_unpacked_bytes=2**29
)
LONG = long_text(150)
Hook = Callable[[int], Awaitable[None]]
Spoil = Callable[[Vectors], Vectors]


class InterruptingEmbedder(HashEmbedder):
    """Calls a hook before each batch, with its number from 0."""

    def __init__(self, hook: Hook) -> None:
        self._hook = hook
        self.batches = 0

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        self.batches += 1
        await self._hook(self.batches - 1)
        return await super().embed_passages(texts)


class SpoilingEmbedder(HashEmbedder):
    """Returns something else than asked for."""

    def __init__(self, spoil: Spoil) -> None:
        self._spoil = spoil

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return self._spoil(await super().embed_passages(texts))


class SlowEmbedder(HashEmbedder):
    """Takes a while to count tokens."""

    counted = 0

    def count_tokens(self, text: str) -> int:
        self.counted += 1
        time.sleep(0.1)
        return super().count_tokens(text)


def pipeline(services: Services, embedder: HashEmbedder) -> IngestionService:
    return IngestionService(services.database, services.blobs, Embedders(embedder), LIMITS)


async def rows(shelf: Shelf, scope: WorkspaceScope) -> tuple[Sequence[Page], Sequence[Chunk], Sequence[ChunkEmbedding]]:
    async with shelf.services.database.workspace(scope) as session:
        pages = (await session.scalars(sa.select(Page).order_by(Page.number))).all()
        chunks = (await session.scalars(sa.select(Chunk).order_by(Chunk.ordinal))).all()
        return pages, chunks, (await session.scalars(sa.select(ChunkEmbedding))).all()


async def assert_whole(shelf: Shelf, scope: WorkspaceScope, data: bytes) -> None:
    """What is stored for the only document is what an undisturbed run stores."""
    pages, chunks, embeddings = await rows(shelf, scope)
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
    vectors = {row.chunk_id: row for row in embeddings}
    assert vectors.keys() == {chunk.id for chunk in chunks}
    embedder = HashEmbedder()
    expected = await embedder.embed_passages([chunk.text for chunk in chunks])
    for chunk, vector in zip(chunks, expected, strict=True):
        assert np.allclose(vectors[chunk.id].embedding, vector, atol=1e-3)
        assert vectors[chunk.id].model == embedder.model_id
    (content,) = await shelf.contents(scope)
    assert (content.status, content.chunk_count, content.page_count) == ("ready", len(chunks), len(pages))
    assert (content.done, content.total) == (len(chunks), len(chunks))


async def test_a_run_stores_slices_of_a_text_that_its_pages_tile(shelf: Shelf, tenant: Tenant) -> None:
    await shelf.add(tenant.scope, "book.md", LONG)
    await assert_whole(shelf, tenant.scope, LONG)
    assert await shelf.count(tenant.scope, Chunk) > 128


async def test_passages_of_a_pdf_may_cross_its_pages(shelf: Shelf, tenant: Tenant) -> None:
    paper = FPDF()
    paper.set_font("Helvetica", size=12)
    for number in range(5):
        paper.add_page()
        paper.multi_cell(0, 8, f"The pump of house {number} starts at {40 + number} degrees and stops by hand.")
    data = bytes(paper.output())
    made = await shelf.add(tenant.scope, "pumps.pdf", data)
    await assert_whole(shelf, tenant.scope, data)
    _, chunks, _ = await rows(shelf, tenant.scope)
    assert any(chunk.page_end > chunk.page_start for chunk in chunks)
    page = await shelf.services.documents.page(tenant.scope, made.document_id, 4, None)
    assert (page.number, page.label) == (4, "4")
    assert "house 3" in page.text


async def test_running_again_changes_nothing(shelf: Shelf, tenant: Tenant) -> None:
    data = prose("the pump")
    await shelf.add(tenant.scope, "a.txt", data)
    before = [(row.fence, row.attempts, row.updated_at) for row in await shelf.contents(tenant.scope)]
    assert await shelf.process(tenant.scope, data) is None
    assert [(row.fence, row.attempts, row.updated_at) for row in await shelf.contents(tenant.scope)] == before


async def test_nothing_can_be_seen_before_all_of_it_is_ready(shelf: Shelf, tenant: Tenant, services: Services) -> None:
    scope = tenant.scope
    made = await shelf.upload(scope, "book.md", LONG)
    stages = []

    async def look(batch: int) -> None:
        view = await services.documents.get(scope, made.document_id)
        stages.append((view.status, view.done, view.total))
        assert await shelf.count(scope, Page) > 0
        assert await shelf.count(scope, Chunk) == view.done
        assert await shelf.found(scope, "operator valve pressure") == set()
        first = chunk_id(digest(LONG), PARSER_VERSION, CHUNKER_VERSION, 0)
        for seen in (
            services.retrieval.chunk(scope, ChunkId(first)),
            services.documents.page(scope, made.document_id, 1, None),
            services.documents.page(scope, made.document_id, 1, made.version_id),
        ):
            with pytest.raises(NotFoundError):
                await seen
        assert batch < 10

    finished = await pipeline(services, InterruptingEmbedder(look)).run(scope, digest(LONG))
    assert finished is not None
    assert stages == [(Status.EMBEDDING, 64 * n, finished.chunks) for n in range(len(stages))]
    assert len(stages) >= 3
    assert await shelf.found(scope, "operator valve pressure") == {"book.md"}


async def test_a_run_whose_claim_was_taken_stops_without_writing(
    shelf: Shelf, tenant: Tenant, services: Services
) -> None:
    await shelf.upload(tenant.scope, "book.md", LONG)

    async def overtake(batch: int) -> None:
        if batch == 1:
            await shelf.process(tenant.scope, LONG)

    slow = InterruptingEmbedder(overtake)
    assert await pipeline(services, slow).run(tenant.scope, digest(LONG)) is None
    assert slow.batches == 2
    await assert_whole(shelf, tenant.scope, LONG)


async def test_two_runs_at_once_end_in_one_whole_result(shelf: Shelf, tenant: Tenant) -> None:
    await shelf.upload(tenant.scope, "book.md", LONG)
    ended = await asyncio.gather(*(shelf.process(tenant.scope, LONG) for _ in range(2)))
    assert len([end for end in ended if end is not None]) == 1
    await assert_whole(shelf, tenant.scope, LONG)


async def test_a_document_that_is_deleted_meanwhile_ends_quietly(
    shelf: Shelf, tenant: Tenant, services: Services
) -> None:
    made = await shelf.upload(tenant.scope, "book.md", LONG)

    async def delete(batch: int) -> None:
        if batch == 1:
            await services.documents.delete(tenant.scope, made.document_id)

    assert await pipeline(services, InterruptingEmbedder(delete)).run(tenant.scope, digest(LONG)) is None
    for table in (Content, Page, Chunk, ChunkEmbedding):
        assert await shelf.count(tenant.scope, table) == 0


async def test_a_file_that_fails_after_its_document_is_deleted_ends_quietly(
    shelf: Shelf, tenant: Tenant, services: Services
) -> None:
    data = b"%PDF-1.4\n" + prose("broken")
    made = await shelf.upload(tenant.scope, "a.pdf", data)
    running = asyncio.create_task(shelf.process(tenant.scope, data))
    while (await services.documents.get(tenant.scope, made.document_id)).status is Status.QUEUED:  # noqa: ASYNC110
        await asyncio.sleep(0.005)
    await services.documents.delete(tenant.scope, made.document_id)
    assert await running is None


async def test_bytes_that_are_gone_are_a_typed_failure(shelf: Shelf, tenant: Tenant, services: Services) -> None:
    data = prose("a")
    made = await shelf.upload(tenant.scope, "a.txt", data)
    await services.blobs.remove(sorted(shelf.stored(tenant.scope)))
    finished = await shelf.process(tenant.scope, data)
    assert finished is not None
    view = await services.documents.get(tenant.scope, made.document_id)
    assert (view.status, view.reason) == (Status.FAILED, "file_missing")


async def test_a_file_that_stopped_the_worker_too_often_is_given_up(
    shelf: Shelf, tenant: Tenant, services: Services
) -> None:
    data = prose("a")
    made = await shelf.upload(tenant.scope, "a.txt", data)
    async with services.database.workspace(tenant.scope) as session:
        await session.execute(sa.update(Content).values(attempts=MAX_ATTEMPTS, status=Status.PARSING))
    finished = await shelf.process(tenant.scope, data)
    assert finished is not None
    assert finished.reason == "worker_lost"
    view = await services.documents.get(tenant.scope, made.document_id)
    assert (view.status, view.reason) == (Status.FAILED, "worker_lost")
    assert view.detail


@pytest.mark.parametrize(
    "spoil",
    [
        lambda vectors: vectors[:-1],
        lambda vectors: np.concatenate([vectors, vectors[:1]]),
        lambda vectors: vectors * np.float32("nan"),
        lambda vectors: vectors * 2,
        lambda vectors: vectors[:, :-1],
        np.zeros_like,
    ],
    ids=["fewer", "more", "nan", "not unit", "short", "zero"],
)
async def test_vectors_that_cannot_be_used_make_nothing_visible(
    shelf: Shelf, tenant: Tenant, services: Services, spoil: Spoil
) -> None:
    data = prose("the gyroscope")
    made = await shelf.upload(tenant.scope, "a.txt", data)
    ingestion = pipeline(services, SpoilingEmbedder(spoil))
    for attempt in range(1, MAX_ATTEMPTS + 1):
        with pytest.raises(InvalidEmbeddingsError):
            await ingestion.run(tenant.scope, digest(data))
        assert await shelf.count(tenant.scope, Chunk) == 0
        expected = attempt if attempt < MAX_ATTEMPTS else None
        assert await ingestion.after_error(tenant.scope, digest(data)) == expected
    view = await services.documents.get(tenant.scope, made.document_id)
    assert (view.status, view.reason) == (Status.FAILED, "internal")
    assert await shelf.found(tenant.scope, "gyroscope") == set()
    assert await ingestion.run(tenant.scope, digest(data)) is None
    await services.documents.retry(tenant.scope, made.document_id)
    await shelf.process(tenant.scope, data)
    assert await shelf.found(tenant.scope, "gyroscope") == {"a.txt"}


async def test_a_failure_in_the_middle_leaves_nothing_that_the_next_run_keeps(
    shelf: Shelf, tenant: Tenant, services: Services
) -> None:
    await shelf.upload(tenant.scope, "book.md", LONG)

    async def fail(batch: int) -> None:
        if batch == 2:
            raise UnavailableError("the embedder went away")

    with pytest.raises(UnavailableError):
        await pipeline(services, InterruptingEmbedder(fail)).run(tenant.scope, digest(LONG))
    assert await shelf.count(tenant.scope, Chunk) == 128
    await shelf.process(tenant.scope, LONG)
    await assert_whole(shelf, tenant.scope, LONG)


async def test_a_cancelled_run_puts_the_content_back_and_does_not_count(
    shelf: Shelf, tenant: Tenant, services: Services
) -> None:
    await shelf.upload(tenant.scope, "book.md", LONG)
    reached = asyncio.Event()

    async def wait(batch: int) -> None:
        if batch == 1:
            reached.set()
            await asyncio.sleep(60)

    for _ in range(MAX_ATTEMPTS + 1):
        reached.clear()
        running = asyncio.create_task(pipeline(services, InterruptingEmbedder(wait)).run(tenant.scope, digest(LONG)))
        await reached.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        (content,) = await shelf.contents(tenant.scope)
        assert (content.status, content.attempts) == ("queued", 0)
    await shelf.process(tenant.scope, LONG)
    await assert_whole(shelf, tenant.scope, LONG)


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("scan.pdf", b"%PDF-1.4\n%%EOF", "corrupt"),
        ("blank.txt", b" \n\t \n", "no_text"),
        ("long.txt", b"word " * 300_000, "too_many_characters"),
    ],
)
async def test_a_file_without_usable_text_fails_with_a_reason_in_words(
    shelf: Shelf, tenant: Tenant, name: str, data: bytes, reason: str
) -> None:
    made = await shelf.upload(tenant.scope, name, data)
    await pipeline(shelf.services, HashEmbedder()).run(tenant.scope, digest(data))
    view = await shelf.services.documents.get(tenant.scope, made.document_id)
    assert (view.status, view.reason) == (Status.FAILED, reason)
    assert view.detail is not None
    assert view.detail.endswith(".")
    assert (view.chunk_count, await shelf.count(tenant.scope, Chunk)) == (0, 0)


async def test_a_text_that_takes_too_long_to_cut_fails_as_a_timeout(shelf: Shelf, tenant: Tenant) -> None:
    data, slow = b"- a\n" * 10_000, SlowEmbedder()
    made = await shelf.upload(tenant.scope, "items.md", data)
    limits = dataclasses.replace(LIMITS, seconds=4)
    service = IngestionService(shelf.services.database, shelf.services.blobs, Embedders(slow), limits)
    finished = await service.run(tenant.scope, digest(data))
    assert slow.counted > 0
    assert finished is not None
    assert (finished.status, finished.reason) == (Status.FAILED, "parse_timeout")
    assert (await shelf.services.documents.get(tenant.scope, made.document_id)).reason == "parse_timeout"
    assert await shelf.count(tenant.scope, Chunk) == 0
