"""The order in which the real queue gives out jobs, and what asking costs."""

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from uuid import uuid4

import procrastinate
import pytest
import sqlalchemy as sa
from procrastinate.jobs import Job, Status

from app.bootstrap import Services
from app.db.engine import create_engine
from app.db.sql import load_sql
from app.jobs.fair_share import LAST_TAG, SMALL_BYTES, Lane
from app.jobs.payloads import IngestPayload, RemoveBlobsPayload
from tests.support.databases import DatabaseUrls
from tests.support.tenants import Tenant, Tenants

KIB, MIB = 1024, 1024 * 1024
WEEK = timedelta(weeks=1)
TEN_THOUSAND = sa.text(
    "INSERT INTO procrastinate_jobs (queue_name, task_name, priority, lock, queueing_lock, args) "
    "SELECT 'small', 'ingest', -2 * n, 'l' || n, 'l' || n, "
    "jsonb_build_object('workspace_id', CAST(:workspace_id AS text), 'size_bytes', 1000) "
    "FROM generate_series(1, 10000) n"
)
START = sa.text(
    "UPDATE procrastinate_jobs SET status = 'doing' WHERE id IN "
    "(SELECT id FROM procrastinate_jobs ORDER BY priority DESC LIMIT :jobs)"
)


class Desk:
    """Asks for work and fetches it, as uploads and a worker do."""

    def __init__(self, services: Services, app: procrastinate.App, worker_id: int) -> None:
        self._services = services
        self._app = app
        self._worker_id = worker_id

    async def put(self, tenant: Tenant, size: int = KIB) -> IngestPayload:
        """Ask for a file."""
        payload = ingest_payload(tenant, size)
        async with self._services.database.workspace(tenant.scope) as session:
            await self._services.queue.ingest(session, payload)
        return payload

    async def fetch(self, lane: Lane = Lane.SMALL) -> Job | None:
        """Start the job that is next in a lane."""
        return await self._app.job_manager.fetch_job([lane], self._worker_id)

    async def end(self, job: Job) -> None:
        """End a running job."""
        await self._app.job_manager.finish_job(job, Status.SUCCEEDED, delete_job=True)

    async def give_way(self, tenant: Tenant, job: Job) -> None:
        """Put the rest of a running job back."""
        payload = IngestPayload.model_validate(job.task_kwargs)
        async with self._services.database.workspace(tenant.scope) as session:
            await self._services.queue.ingest_rest(session, payload, tag=-job.priority)
        await self.end(job)

    async def drain(self, jobs: int, lane: Lane = Lane.SMALL, slots: int = 2) -> Sequence[str]:
        """Run so many jobs in some slots; return the workspaces in the order of the starts."""
        running: list[Job] = []
        started: list[str] = []
        while len(started) < jobs and (job := await self.fetch(lane)):
            started.append(str(job.task_kwargs["workspace_id"]))
            running.append(job)
            if len(running) == slots:
                await self.end(running.pop(0))
        for job in running:
            await self.end(job)
        return started


def ingest_payload(tenant: Tenant, size: int = KIB) -> IngestPayload:
    return IngestPayload(
        workspace_id=tenant.workspace.id,
        content_sha256=uuid4().hex * 2,
        user_id=tenant.owner.id,
        size_bytes=size,
    )


@pytest.fixture
async def desk(services: Services, queue_app: procrastinate.App) -> Desk:
    return Desk(services, queue_app, await queue_app.job_manager.register_worker())


def name(tenant: Tenant) -> str:
    return str(tenant.workspace.id)


async def test_one_file_of_another_workspace_waits_for_nothing_but_what_runs(desk: Desk, tenants: Tenants) -> None:
    crowd, single = await tenants.workspace(), await tenants.workspace()
    for _ in range(300):
        await desk.put(crowd)
    running = [await desk.fetch(), await desk.fetch()]
    await desk.put(single, SMALL_BYTES)
    upcoming = await desk.fetch()
    assert None not in running
    assert upcoming is not None
    assert upcoming.task_kwargs["workspace_id"] == name(single)


