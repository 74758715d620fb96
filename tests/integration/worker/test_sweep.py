"""The housekeeping of the sweep: other models, unused bytes, forgotten workers."""

import asyncio
import io
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import procrastinate
import pytest
import sqlalchemy as sa

from app.bootstrap import Services
from app.core.errors import UnavailableError
from app.db.models import Workspace
from app.documents.storage import new_key
from app.jobs import dead_letters
from app.llm.embedders import Embedders
from app.worker.sweep import sweep
from app.worker.timing import WorkerTiming
from tests.support.documents import Shelf, prose
from tests.support.embedder import HashEmbedder
from tests.support.pipelines import OtherEmbedder
from tests.support.queues import know_tasks
from tests.support.tenants import Tenant, Tenants

AT_ONCE = WorkerTiming(unused_blob_after=timedelta(0))
OTHER_MODEL = "another-model"


@pytest.fixture
async def queue(services: Services) -> AsyncIterator[procrastinate.App]:
    async with services.queue_app.open_async() as app:
        yield app


async def set_model(services: Services, tenant: Tenant, model: str, embedder: str = "default") -> None:
    async with services.database.workspace(tenant.scope) as session:
        mine = Workspace.id == tenant.workspace.id
        await session.execute(sa.update(Workspace).where(mine).values(embedding_model=model, embedder=embedder))


async def store(services: Services, tenant: Tenant, key: str) -> None:
    """Store bytes that nothing refers to, noted as an upload does that dies afterwards."""
    await services.pending_blobs.expect(tenant.scope, key)
    await services.blobs.put(key, io.BytesIO(b"left behind"))


async def test_a_workspace_of_another_model_is_queued_once(
    shelf: Shelf, tenant: Tenant, queue: procrastinate.App
) -> None:
    await set_model(shelf.services, tenant, OTHER_MODEL)
    for _ in range(2):
        await sweep(shelf.services, queue, WorkerTiming())
    (job,) = await shelf.jobs(tenant.scope)
    assert (job["task_name"], job["status"]) == ("reembed", "todo")
    ids = {"workspace_id": str(tenant.workspace.id), "user_id": str(tenant.owner.id)}
    assert job["args"] == ids


@pytest.mark.parametrize("model", ["", None])
async def test_a_workspace_of_no_or_the_configured_model_is_left_alone(
    shelf: Shelf, tenant: Tenant, queue: procrastinate.App, model: str | None
) -> None:
    configured = shelf.services.embedders.configured.model_id
    await set_model(shelf.services, tenant, configured if model is None else model)
    await sweep(shelf.services, queue, WorkerTiming())
    assert await shelf.jobs(tenant.scope) == []


class Unanswered(OtherEmbedder):
    """A remote model whose length of vectors, and so its id, is not known yet."""

    @property
    def model_id(self) -> str:  # type: ignore[override]  # the seam has a property, the doubles a constant
        raise UnavailableError("not answered yet")


@pytest.mark.parametrize(
    ("remote", "queued"),
    [
        (OtherEmbedder(), {("default", "hash-384"), ("local", "other-128"), ("local", "left"), ("remote", "hash-384")}),
        (Unanswered(), {("local", "other-128"), ("local", "left")}),
        (None, {("default", "other-128"), ("local", "other-128"), ("local", "left")}),
    ],
    ids=["remote", "unanswered", "none"],
)
async def test_workspaces_are_queued_by_their_own_choice_as_far_as_it_can_be_followed(
    shelf: Shelf,
    tenants: Tenants,
    queue: procrastinate.App,
    remote: HashEmbedder | None,
    queued: set[tuple[str, str]],
) -> None:
    kinds = [(choice, model) for choice in ("default", "local", "remote") for model in ("hash-384", "other-128")]
    made = {kind: await tenants.workspace() for kind in [*kinds, ("local", "left"), ("local", "")]}
    for (choice, model), tenant in made.items():
        await set_model(shelf.services, tenant, model, choice)
    await sweep(replace(shelf.services, embedders=Embedders(HashEmbedder(), remote)), queue, WorkerTiming())
    assert {kind for kind, tenant in made.items() if await shelf.jobs(tenant.scope)} == queued


async def test_a_workspace_that_is_embedded_at_the_moment_is_not_queued_again(
    shelf: Shelf, tenant: Tenant, queue: procrastinate.App
) -> None:
    await set_model(shelf.services, tenant, OTHER_MODEL)
    await sweep(shelf.services, queue, WorkerTiming())
    worker_id = await queue.job_manager.register_worker()
    assert await queue.job_manager.fetch_job(["background"], worker_id) is not None
    await sweep(shelf.services, queue, WorkerTiming())
    assert [job["status"] for job in await shelf.jobs(tenant.scope)] == ["doing"]


