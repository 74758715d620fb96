import asyncio
import sys
import time
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace
from datetime import timedelta

import pytest
import sqlalchemy as sa

from app.bootstrap import Services
from app.db.engine import create_engine
from app.db.models import Chunk, ChunkEmbedding, ChunkWords, Content, Page
from app.db.session import Database
from app.documents.types import Status
from app.ingestion import repository
from app.ingestion.errors import ClaimLostError
from app.ingestion.lease import Timing, while_held
from app.ingestion.parsing import isolation
from app.ingestion.parsing.isolation import IsolatedParser
from app.ingestion.types import Busy, Claim, Finished
from tests.support.documents import Shelf, digest, long_text, prose
from tests.support.embedder import HashEmbedder
from tests.support.nurseries import parsers_of
from tests.support.pipelines import (
    QUICK,
    InterruptingEmbedder,
    assert_whole,
    expire_leases,
    pausing,
    pipeline,
)
from tests.support.tenants import Tenant

LONG = long_text(150)


class SlowCounter(HashEmbedder):
    """Counts tokens slowly, in the thread that cuts the text."""

    def __init__(self) -> None:
        self.began = asyncio.Event()
        self.loop = asyncio.get_running_loop()
        self.counted = 0

    def count_tokens(self, text: str) -> int:
        self.counted += 1
        self.loop.call_soon_threadsafe(self.began.set)
        time.sleep(0.05)
        return super().count_tokens(text)


async def assert_nothing_left(shelf: Shelf, tenant: Tenant) -> None:
    for table in (Content, Page, Chunk, ChunkWords, ChunkEmbedding):
        assert await shelf.count(tenant.scope, table) == 0


async def test_of_two_runs_at_once_one_is_told_until_when_the_other_holds_it(
    shelf: Shelf, tenant: Tenant, services: Services
) -> None:
    await shelf.upload(tenant.scope, "book.md", LONG)
    service = pipeline(services, HashEmbedder())
    ended = await asyncio.gather(*(service.run(tenant.scope, digest(LONG)) for _ in range(2)))
    assert sorted(type(end).__name__ for end in ended) == ["Busy", "Finished"]
    await assert_whole(shelf, tenant.scope, LONG)


async def test_a_lease_is_renewed_while_the_work_goes_on_and_shows_no_progress(
    shelf: Shelf, tenant: Tenant, services: Services
) -> None:
    await shelf.upload(tenant.scope, "book.md", LONG)
    embedder, reached, go_on = pausing()
    timing = Timing(lease=timedelta(seconds=1), heartbeat=timedelta(seconds=0.1))
    running = asyncio.create_task(pipeline(services, embedder, timing).run(tenant.scope, digest(LONG)))
    await reached.wait()
    await asyncio.sleep(0.3)  # what the first batch still writes
    (before,) = await shelf.contents(tenant.scope)
    seen: list[timedelta] = []
    for _ in range(5):
        await asyncio.sleep(0.3)
        busy = await pipeline(services, HashEmbedder()).run(tenant.scope, digest(LONG))
        assert isinstance(busy, Busy)
        seen.append(busy.lasts)
    (after,) = await shelf.contents(tenant.scope)
    assert all(timedelta(0) < each <= timedelta(seconds=1) for each in seen), "after 1.5 s without renewals it is over"
    assert (after.updated_at, after.fence, after.attempts) == (before.updated_at, before.fence, before.attempts)
    go_on.set()
    assert isinstance(await running, Finished)
    await assert_whole(shelf, tenant.scope, LONG)


async def test_a_worker_that_was_paused_beyond_its_lease_writes_nothing_more(
    shelf: Shelf, tenant: Tenant, services: Services
) -> None:
    await shelf.upload(tenant.scope, "book.md", LONG)
    embedder, reached, go_on = pausing()
    paused = asyncio.create_task(pipeline(services, embedder).run(tenant.scope, digest(LONG)))
    await reached.wait()
    await asyncio.sleep(0.3)
    await expire_leases(services, tenant.scope)
    assert isinstance(await shelf.process(tenant.scope, LONG), Finished)
    (content,) = await shelf.contents(tenant.scope)
    go_on.set()
    assert await paused is None
    assert embedder.batches <= 3  # the batch that was embedded while the refused one was to be stored
    await assert_whole(shelf, tenant.scope, LONG)
    (same,) = await shelf.contents(tenant.scope)
    assert (same.fence, same.updated_at) == (content.fence, content.updated_at)


async def test_a_run_whose_claim_was_taken_stops_within_a_heartbeat(
    shelf: Shelf, tenant: Tenant, services: Services
) -> None:
    await shelf.upload(tenant.scope, "book.md", LONG)
    embedder, reached, _never = pausing()
    running = asyncio.create_task(pipeline(services, embedder, QUICK).run(tenant.scope, digest(LONG)))
    await reached.wait()
    async with services.database.workspace(tenant.scope) as session:
        await session.execute(sa.update(Content).values(fence=Content.fence + 1))
    assert await asyncio.wait_for(running, 5) is None


