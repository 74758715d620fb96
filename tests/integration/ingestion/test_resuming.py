import asyncio
from collections.abc import Sequence

import pytest
import sqlalchemy as sa

from app.bootstrap import Services
from app.core.errors import UnavailableError
from app.db.models import Chunk, Content
from app.db.session import Database
from app.documents.types import Status
from app.ingestion.pipeline import MAX_ATTEMPTS, IngestionService
from app.ingestion.types import Away, Busy, Finished, Yielded
from app.llm.embedders import Embedders
from tests.support.documents import Shelf, digest, long_text
from tests.support.embedder import HashEmbedder
from tests.support.pipelines import (
    LIMITS,
    CrashingDatabase,
    InterruptingEmbedder,
    ProcessGoneError,
    assert_whole,
    expire_leases,
    pausing,
    pipeline,
    stored,
)
from tests.support.tenants import Tenant, Tenants

LONG = long_text(150)


@pytest.fixture(scope="module")
async def golden(services: Services, shelf: Shelf, tenants: Tenants) -> tuple[object, ...]:
    """What an undisturbed run stores, in any workspace."""
    tenant = await tenants.workspace()
    await shelf.add(tenant.scope, "book.md", LONG)
    return (await stored(shelf, tenant.scope)).golden()


async def always() -> bool:
    return True


async def never(batch: int) -> None:
    """Interrupt nothing."""


async def test_a_run_makes_way_after_each_batch_and_ends_as_if_it_had_not(
    shelf: Shelf, tenant: Tenant, services: Services, golden: tuple[object, ...]
) -> None:
    await shelf.upload(tenant.scope, "book.md", LONG)
    embedder = InterruptingEmbedder(never)
    service = pipeline(services, embedder)
    ends: list[Finished | Yielded | Busy | Away | None] = []
    while not ends or isinstance(ends[-1], Yielded):
        ends.append(await service.run(tenant.scope, digest(LONG), always))
        (content,) = await shelf.contents(tenant.scope)
        if isinstance(ends[-1], Yielded):
            assert (content.status, content.attempts, content.lease_until) == ("queued", 0, None)
            assert (content.done, content.total) == (ends[-1].done, ends[-1].total)
    assert [end.done for end in ends if isinstance(end, Yielded)] == [32, 64, 96, 128]
    assert len(embedder.embedded) == len(set(embedder.embedded)) == 150
    assert (await stored(shelf, tenant.scope)).golden() == golden
    await assert_whole(shelf, tenant.scope, LONG)


async def test_what_was_stored_before_an_error_is_not_made_again(
    shelf: Shelf, tenant: Tenant, services: Services, golden: tuple[object, ...]
) -> None:
    await shelf.upload(tenant.scope, "book.md", LONG)

    async def fail(batch: int) -> None:
        if batch == 2:
            raise UnavailableError("the embedder went away")

    assert await pipeline(services, InterruptingEmbedder(fail)).run(tenant.scope, digest(LONG)) == Away(progressed=True)
    (content,) = await shelf.contents(tenant.scope)
    assert (content.status, content.lease_until, await shelf.count(tenant.scope, Chunk)) == ("queued", None, 150)
    await services.blobs.remove(sorted(shelf.stored(tenant.scope)))  # nothing is parsed again
    embedder = InterruptingEmbedder(never)
    assert isinstance(await pipeline(services, embedder).run(tenant.scope, digest(LONG)), Finished)
    assert len(embedder.embedded) == 150 - 64
    assert (await stored(shelf, tenant.scope)).golden() == golden


@pytest.mark.parametrize("committed", [False, True], ids=["before commit", "after commit"])
async def test_a_crash_at_any_transaction_leaves_what_the_next_run_completes(
    shelf: Shelf, tenants: Tenants, services: Services, golden: tuple[object, ...], *, committed: bool
) -> None:
    finished, at = False, 0
    while not finished:
        tenant = await tenants.workspace()
        await shelf.upload(tenant.scope, "book.md", LONG)
        database = CrashingDatabase(services.database, at, committed=committed)
        service = IngestionService(database, services.blobs, Embedders(HashEmbedder()), services.parser, LIMITS)
        try:
            finished = isinstance(await service.run(tenant.scope, digest(LONG)), Finished)
        except ProcessGoneError:
            visible = await shelf.found(tenant.scope, "operator valve pressure")
            (content,) = await shelf.contents(tenant.scope)
            assert visible == ({"book.md"} if content.status == "ready" else set())
            await expire_leases(services, tenant.scope)
            ready = content.status == "ready"
            assert (await shelf.process(tenant.scope, LONG) is None) == ready
        found = await stored(shelf, tenant.scope)
        assert found.golden() == golden, at
        assert await shelf.found(tenant.scope, "operator valve pressure") == {"book.md"}
        at += 1
    assert at > 12


