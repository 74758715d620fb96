from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import procrastinate
import pytest
import sqlalchemy as sa

from app.bootstrap import Services
from app.core.errors import UnavailableError
from app.db.models import Content, DeadLetter
from app.documents.storage import new_key
from app.documents.types import Status
from app.ingestion.parsing.types import ParseLimits
from app.ingestion.pipeline import MAX_ATTEMPTS, IngestionService
from app.jobs.payloads import RemoveBlobsPayload
from app.llm.embedders import Embedders
from app.llm.types import Vectors
from app.worker.sweep import sweep
from app.worker.tasks import ingest, wait_after
from app.worker.timing import WorkerTiming
from tests.support.documents import Shelf, prose
from tests.support.embedder import HashEmbedder
from tests.support.queues import know_tasks
from tests.support.tenants import Tenant


class BrokenEmbedder(HashEmbedder):
    """Fails at every text."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        assert texts
        raise self._error


@pytest.fixture
async def queue(services: Services) -> AsyncIterator[procrastinate.App]:
    async with services.queue_app.open_async() as app:
        yield app


def context_of(services: Services, job_id: int, priority: int = 0) -> procrastinate.JobContext:
    job = procrastinate.jobs.Job(
        id=job_id, queue="small", lock=None, queueing_lock=None, task_name="ingest", priority=priority
    )
    return procrastinate.JobContext(
        app=services.queue_app,
        job=job,
        additional_context={"services": services, "timing": WorkerTiming()},
        abort_reason=lambda: None,
        start_timestamp=0.0,
    )


async def execute(shelf: Shelf, tenant: Tenant, statement: str) -> None:
    async with shelf.services.database.workspace(tenant.scope) as session:
        await session.execute(sa.text(statement), {"workspace_id": str(tenant.workspace.id)})


MINE = "WHERE args ->> 'workspace_id' = :workspace_id"


async def test_a_lost_job_starts_again(shelf: Shelf, tenant: Tenant, queue: procrastinate.App) -> None:
    await shelf.upload(tenant.scope, "a.txt", prose("a"))
    await execute(shelf, tenant, f"UPDATE procrastinate_jobs SET status = 'doing' {MINE}")  # noqa: S608
    found = await sweep(shelf.services, queue, WorkerTiming())
    assert found["lost_jobs"] == 1
    assert [job["status"] for job in await shelf.jobs(tenant.scope)] == ["todo"]


async def test_a_lost_job_starts_at_once_whatever_this_machine_takes_for_now(
    shelf: Shelf, tenant: Tenant, queue: procrastinate.App, monkeypatch: pytest.MonkeyPatch
) -> None:
    await shelf.upload(tenant.scope, "a.txt", prose("a"))
    await execute(shelf, tenant, f"UPDATE procrastinate_jobs SET status = 'doing' {MINE}")  # noqa: S608
    monkeypatch.setattr("procrastinate.utils.utcnow", lambda: datetime.now(UTC) + timedelta(hours=2))
    assert (await sweep(shelf.services, queue, WorkerTiming()))["lost_jobs"] == 1
    (job,) = await shelf.jobs(tenant.scope)
    assert job["waits"] <= timedelta(0)


async def test_a_removal_that_failed_is_tried_again_by_the_clock_of_the_database(
    shelf: Shelf, tenant: Tenant, services: Services, queue: procrastinate.App, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(*_: object) -> int:
        raise UnavailableError("A stored file could not be removed.")

    payload = RemoveBlobsPayload(workspace_id=tenant.workspace.id, keys=(new_key(tenant.workspace.id),))
    async with services.database.workspace(tenant.scope) as session:
        await services.queue.remove_blobs(session, payload)
    monkeypatch.setattr(services.pending_blobs, "sweep", away)
    monkeypatch.setattr("procrastinate.utils.utcnow", lambda: datetime.now(UTC) + timedelta(hours=2))
    know_tasks(queue)
    context = {"services": services, "timing": WorkerTiming()}
    await queue.run_worker_async(wait=False, install_signal_handlers=False, additional_context=context)
    (job,) = await shelf.jobs(tenant.scope)
    assert (job["status"], job["attempts"]) == ("todo", 1)
    assert job["waits"] <= timedelta(seconds=2)


async def test_a_held_content_is_looked_at_again_when_its_lease_ends(
    shelf: Shelf, tenant: Tenant, services: Services
) -> None:
    await shelf.upload(tenant.scope, "a.txt", prose("a"))
    held = "status = 'parsing', lease_until = now() + interval '20 seconds'"
    await execute(shelf, tenant, f"UPDATE contents SET {held} WHERE workspace_id = :workspace_id")  # noqa: S608
    (waiting,) = await run_waiting(shelf, tenant, services)
    assert timedelta(seconds=10) < waiting["waits"] <= timedelta(seconds=20)


async def test_a_lost_job_whose_work_was_asked_for_again_gives_way(
    shelf: Shelf, tenant: Tenant, queue: procrastinate.App
) -> None:
    data = prose("a")
    await shelf.upload(tenant.scope, "a.txt", data)
    await execute(shelf, tenant, f"UPDATE procrastinate_jobs SET status = 'doing' {MINE}")  # noqa: S608
    await shelf.upload(tenant.scope, "a.txt", data)
    lost, waiting = await shelf.jobs(tenant.scope)
    assert (lost["status"], waiting["status"]) == ("doing", "todo")
    await sweep(shelf.services, queue, WorkerTiming())
    (left,) = await shelf.jobs(tenant.scope)
    assert (left["id"], left["status"]) == (waiting["id"], "todo")


async def test_a_content_that_waits_for_its_turn_is_not_left_behind(shelf: Shelf, tenant: Tenant) -> None:
    left_behind = sa.text("SELECT count(*) FROM find_unfinished_contents('0 s') WHERE workspace_id = :workspace_id")
    mine = {"workspace_id": tenant.workspace.id}
    await shelf.upload(tenant.scope, "a.txt", prose("a"))
    async with shelf.services.database.identity() as session:
        assert await session.scalar(left_behind, mine) == 0
    await execute(shelf, tenant, f"DELETE FROM procrastinate_jobs {MINE}")  # noqa: S608
    async with shelf.services.database.identity() as session:
        assert await session.scalar(left_behind, mine) == 1


async def test_a_content_whose_job_was_lost_is_queued_again_once(
    shelf: Shelf, tenant: Tenant, queue: procrastinate.App
) -> None:
    await shelf.upload(tenant.scope, "a.txt", prose("a"))
    await execute(shelf, tenant, f"DELETE FROM procrastinate_jobs {MINE}")  # noqa: S608
    await sweep(shelf.services, queue, WorkerTiming())
    assert await shelf.jobs(tenant.scope) == []
    async with shelf.services.database.workspace(tenant.scope) as session:
        await session.execute(sa.update(Content).values(updated_at=sa.func.now() - sa.text("interval '6 minutes'")))
    for _ in range(2):
        await sweep(shelf.services, queue, WorkerTiming())
        assert [job["status"] for job in await shelf.jobs(tenant.scope)] == ["todo"]


def broken(services: Services, error: Exception) -> Services:
    """Return the services with a model that fails at every text."""
    limits = ParseLimits(
        seconds=30, memory_bytes=512 * 1024 * 1024, max_pages=10, max_characters=1_000_000, max_unpacked_bytes=2**29
    )
    ingestion = IngestionService(
        services.database, services.blobs, Embedders(BrokenEmbedder(error)), services.parser, limits
    )
    return replace(services, ingestion=ingestion)


async def run_waiting(shelf: Shelf, tenant: Tenant, services: Services) -> Sequence[Mapping[str, Any]]:
    """Run the only job as a worker does that has waited for it; return those that wait afterwards."""
    (job,) = await shelf.jobs(tenant.scope)
    await execute(shelf, tenant, f"DELETE FROM procrastinate_jobs {MINE}")  # noqa: S608
    await ingest(context_of(services, job["id"]), **job["args"])
    return await shelf.jobs(tenant.scope)


async def letters(shelf: Shelf, tenant: Tenant) -> list[str]:
    async with shelf.services.database.workspace(tenant.scope) as session:
        return list(await session.scalars(sa.select(DeadLetter.reason)))


async def test_an_error_of_ours_is_tried_again_later_and_then_ends(
    shelf: Shelf, tenant: Tenant, services: Services
) -> None:
    uploaded = await shelf.upload(tenant.scope, "a.txt", prose("a"))
    (job,) = await shelf.jobs(tenant.scope)
    runs, waiting = 0, [job]
    while waiting:
        waiting = list(await run_waiting(shelf, tenant, broken(services, RuntimeError("ours"))))
        runs += 1
        assert [again["args"] for again in waiting] in ([], [job["args"]])
        assert all(timedelta(0) < again["waits"] <= timedelta(seconds=2**MAX_ATTEMPTS) for again in waiting)
    # The first run stored the text: that is progress, and the count begins anew.
    assert runs == MAX_ATTEMPTS + 1
    view = await services.documents.get(tenant.scope, uploaded.document_id)
    assert (view.status, view.reason) == (Status.FAILED, "internal")
    assert await letters(shelf, tenant) == ["internal"]


async def test_an_outage_is_waited_for_with_growing_distance_and_without_end(
    shelf: Shelf, tenant: Tenant, services: Services
) -> None:
    uploaded = await shelf.upload(tenant.scope, "a.txt", prose("a"))
    away = broken(services, UnavailableError("no model"))
    # The first run stored the text: that is progress, and the distance grows from the one after it.
    for seconds in (5, 5 * 2, 20, 40, 60, 60, 60):
        (waiting,) = await run_waiting(shelf, tenant, away)
        assert 0.7 * seconds < waiting["waits"].total_seconds() <= 1.25 * seconds
    view = await services.documents.get(tenant.scope, uploaded.document_id)
    assert (view.status, view.reason, await letters(shelf, tenant)) == (Status.QUEUED, None, [])
    assert await run_waiting(shelf, tenant, services) == []
    view = await services.documents.get(tenant.scope, uploaded.document_id)
    assert (view.status, view.detail) == (Status.READY, None)


async def test_a_run_that_got_somewhere_before_an_outage_is_tried_again_soon(
    shelf: Shelf, tenant: Tenant, services: Services
) -> None:
    await shelf.upload(tenant.scope, "a.txt", prose("a"))
    outages = "UPDATE procrastinate_jobs SET args = args || jsonb_build_object('outages', 9) "
    await execute(shelf, tenant, outages + MINE)
    (waiting,) = await run_waiting(shelf, tenant, broken(services, UnavailableError("no model")))
    assert (waiting["args"]["outages"], waiting["waits"] < timedelta(seconds=10)) == (1, True)


async def test_a_database_that_is_away_before_the_claim_is_waited_for(
    shelf: Shelf, tenant: Tenant, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    await shelf.upload(tenant.scope, "a.txt", prose("a"))

    async def away(*_: object) -> None:
        raise UnavailableError("no database")

    monkeypatch.setattr(IngestionService, "run", away)
    for seconds in (5, 10, 20):
        (waiting,) = await run_waiting(shelf, tenant, services)
        assert 0.7 * seconds < waiting["waits"].total_seconds() <= 1.25 * seconds
    assert await letters(shelf, tenant) == []


@pytest.mark.parametrize(("outages", "seconds"), [(0, 5), (1, 10), (3, 40), (4, 60), (10**9, 60)])
def test_the_wait_is_spread_around_its_length(outages: int, seconds: int) -> None:
    waits = [wait_after(outages).total_seconds() for _ in range(100)]
    assert 0.75 * seconds <= min(waits) < 0.95 * seconds
    assert 1.05 * seconds < max(waits) <= 1.25 * seconds


async def test_an_error_of_ours_does_not_hold_the_work_that_was_asked_for_meanwhile(
    shelf: Shelf, tenant: Tenant, services: Services
) -> None:
    await shelf.upload(tenant.scope, "a.txt", prose("a"))
    (job,) = await shelf.jobs(tenant.scope)
    await ingest(context_of(broken(services, RuntimeError("ours")), job["id"]), **job["args"])
    (waiting,) = await shelf.jobs(tenant.scope)
    assert (waiting["id"], waiting["status"]) == (job["id"], "todo")
