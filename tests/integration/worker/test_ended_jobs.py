"""Jobs that ended without success: each leaves the queue, for work or for the dead letters, and nothing is lost."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import procrastinate
import pytest
import sqlalchemy as sa

from app.bootstrap import Services
from app.core.tenancy import WorkspaceScope
from app.db.engine import create_engine
from app.db.models import DeadLetter
from app.jobs.dead_letters import NOWHERE
from app.worker.sweep import sweep
from app.worker.timing import WorkerTiming
from tests.support.databases import DatabaseUrls
from tests.support.documents import Shelf, digest, prose
from tests.support.tenants import Tenant, Tenants

SECRET = "the launch code is 0000"
NO_SUCH_WORKSPACE = "3f2b1c9e-5a7d-4e86-9c1b-0d2e4f6a8b90"
INSERT = sa.text(
    "INSERT INTO procrastinate_jobs (queue_name, task_name, args, status, attempts, priority, lock) "
    "VALUES ('default', :task, :args, CAST(:status AS procrastinate_job_status), :attempts, :priority, :lock)"
).bindparams(sa.bindparam("args", type_=sa.JSON))


@pytest.fixture
async def queue(services: Services) -> AsyncIterator[procrastinate.App]:
    async with services.queue_app.open_async() as app:
        yield app


async def ended(
    services: Services,
    task: str,
    arguments: object,
    *,
    status: str = "failed",
    attempts: int = 1,
    priority: int = 0,
    lock: str | None = None,
) -> None:
    """Put a job into the queue that has ended."""
    job = {"task": task, "args": arguments, "status": status, "attempts": attempts, "priority": priority, "lock": lock}
    async with services.database.identity() as session:
        await session.execute(INSERT, job)


async def all_jobs(services: Services) -> Sequence[Mapping[str, Any]]:
    async with services.database.identity() as session:
        rows = await session.execute(sa.text("SELECT *, status::text AS state FROM procrastinate_jobs ORDER BY id"))
        return [dict(row) for row in rows.mappings()]


async def letters(services: Services, scope: WorkspaceScope) -> Sequence[DeadLetter]:
    async with services.database.workspace(scope) as session:
        return (await session.scalars(sa.select(DeadLetter).order_by(DeadLetter.created_at))).all()


@asynccontextmanager
async def refused_letters(urls: DatabaseUrls, tenant: Tenant) -> AsyncIterator[None]:
    """Let the database refuse every letter of a workspace for a while."""
    owner = create_engine(urls.owner, pool_size=1)
    async with owner.begin() as connection:
        condition = f"workspace_id <> '{tenant.workspace.id}'"
        await connection.execute(
            sa.text(f"ALTER TABLE dead_letters ADD CONSTRAINT refused CHECK ({condition}) NOT VALID")
        )
    try:
        yield
    finally:
        async with owner.begin() as connection:
            await connection.execute(sa.text("ALTER TABLE dead_letters DROP CONSTRAINT refused"))
        await owner.dispose()


def nowhere(services: Services, tenant: Tenant) -> WorkspaceScope:
    return services.workspaces.scope_for_job(NOWHERE, tenant.owner.id, "test")


def ingest_arguments(tenant: Tenant, sha256: str = "0f" * 32) -> dict[str, object]:
    ids = {"workspace_id": str(tenant.workspace.id), "user_id": str(tenant.owner.id)}
    return {**ids, "content_sha256": sha256, "size_bytes": 10}


@pytest.mark.parametrize(
    "case",
    [
        ("ingest", {"user_id": SECRET}, "invalid_payload", "user_id"),
        ("ingest", {"user_id": SECRET, "content_sha256": SECRET}, "invalid_payload", "content_sha256, user_id"),
        ("ingest", {SECRET: SECRET}, "invalid_payload", "fields that the task does not know"),
        ("remove_blobs", {"keys": []}, "invalid_payload", "keys"),
        ("translate", {"text": SECRET}, "unknown_task", "newer version"),
    ],
)
async def test_a_job_that_cannot_run_goes_to_the_dead_letters_of_its_workspace(
    services: Services, tenant: Tenant, queue: procrastinate.App, case: tuple[str, dict[str, object], str, str]
) -> None:
    task, changes, reason, told = case
    arguments = {**ingest_arguments(tenant), **changes}
    await ended(services, task, arguments)
    await sweep(services, queue, WorkerTiming())
    assert await all_jobs(services) == []
    (letter,) = await letters(services, tenant.scope)
    assert (letter.task, letter.reason, letter.attempts) == (task, reason, 1)
    assert told in letter.detail
    assert SECRET not in letter.detail
    assert letter.payload == arguments
    assert letter.content_sha256 is None, "there is no such content, so nobody who may read it"


@pytest.mark.parametrize("workspace_id", [None, 7, "", SECRET, [SECRET], NO_SUCH_WORKSPACE, str(NOWHERE)])
async def test_a_job_of_no_workspace_that_is_there_goes_to_the_letters_of_none(
    services: Services, tenant: Tenant, queue: procrastinate.App, workspace_id: object
) -> None:
    before = len(await letters(services, nowhere(services, tenant)))
    await ended(services, "translate", {"workspace_id": workspace_id})
    await sweep(services, queue, WorkerTiming())
    assert await all_jobs(services) == []
    assert len(await letters(services, nowhere(services, tenant))) == before + 1


async def test_a_letter_about_a_content_names_it(shelf: Shelf, tenant: Tenant, queue: procrastinate.App) -> None:
    data = prose("a")
    await shelf.upload(tenant.scope, "a.txt", data)
    await ended(shelf.services, "ingest", {**ingest_arguments(tenant, digest(data)), "user_id": SECRET})
    await sweep(shelf.services, queue, WorkerTiming())
    (letter,) = await letters(shelf.services, tenant.scope)
    assert letter.content_sha256 == digest(data)


async def test_a_removal_that_was_given_up_is_kept(
    services: Services, tenant: Tenant, queue: procrastinate.App
) -> None:
    arguments = {"workspace_id": str(tenant.workspace.id), "keys": ["a/b"]}
    await ended(services, "remove_blobs", arguments, attempts=11)
    await sweep(services, queue, WorkerTiming())
    (letter,) = await letters(services, tenant.scope)
    assert (letter.reason, letter.attempts, letter.payload) == ("blobs_not_removed", 11, arguments)
    assert await all_jobs(services) == []


@pytest.mark.parametrize("status", ["failed", "aborted"])
async def test_a_file_whose_job_failed_is_queued_again_in_its_turn(
    services: Services, tenant: Tenant, queue: procrastinate.App, status: str
) -> None:
    await ended(services, "ingest", ingest_arguments(tenant), status=status, priority=-7)
    await sweep(services, queue, WorkerTiming())
    (job,) = await all_jobs(services)
    assert (job["state"], job["priority"], job["queue_name"]) == ("todo", -7, "small")
    assert await letters(services, tenant.scope) == []


async def test_what_a_stopped_worker_put_back_already_is_not_queued_twice(
    shelf: Shelf, tenant: Tenant, queue: procrastinate.App
) -> None:
    data = prose("a")
    await shelf.upload(tenant.scope, "a.txt", data)
    (waiting,) = await shelf.jobs(tenant.scope)
    await ended(shelf.services, "ingest", waiting["args"], status="aborted")
    await sweep(shelf.services, queue, WorkerTiming())
    (left,) = await shelf.jobs(tenant.scope)
    assert (left["id"], left["status"]) == (waiting["id"], "todo")


async def test_an_interrupted_removal_goes_on(services: Services, tenant: Tenant, queue: procrastinate.App) -> None:
    arguments = {"workspace_id": str(tenant.workspace.id), "keys": ["a/b"]}
    await ended(services, "remove_blobs", arguments, status="aborted")
    await sweep(services, queue, WorkerTiming())
    (job,) = await all_jobs(services)
    assert (job["state"], job["task_name"], job["args"]) == ("todo", "remove_blobs", arguments)


async def test_what_somebody_cancelled_in_the_queue_is_gone(
    services: Services, tenant: Tenant, queue: procrastinate.App
) -> None:
    await ended(services, "ingest", ingest_arguments(tenant), status="cancelled")
    await sweep(services, queue, WorkerTiming())
    assert await all_jobs(services) == []
    assert await letters(services, tenant.scope) == []


async def test_work_that_was_lost_with_its_worker_too_often_is_given_up(
    services: Services, tenant: Tenant, queue: procrastinate.App
) -> None:
    arguments = {"workspace_id": str(tenant.workspace.id), "user_id": str(tenant.owner.id)}
    await ended(services, "reembed", arguments, status="doing", attempts=9, lock="a")
    await sweep(services, queue, WorkerTiming())
    assert [job["state"] for job in await all_jobs(services)] == ["todo"]
    await ended(services, "reembed", arguments, status="doing", attempts=10, lock="b")
    await sweep(services, queue, WorkerTiming())
    (letter,) = await letters(services, tenant.scope)
    assert (letter.task, letter.reason) == ("reembed", "worker_lost")


async def test_two_sweeps_at_once_write_one_letter(
    services: Services, tenant: Tenant, queue: procrastinate.App
) -> None:
    for _ in range(20):
        await ended(services, "translate", ingest_arguments(tenant))
    await asyncio.gather(*(sweep(services, queue, WorkerTiming()) for _ in range(3)))
    assert len(await letters(services, tenant.scope)) == 20


async def test_trouble_with_one_job_stops_no_other(
    services: Services, tenants: Tenants, queue: procrastinate.App, database_urls: DatabaseUrls
) -> None:
    broken, fine = await tenants.workspace(), await tenants.workspace()
    await ended(services, "translate", {"workspace_id": str(broken.workspace.id), "text": "x"})
    await ended(services, "translate", {"workspace_id": str(fine.workspace.id)})
    async with refused_letters(database_urls, broken):
        await sweep(services, queue, WorkerTiming())
        assert len(await letters(services, fine.scope)) == 1
        assert [job["args"]["workspace_id"] for job in await all_jobs(services)] == [str(broken.workspace.id)]
    await sweep(services, queue, WorkerTiming())
    assert len(await letters(services, broken.scope)) == 1


async def test_a_letter_goes_with_its_workspace(services: Services, tenant: Tenant, queue: procrastinate.App) -> None:
    await ended(services, "translate", ingest_arguments(tenant))
    await sweep(services, queue, WorkerTiming())
    assert len(await letters(services, tenant.scope)) == 1
    await services.workspaces.delete(tenant.scope)
    assert await letters(services, tenant.scope) == []


async def test_nothing_of_an_ended_job_stays_in_the_tables_of_the_queue(
    services: Services, tenant: Tenant, queue: procrastinate.App
) -> None:
    await ended(services, "translate", ingest_arguments(tenant))
    await sweep(services, queue, WorkerTiming())
    async with services.database.identity() as session:
        assert await session.scalar(sa.text("SELECT count(*) FROM procrastinate_events")) == 0