async def test_a_document_deleted_while_it_is_parsed_stops_the_parser(
    shelf: Shelf, tenant: Tenant, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = """import time
from app.ingestion.parsing import child, nursery
child.run = lambda _: time.sleep(60)
nursery.main()
"""
    monkeypatch.setattr(isolation, "_COMMAND", (sys.executable, "-c", program))
    data = prose("a")
    made = await shelf.upload(tenant.scope, "a.txt", data)
    async with aclosing(IsolatedParser()) as parser:
        service = pipeline(replace(services, parser=parser), HashEmbedder(), QUICK)
        running = asyncio.create_task(service.run(tenant.scope, digest(data)))
        await parsers_of(parser, 1)
        await services.documents.delete(tenant.scope, made.document_id)
        assert await asyncio.wait_for(running, 5) is None
        await parsers_of(parser, 0)
    await assert_nothing_left(shelf, tenant)


async def test_a_document_deleted_while_it_is_cut_stops_the_thread(
    shelf: Shelf, tenant: Tenant, services: Services
) -> None:
    data = b"- a\n" * 10_000
    made = await shelf.upload(tenant.scope, "items.md", data)
    embedder = SlowCounter()
    running = asyncio.create_task(pipeline(services, embedder, QUICK).run(tenant.scope, digest(data)))
    await embedder.began.wait()
    await services.documents.delete(tenant.scope, made.document_id)
    assert await asyncio.wait_for(running, 5) is None
    await asyncio.sleep(0.1)
    counted = embedder.counted
    await asyncio.sleep(0.3)
    assert embedder.counted == counted
    await assert_nothing_left(shelf, tenant)


async def test_a_document_deleted_while_it_is_embedded_stops_the_model(
    shelf: Shelf, tenant: Tenant, services: Services
) -> None:
    made = await shelf.upload(tenant.scope, "book.md", LONG)
    embedder, reached, _never = pausing()
    running = asyncio.create_task(pipeline(services, embedder, QUICK).run(tenant.scope, digest(LONG)))
    await reached.wait()
    await services.documents.delete(tenant.scope, made.document_id)
    assert await asyncio.wait_for(running, 5) is None
    await assert_nothing_left(shelf, tenant)


async def test_a_document_deleted_between_two_heartbeats_stops_at_the_next_write(
    shelf: Shelf, tenant: Tenant, services: Services
) -> None:
    made = await shelf.upload(tenant.scope, "book.md", LONG)

    async def delete(batch: int) -> None:
        if batch == 1:
            await services.documents.delete(tenant.scope, made.document_id)

    assert await pipeline(services, InterruptingEmbedder(delete)).run(tenant.scope, digest(LONG)) is None
    await assert_nothing_left(shelf, tenant)


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


async def test_a_failed_content_has_no_lease_that_a_new_try_would_wait_for(
    shelf: Shelf, tenant: Tenant, services: Services
) -> None:
    made = await shelf.upload(tenant.scope, "blank.txt", b" \n\t \n")
    held: Sequence[Claim | Busy | None] = []
    async with services.database.workspace(tenant.scope) as session:
        held = [await repository.claim(session, tenant.scope, digest(b" \n\t \n"), timedelta(seconds=30))]
    assert isinstance(held[0], Claim)
    async with services.database.workspace(tenant.scope) as session:
        await repository.fail(session, tenant.scope, held[0], reason="no_text", detail="words")
    async with services.database.workspace(tenant.scope) as session:
        await repository.renew(session, tenant.scope, held[0], timedelta(seconds=30))  # a heartbeat that came late
    await services.documents.retry(tenant.scope, made.document_id)
    assert isinstance(await shelf.process(tenant.scope, b" \n\t \n"), Finished)


async def test_work_goes_on_while_the_database_is_away_for_a_moment(services: Services, tenant: Tenant) -> None:
    """The fencing number stops it if another worker has claimed meanwhile."""
    held = Claim("0" * 64, 1, 1, "key", "text/plain", 1, text_stored=False)

    async def work() -> str:
        await asyncio.sleep(0.3)
        return "done"

    nowhere = create_engine("postgresql+psycopg://nobody@127.0.0.1:1/nothing", pool_size=1)
    timing = Timing(lease=timedelta(seconds=1), heartbeat=timedelta(seconds=0.05))
    assert await while_held(Database(nowhere), tenant.scope, held, timing, work()) == "done"
    with pytest.raises(ClaimLostError):
        await while_held(services.database, tenant.scope, held, timing, work())