async def test_a_crash_after_a_crash_at_every_transaction_still_ends_whole(
    shelf: Shelf, tenant: Tenant, services: Services, golden: tuple[object, ...]
) -> None:
    """Each run dies one transaction later than the one before it, so all of them make some progress or none."""
    await shelf.upload(tenant.scope, "book.md", LONG)
    for at in range(100):
        async with services.database.workspace(tenant.scope) as session:
            await session.execute(sa.update(Content).values(attempts=0))
        database = CrashingDatabase(services.database, at, committed=at % 2 == 0)
        service = IngestionService(database, services.blobs, Embedders(HashEmbedder()), services.parser, LIMITS)
        try:
            if await service.run(tenant.scope, digest(LONG)) is not None:
                break
        except ProcessGoneError:
            await expire_leases(services, tenant.scope)
    (content,) = await shelf.contents(tenant.scope)
    assert content.status == "ready"
    assert (await stored(shelf, tenant.scope)).golden() == golden


async def test_text_of_another_version_of_the_program_is_made_anew(
    shelf: Shelf, tenant: Tenant, services: Services, golden: tuple[object, ...]
) -> None:
    await shelf.upload(tenant.scope, "book.md", LONG)
    await pipeline(services, HashEmbedder()).run(tenant.scope, digest(LONG), always)
    async with services.database.workspace(tenant.scope) as session:
        await session.execute(sa.update(Content).values(chunker_version="0"))
        await session.execute(sa.update(Chunk).where(Chunk.ordinal == 3).values(text="old"))
    await shelf.process(tenant.scope, LONG)
    assert (await stored(shelf, tenant.scope)).golden() == golden


async def test_a_cancelled_run_puts_the_content_back_and_does_not_count(
    shelf: Shelf, tenant: Tenant, services: Services
) -> None:
    await shelf.upload(tenant.scope, "book.md", LONG)
    reached = asyncio.Event()

    async def wait(batch: int) -> None:
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
        assert (content.status, content.attempts, content.lease_until) == ("queued", 0, None)
    await shelf.process(tenant.scope, LONG)
    await assert_whole(shelf, tenant.scope, LONG)


async def lose_worker(shelf: Shelf, tenant: Tenant, services: Services, embedder: InterruptingEmbedder) -> object:
    """Run until the embedder ends the process."""
    database = Database(services.database.engine)
    service = IngestionService(database, services.blobs, Embedders(embedder), services.parser, LIMITS)

    async def no_release(*_: object, **__: object) -> None:
        """A process that is gone puts nothing back."""

    service._release = no_release  # type: ignore[method-assign]
    try:
        return await service.run(tenant.scope, digest(LONG))
    except ProcessGoneError:
        await expire_leases(services, tenant.scope)
        return None


async def test_only_tries_without_progress_count(shelf: Shelf, tenant: Tenant, services: Services) -> None:
    """A document of three hours outlives many workers; a passage that kills each of them is given up."""
    await shelf.upload(tenant.scope, "book.md", LONG)

    async def die_after_the_first(batch: int) -> None:
        if batch == 1:
            await asyncio.sleep(0.2)  # the first batch is stored meanwhile
            raise ProcessGoneError

    for run in range(1, 4):
        await lose_worker(shelf, tenant, services, InterruptingEmbedder(die_after_the_first))
        (content,) = await shelf.contents(tenant.scope)
        assert (content.status, content.done, content.attempts) == ("embedding", 32 * run, 0)

    async def die(batch: int) -> None:
        raise ProcessGoneError

    ends: Sequence[object] = [
        await lose_worker(shelf, tenant, services, InterruptingEmbedder(die)) for _ in range(MAX_ATTEMPTS + 1)
    ]
    assert ends == [None] * MAX_ATTEMPTS + [Finished(Status.FAILED, 0, "worker_lost")]


async def test_a_batch_that_is_being_stored_when_a_run_is_cancelled_is_whole_or_not_there(
    shelf: Shelf, tenant: Tenant, services: Services
) -> None:
    await shelf.upload(tenant.scope, "book.md", LONG)
    for _ in range(20):
        embedder, reached, _go_on = pausing()
        running = asyncio.create_task(pipeline(services, embedder).run(tenant.scope, digest(LONG)))
        await asyncio.wait({running, asyncio.create_task(reached.wait())}, return_when=asyncio.FIRST_COMPLETED)
        running.cancel()
        (end,) = await asyncio.gather(running, return_exceptions=True)
        if not isinstance(end, asyncio.CancelledError):
            break
        found = await stored(shelf, tenant.scope)
        assert len(found.embeddings) % 32 in (0, 150 % 32)
    await shelf.process(tenant.scope, LONG)
    await assert_whole(shelf, tenant.scope, LONG)
