import dataclasses
import time
from collections.abc import Sequence
from datetime import timedelta

import pytest
import sqlalchemy as sa
from fpdf import FPDF

from app.bootstrap import Services
from app.core.errors import NotFoundError
from app.core.ids import ChunkId, chunk_id
from app.db.models import Chunk, Content, DeadLetter, Page
from app.documents.types import Status
from app.ingestion.chunking import CHUNKER_VERSION
from app.ingestion.parsing.types import PARSER_VERSION
from app.ingestion.pipeline import MAX_ATTEMPTS, IngestionService
from app.ingestion.types import Finished, Yielded
from app.llm.embedders import Embedders
from tests.support.documents import Shelf, digest, long_text, prose
from tests.support.embedder import HashEmbedder
from tests.support.pipelines import LIMITS, InterruptingEmbedder, assert_whole, pipeline, stored
from tests.support.tenants import Tenant

LONG = long_text(150)


class SlowEmbedder(HashEmbedder):
    """Takes much processor time to count tokens."""

    counted = 0

    def count_tokens(self, text: str) -> int:
        self.counted += 1
        until = time.thread_time() + 0.1
        while time.thread_time() < until:
            pass
        return super().count_tokens(text)


async def letters(shelf: Shelf, tenant: Tenant) -> Sequence[DeadLetter]:
    async with shelf.services.database.workspace(tenant.scope) as session:
        return (await session.scalars(sa.select(DeadLetter))).all()


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
    chunks = (await stored(shelf, tenant.scope)).chunks
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
        assert await shelf.count(scope, Chunk) == view.total
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
    assert isinstance(finished, Finished)
    # A batch is stored while the next one is embedded, so that progress is shown one batch late.
    assert stages == [(Status.EMBEDDING, 32 * max(n - 1, 0), finished.chunks) for n in range(len(stages))]
    assert len(stages) >= 3
    assert await shelf.found(scope, "operator valve pressure") == {"book.md"}


async def test_bytes_that_are_gone_are_a_typed_failure(shelf: Shelf, tenant: Tenant, services: Services) -> None:
    data = prose("a")
    made = await shelf.upload(tenant.scope, "a.txt", data)
    await services.blobs.remove(sorted(shelf.stored(tenant.scope)))
    finished = await shelf.process(tenant.scope, data)
    assert finished is not None
    view = await services.documents.get(tenant.scope, made.document_id)
    assert (view.status, view.reason) == (Status.FAILED, "file_missing")
    assert [letter.reason for letter in await letters(shelf, tenant)] == ["file_missing"]


async def test_a_file_that_stopped_the_worker_too_often_is_given_up(
    shelf: Shelf, tenant: Tenant, services: Services
) -> None:
    data = prose("a")
    made = await shelf.upload(tenant.scope, "a.txt", data)
    async with services.database.workspace(tenant.scope) as session:
        lost = {"status": Status.PARSING, "lease_until": sa.func.now() - timedelta(seconds=1)}
        await session.execute(sa.update(Content).values(attempts=MAX_ATTEMPTS, **lost))
    finished = await shelf.process(tenant.scope, data)
    assert finished is not None
    assert finished.reason == "worker_lost"
    view = await services.documents.get(tenant.scope, made.document_id)
    assert (view.status, view.reason) == (Status.FAILED, "worker_lost")
    assert view.detail
    (letter,) = await letters(shelf, tenant)
    assert (letter.content_sha256, letter.reason, letter.detail) == (digest(data), "worker_lost", view.detail)
    assert letter.attempts == MAX_ATTEMPTS
    assert letter.payload == {
        "workspace_id": str(tenant.workspace.id),
        "content_sha256": digest(data),
        "user_id": str(tenant.owner.id),
        "size_bytes": len(data),
        "outages": 0,
    }


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
    assert await letters(shelf, tenant) == []  # nothing that an operator could mend


async def test_the_words_about_a_file_without_text_fit_its_kind(shelf: Shelf, tenant: Tenant) -> None:
    made = await shelf.upload(tenant.scope, "blank.txt", b" \n\t \n\n")
    await pipeline(shelf.services, HashEmbedder()).run(tenant.scope, digest(b" \n\t \n\n"))
    view = await shelf.services.documents.get(tenant.scope, made.document_id)
    assert view.detail == "The file holds no text. Check that it is the right one and upload it again."