async def test_backlogs_share_a_lane_evenly(desk: Desk, tenants: Tenants) -> None:
    backlogs = [await tenants.workspace() for _ in range(5)]
    for tenant in backlogs:
        for _ in range(20):
            await desk.put(tenant)
    started = Counter(await desk.drain(50))
    assert set(started) == {name(tenant) for tenant in backlogs}
    assert 9 <= min(started.values()) <= max(started.values()) <= 11


async def test_newcomers_without_end_do_not_starve_a_backlog(desk: Desk, tenants: Tenants) -> None:
    backlog = await tenants.workspace()
    for _ in range(20):
        await desk.put(backlog)
    turns = 0
    for _ in range(40):
        await desk.put(await tenants.workspace())
        turns += name(backlog) in await desk.drain(1)
    # As many newcomers come as jobs are done, so those that wait grow, and each has its share.
    assert turns >= 5


async def test_lanes_do_not_wait_for_each_other(desk: Desk, tenants: Tenants) -> None:
    tenant = await tenants.workspace()
    for _ in range(20):
        await desk.put(tenant, 20 * MIB)
    await desk.put(tenant)
    small, large = await desk.fetch(Lane.SMALL), await desk.fetch(Lane.LARGE)
    assert small is not None
    assert large is not None
    assert (small.task_kwargs["size_bytes"], large.task_kwargs["size_bytes"]) == (KIB, 20 * MIB)
    assert await desk.fetch(Lane.SMALL) is None


async def test_the_rest_of_a_file_comes_before_later_files_of_its_workspace_and_after_others(
    desk: Desk, tenants: Tenants
) -> None:
    books, others = await tenants.workspace(), await tenants.workspace()
    first = await desk.put(books, 40 * MIB)
    second = await desk.put(books, 40 * MIB)
    running = await desk.fetch(Lane.LARGE)
    assert running is not None
    await desk.put(others, 2 * MIB)
    await desk.give_way(books, running)
    order = []
    while job := await desk.fetch(Lane.LARGE):
        order.append(job.task_kwargs["content_sha256"] if job.task_kwargs["workspace_id"] == name(books) else "others")
        await desk.end(job)
    assert order == ["others", first.content_sha256, second.content_sha256]


async def test_giving_way_again_and_again_takes_no_more_than_one_share(desk: Desk, tenants: Tenants) -> None:
    books, others = await tenants.workspace(), await tenants.workspace()
    for tenant in (books, others):
        for _ in range(10):
            await desk.put(tenant, 16 * MIB)
    started = []
    for _ in range(12):
        job = await desk.fetch(Lane.LARGE)
        assert job is not None
        started.append(job.task_kwargs["workspace_id"])
        if started[-1] == name(books):
            await desk.give_way(books, job)
        else:
            await desk.end(job)
    assert 5 <= started.count(name(books)) <= 7


async def test_a_run_that_came_to_nothing_keeps_its_turn(desk: Desk, services: Services, tenants: Tenants) -> None:
    tenant = await tenants.workspace()
    payloads = [await desk.put(tenant) for _ in range(3)]
    job = await desk.fetch()
    assert job is not None
    async with services.database.workspace(tenant.scope) as session:
        await services.queue.ingest_again(session, payloads[0], tag=-job.priority)
    await desk.end(job)
    again = await desk.fetch()
    assert again is not None
    assert again.task_kwargs["content_sha256"] == payloads[0].content_sha256


async def test_asking_twice_for_the_same_file_leaves_one_job(desk: Desk, services: Services, tenant: Tenant) -> None:
    payload = await desk.put(tenant)
    async with services.database.workspace(tenant.scope) as session:
        await services.queue.ingest(session, payload)
        await services.queue.ingest_again(session, payload, tag=0)
        assert await services.queue.depths(session) == {"small": 1}


async def test_a_lane_at_the_end_of_its_numbers_goes_on(desk: Desk, services: Services, tenant: Tenant) -> None:
    first = await desk.put(tenant, 2 * MIB)
    async with services.database.workspace(tenant.scope) as session:
        await session.execute(sa.text("UPDATE procrastinate_jobs SET priority = :last"), {"last": -LAST_TAG})
    second = await desk.put(tenant, 2 * MIB)
    job = await desk.fetch(Lane.LARGE)
    assert job is not None
    assert (job.priority, job.task_kwargs["content_sha256"]) == (-LAST_TAG, first.content_sha256)
    await desk.give_way(tenant, job)
    order = []
    while job := await desk.fetch(Lane.LARGE):
        order.append(str(job.task_kwargs["content_sha256"]))
        await desk.end(job)
    assert sorted(order) == sorted([first.content_sha256, second.content_sha256])


