from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import timedelta

import procrastinate
import pytest
import sqlalchemy as sa

from app.bootstrap import Services
from app.core.errors import UnavailableError
from app.db.models import Content
from app.documents.types import Status
from app.ingestion.parsing.types import ParseLimits
from app.ingestion.pipeline import MAX_ATTEMPTS, IngestionService
from app.llm.embedders import Embedders
from app.llm.types import Vectors
from app.worker.sweep import sweep
from app.worker.tasks import ingest
from app.worker.timing import WorkerTiming
from tests.support.documents import Shelf, prose
from tests.support.embedder import HashEmbedder
from tests.support.tenants import Tenant


class BrokenEmbedder(HashEmbedder):
    """Is never there."""

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        raise UnavailableError(f"no vectors for {len(texts)} texts")


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


async def test_an_error_of_ours_is_tried_again_later_and_then_ends(
    shelf: Shelf, tenant: Tenant, services: Services
) -> None:
    limits = ParseLimits(
        seconds=30, memory_bytes=512 * 1024 * 1024, max_pages=10, max_characters=1_000_000, max_unpacked_bytes=2**29
    )
    broken = IngestionService(services.database, services.blobs, Embedders(BrokenEmbedder()), limits)
    uploaded = await shelf.upload(tenant.scope, "a.txt", prose("a"))
    (job,) = await shelf.jobs(tenant.scope)
    runs, waiting = 0, [job]
    while waiting:
        await execute(shelf, tenant, f"DELETE FROM procrastinate_jobs {MINE}")  # noqa: S608
        await ingest(context_of(replace(services, ingestion=broken), job["id"]), **job["args"])
        runs, waiting = runs + 1, list(await shelf.jobs(tenant.scope))
        assert [again["args"] for again in waiting] in ([], [job["args"]])
        assert all(timedelta(0) < again["waits"] <= timedelta(seconds=2**MAX_ATTEMPTS) for again in waiting)
    # The first run stored the text: that is progress, and the count begins anew.
    assert runs == MAX_ATTEMPTS + 1
    view = await services.documents.get(tenant.scope, uploaded.document_id)
    assert (view.status, view.reason) == (Status.FAILED, "internal")


async def test_an_error_of_ours_does_not_hold_the_work_that_was_asked_for_meanwhile(
    shelf: Shelf, tenant: Tenant, services: Services
) -> None:
    limits = ParseLimits(
        seconds=30, memory_bytes=512 * 1024 * 1024, max_pages=10, max_characters=1_000_000, max_unpacked_bytes=2**29
    )
    broken = IngestionService(services.database, services.blobs, Embedders(BrokenEmbedder()), limits)
    await shelf.upload(tenant.scope, "a.txt", prose("a"))
    (job,) = await shelf.jobs(tenant.scope)
    await ingest(context_of(replace(services, ingestion=broken), job["id"]), **job["args"])
    (waiting,) = await shelf.jobs(tenant.scope)
    assert (waiting["id"], waiting["status"]) == (job["id"], "todo")