async def test_a_workspace_whose_embedding_was_given_up_waits_for_its_owner(
    shelf: Shelf, tenant: Tenant, queue: procrastinate.App
) -> None:
    await set_model(shelf.services, tenant, OTHER_MODEL)
    payload = {"workspace_id": str(tenant.workspace.id), "user_id": str(tenant.owner.id)}
    async with shelf.services.database.workspace(tenant.scope) as session:
        await dead_letters.bury(
            session,
            tenant.scope,
            task="reembed",
            payload=payload,
            content_sha256=None,
            reason="worker_lost",
            detail="It was given up.",
            attempts=10,
        )
    await sweep(shelf.services, queue, WorkerTiming())
    assert await shelf.jobs(tenant.scope) == []


async def test_bytes_that_nothing_refers_to_are_removed_and_others_stay(
    shelf: Shelf, tenant: Tenant, queue: procrastinate.App
) -> None:
    await shelf.upload(tenant.scope, "a.txt", prose("a"))
    (content,) = await shelf.contents(tenant.scope)
    await store(shelf.services, tenant, new_key(tenant.scope.workspace_id))
    async with shelf.services.database.workspace(tenant.scope) as session:
        await shelf.services.pending_blobs.condemn(session, tenant.scope, [content.blob_key])
    assert len(shelf.stored(tenant.scope)) == 2
    await sweep(shelf.services, queue, WorkerTiming())
    assert len(shelf.stored(tenant.scope)) == 2, "they are young: an upload may be on its way"
    found = await sweep(shelf.services, queue, AT_ONCE)
    assert found["unused_blobs"] >= 1
    assert shelf.stored(tenant.scope) == {content.blob_key}
    assert (await sweep(shelf.services, queue, AT_ONCE))["unused_blobs"] == 0


async def test_bytes_of_a_deleted_workspace_are_removed(shelf: Shelf, tenant: Tenant, queue: procrastinate.App) -> None:
    await store(shelf.services, tenant, new_key(tenant.scope.workspace_id))
    await shelf.services.workspaces.delete(tenant.scope)
    await sweep(shelf.services, queue, AT_ONCE)
    assert shelf.stored(tenant.scope) == set()


async def test_trouble_in_one_workspace_stops_neither_the_others_nor_the_next_part(
    shelf: Shelf, tenants: Tenants, queue: procrastinate.App, monkeypatch: pytest.MonkeyPatch
) -> None:
    some = sorted([await tenants.workspace() for _ in range(3)], key=lambda each: each.workspace.id)
    for tenant in some:
        await set_model(shelf.services, tenant, OTHER_MODEL)
    real = shelf.services.queue.reembed

    async def fail_for_the_first(session: object, payload: object, **arguments: object) -> None:
        if getattr(payload, "workspace_id", None) == some[0].workspace.id:
            raise RuntimeError("no")
        await real(session, payload, **arguments)  # type: ignore[arg-type]  # passed on as given

    monkeypatch.setattr(shelf.services.queue, "reembed", fail_for_the_first)
    await sweep(shelf.services, queue, WorkerTiming())
    assert [len(await shelf.jobs(tenant.scope)) for tenant in some] == [0, 1, 1]


async def test_workers_that_are_long_gone_are_forgotten(services: Services, queue: procrastinate.App) -> None:
    gone, silent = [await queue.job_manager.register_worker() for _ in range(2)]
    ages = {gone: timedelta(minutes=11), silent: timedelta(minutes=9)}
    async with services.database.identity() as session:
        for worker_id, age in ages.items():
            await session.execute(
                sa.text("UPDATE procrastinate_workers SET last_heartbeat = now() - :age WHERE id = :id"),
                {"age": age, "id": worker_id},
            )
    await sweep(services, queue, WorkerTiming())
    async with services.database.identity() as session:
        assert (await session.scalars(sa.text("SELECT id FROM procrastinate_workers"))).all() == [silent]


async def test_a_job_of_a_deleted_workspace_ends_without_a_trace(
    shelf: Shelf, tenants: Tenants, queue: procrastinate.App
) -> None:
    tenant = await tenants.workspace()
    await shelf.upload(tenant.scope, "a.txt", prose("a"))
    worker_id = await queue.job_manager.register_worker()
    running = await queue.job_manager.fetch_job(["small"], worker_id)
    await shelf.upload(tenant.scope, "b.txt", prose("b"))
    await shelf.services.workspaces.delete(tenant.scope)
    left = await shelf.jobs(tenant.scope)
    assert running is not None
    assert [(job["task_name"], job["status"]) for job in left if job["task_name"] == "ingest"] == [("ingest", "doing")]
    await queue.job_manager.retry_job(running)
    await sweep(shelf.services, queue, WorkerTiming(left_behind_after=timedelta(0)))
    await asyncio.wait_for(run_all(shelf.services, queue), 60)
    assert await shelf.jobs(tenant.scope) == []
    assert await shelf.contents(tenant.scope) == []


async def run_all(services: Services, app: procrastinate.App) -> None:
    """Run every job that waits, as a worker does."""
    know_tasks(app)
    context = {"services": services, "timing": WorkerTiming()}
    await app.run_worker_async(
        wait=False, delete_jobs="successful", additional_context=context, install_signal_handlers=False
    )