async def test_a_text_that_takes_too_long_to_cut_fails_as_a_timeout(shelf: Shelf, tenant: Tenant) -> None:
    data, slow = b"- a\n" * 10_000, SlowEmbedder()
    made = await shelf.upload(tenant.scope, "items.md", data)
    limits = dataclasses.replace(LIMITS, seconds=4)
    service = IngestionService(
        shelf.services.database, shelf.services.blobs, Embedders(slow), shelf.services.parser, limits
    )
    finished = await service.run(tenant.scope, digest(data))
    assert slow.counted > 0
    assert isinstance(finished, Finished)
    assert (finished.status, finished.reason) == (Status.FAILED, "parse_timeout")
    assert (await shelf.services.documents.get(tenant.scope, made.document_id)).reason == "parse_timeout"
    assert await shelf.count(tenant.scope, Chunk) == 0


async def test_a_file_of_too_many_passages_fails_with_its_reason(shelf: Shelf, tenant: Tenant) -> None:
    await shelf.upload(tenant.scope, "book.md", LONG)
    embedders = Embedders(HashEmbedder())
    services = shelf.services
    service = IngestionService(services.database, services.blobs, embedders, services.parser, LIMITS, max_passages=149)
    finished = await service.run(tenant.scope, digest(LONG))
    assert isinstance(finished, Finished)
    assert finished.reason == "too_many_passages"


async def test_pages_keep_their_size_and_those_without_text_are_noted(shelf: Shelf, tenant: Tenant) -> None:
    paper = FPDF(format="A4")
    paper.set_font("Helvetica", size=12)
    for number in range(4):
        paper.add_page()
        if number % 2 == 0:
            paper.multi_cell(0, 8, f"The pump of house {number} starts at {40 + number} degrees and stops by hand.")
    await shelf.add(tenant.scope, "pumps.pdf", bytes(paper.output()))
    (content,) = await shelf.contents(tenant.scope)
    assert (content.status, content.pages_without_text) == ("ready", [2, 4])
    pages = (await stored(shelf, tenant.scope)).pages
    assert [page.has_text for page in pages] == [True, False, True, False]


async def test_what_the_page_does_not_show_has_no_box(shelf: Shelf, tenant: Tenant) -> None:
    paper = FPDF(format="A4")
    paper.add_page()
    paper.set_font("Helvetica", size=12)
    with paper.table() as table:
        for cells in (("Timer", "Value"), ("T300", "1000 ms"), ("T310", "500 ms")):
            table.row(cells)
    made = await shelf.add(tenant.scope, "timers.pdf", bytes(paper.output()))
    documents = shelf.services.documents
    page = await documents.page(tenant.scope, made.document_id, 1, None, with_boxes=True)
    assert page.boxes is not None
    assert "T300 | 1000 ms" in page.text
    assert {page.text[box.start : box.end] for box in page.boxes} >= {"T300", "T310"}
    assert all(box.left < box.right and box.top < box.bottom for box in page.boxes)
    assert not any("|" in page.text[box.start : box.end] for box in page.boxes)


async def test_the_start_of_a_stage_is_its_own_and_not_that_of_each_batch(
    shelf: Shelf, tenant: Tenant, services: Services
) -> None:
    await shelf.upload(tenant.scope, "book.md", LONG)
    starts = []

    async def look(batch: int) -> None:
        (content,) = await shelf.contents(tenant.scope)
        starts.append((content.status, content.stage_started_at))
        assert content.stage_started_at > content.created_at

    await pipeline(services, InterruptingEmbedder(look)).run(tenant.scope, digest(LONG))
    assert len(starts) >= 3
    assert len(set(starts)) == 1
    (content,) = await shelf.contents(tenant.scope)
    assert content.stage_started_at > starts[0][1]


async def test_the_pace_of_a_resumed_stage_is_that_of_its_own_run(
    shelf: Shelf, tenant: Tenant, services: Services
) -> None:
    await shelf.upload(tenant.scope, "book.md", LONG)
    seen = []

    async def look(batch: int) -> None:
        (content,) = await shelf.contents(tenant.scope)
        seen.append((content.stage_started_done, content.done))

    async def always() -> bool:
        return True

    service = pipeline(services, InterruptingEmbedder(look))
    while isinstance(await service.run(tenant.scope, digest(LONG), always), Yielded):
        pass
    assert seen == [(done, done) for done in range(0, 150, 32)]