async def test_a_job_with_rubbish_for_a_size_stops_nobody(desk: Desk, services: Services, tenant: Tenant) -> None:
    await desk.put(tenant)
    async with services.database.workspace(tenant.scope) as session:
        await session.execute(sa.text("""UPDATE procrastinate_jobs SET args = args || '{"size_bytes": "1e400"}'"""))
    await desk.put(tenant)
    assert len(await desk.drain(2)) == 2


async def test_others_wait_only_if_they_could_run_now(desk: Desk, services: Services, tenants: Tenants) -> None:
    mine, other = await tenants.workspace(), await tenants.workspace()

    async def others_wait() -> bool:
        async with services.database.workspace(mine.scope) as session:
            return await services.queue.others_wait(session, mine.scope, Lane.SMALL)

    await desk.put(mine)
    await desk.put(other, 2 * MIB)
    assert not await others_wait(), "my own jobs, and those of another lane, do not count"
    payload = await desk.put(other)
    assert await others_wait()
    fetched = [await desk.fetch(), await desk.fetch()]
    assert None not in fetched
    assert not await others_wait(), "what runs does not wait"
    async with services.database.workspace(other.scope) as session:
        await services.queue.ingest(session, payload)
        await services.queue.ingest_again(session, ingest_payload(other), tag=1, after=WEEK)
    assert not await others_wait(), "nor does what has to wait for its own running job, or for a later time"


async def test_deleting_takes_waiting_jobs_out_of_the_queue(desk: Desk, services: Services, tenants: Tenants) -> None:
    mine, other = await tenants.workspace(), await tenants.workspace()
    gone, kept = await desk.put(mine), await desk.put(mine)
    await desk.put(other)
    async with services.database.workspace(mine.scope) as session:
        await services.queue.forget(session, mine.scope, [gone.content_sha256])
    assert sorted(await desk.drain(3)) == sorted([name(mine), name(other)])
    await desk.put(mine)
    await desk.put(other)
    async with services.database.workspace(mine.scope) as session:
        await services.queue.remove_blobs(session, RemoveBlobsPayload(workspace_id=mine.workspace.id, keys=("a/b",)))
        await services.queue.forget_workspace(session, mine.scope)
        assert await services.queue.depths(session) == {"small": 1, "background": 1}
    assert kept.content_sha256 != gone.content_sha256


async def test_what_runs_already_is_not_taken_out(desk: Desk, services: Services, tenant: Tenant) -> None:
    payload = await desk.put(tenant)
    job = await desk.fetch()
    assert job is not None
    async with services.database.workspace(tenant.scope) as session:
        await services.queue.forget(session, tenant.scope, [payload.content_sha256])
        await services.queue.forget_workspace(session, tenant.scope)
    await desk.end(job)


@pytest.mark.parametrize("running", [0, 4])
async def test_asking_reads_a_few_blocks_with_ten_thousand_waiting(
    database_urls: DatabaseUrls, services: Services, tenant: Tenant, running: int
) -> None:
    mine = {"workspace_id": name(tenant)}
    async with services.database.workspace(tenant.scope) as session:
        await session.execute(TEN_THOUSAND, mine)
        await session.execute(START, {"jobs": running})
    owner = create_engine(database_urls.superuser, pool_size=1)
    async with owner.begin() as connection:
        await connection.execute(sa.text("ANALYZE procrastinate_jobs"))
    await owner.dispose()
    explain = sa.text(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {load_sql('app.jobs.queries', 'standing').text}")
    async with services.database.workspace(tenant.scope) as session:
        plan = (await session.execute(explain, {**mine, "lane": Lane.SMALL})).scalar_one()
    assert plan[0]["Plan"]["Shared Hit Blocks"] + plan[0]["Plan"]["Shared Read Blocks"] < 50
