import asyncio
import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from app.core.tenancy import WorkspaceScope
from app.db.models import Chunk
from app.documents.types import Status, UploadResult
from tests.integration.worker.conftest import ROOT, Start, WorkerProcess
from tests.support.documents import Shelf, digest, long_text, prose
from tests.support.tenants import Tenant, Tenants

LONG = long_text(200)
PATIENCE = 90
"""Seconds after which something is taken never to happen, on a busy machine too."""


async def until(shelf: Shelf, scope: WorkspaceScope, uploaded: UploadResult, *, chunks: int | None = None) -> Status:
    """Wait until a document has ended, or until so many of its chunks are done."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        view = await shelf.services.documents.get(scope, uploaded.document_id)
        if view.status.final or (chunks is not None and view.status is Status.EMBEDDING and view.done >= chunks):
            return view.status
        await asyncio.sleep(0.05)
    raise AssertionError(f"still {view.status}, {view.done} of {view.total}")


async def stopped(worker: WorkerProcess) -> int:
    """Tell a worker to stop and return its exit code."""
    worker.process.send_signal(signal.SIGTERM)
    return await asyncio.wait_for(worker.process.wait(), PATIENCE)


async def jobs_left(shelf: Shelf, scope: WorkspaceScope, *, fewer_than: int) -> Sequence[Mapping[str, Any]]:
    """Return the jobs as soon as they are fewer: what a job did is committed before its row is taken away."""
    async with asyncio.timeout(PATIENCE):
        while len(jobs := await shelf.jobs(scope)) >= fewer_than:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    return jobs


async def chunk_table(shelf: Shelf, scope: WorkspaceScope) -> Sequence[tuple[object, ...]]:
    columns = (Chunk.id, Chunk.ordinal, Chunk.start_offset, Chunk.end_offset, Chunk.text)
    async with shelf.services.database.workspace(scope) as session:
        rows = await session.execute(sa.select(*columns).order_by(Chunk.ordinal))
        return [tuple(row) for row in rows]


async def test_the_command_makes_an_upload_searchable_and_stops_when_told(
    shelf: Shelf, tenant: Tenant, start: Start, tmp_path: Path
) -> None:
    uploaded = await shelf.upload(tenant.scope, "a.txt", prose("the barometer"))
    worker = await start(MODEL_PATH=str(tmp_path / "models"))
    assert await until(shelf, tenant.scope, uploaded) is Status.READY
    assert await jobs_left(shelf, tenant.scope, fewer_than=1) == []
    assert await stopped(worker) == 0
    assert "worker.ready" in worker.log()
    assert "barometer" not in worker.log()


async def test_what_a_killed_worker_began_another_ends_with_the_same_chunks(
    shelf: Shelf, tenant: Tenant, tenants: Tenants, start: Start
) -> None:
    undisturbed = await tenants.workspace()
    await shelf.add(undisturbed.scope, "book.md", LONG)
    uploaded = await shelf.upload(tenant.scope, "book.md", LONG)
    slow = await start(1.0)
    assert await until(shelf, tenant.scope, uploaded, chunks=64) is Status.EMBEDDING
    slow.process.kill()
    await slow.process.wait()
    assert 0 < await shelf.count(tenant.scope, Chunk) < 200
    assert await shelf.found(tenant.scope, "operator valve") == set()
    await start(0.0)
    assert await until(shelf, tenant.scope, uploaded) is Status.READY
    assert await chunk_table(shelf, tenant.scope) == await chunk_table(shelf, undisturbed.scope)
    (content,) = await shelf.contents(tenant.scope)
    assert content.attempts == 2


async def test_a_file_that_kills_its_worker_each_time_is_given_up(shelf: Shelf, tenant: Tenant, start: Start) -> None:
    uploaded = await shelf.upload(tenant.scope, "book.md", LONG)
    for attempt in range(3):
        worker = await start(30.0)
        async with asyncio.timeout(PATIENCE):
            while (await shelf.contents(tenant.scope))[0].attempts == attempt:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        await worker.stop()
    await start(0.0)
    assert await until(shelf, tenant.scope, uploaded) is Status.FAILED
    (content,) = await shelf.contents(tenant.scope)
    assert content.reason == "worker_lost"


async def test_what_a_stopped_worker_began_goes_back_to_the_queue(shelf: Shelf, tenant: Tenant, start: Start) -> None:
    uploaded = await shelf.upload(tenant.scope, "book.md", LONG)
    slow = await start(1.0)
    assert await until(shelf, tenant.scope, uploaded, chunks=64) is Status.EMBEDDING
    assert await stopped(slow) == 0
    (content,) = await shelf.contents(tenant.scope)
    assert (content.status, content.attempts) == ("queued", 0)
    assert "todo" in {job["status"] for job in await shelf.jobs(tenant.scope)}
    await start(0.0)
    assert await until(shelf, tenant.scope, uploaded) is Status.READY


async def test_a_job_that_fits_no_payload_ends_failed_and_stops_nothing(
    shelf: Shelf, tenant: Tenant, start: Start
) -> None:
    secret = "the launch code is 0000"
    workspace_id = str(tenant.workspace.id)
    poison: list[tuple[str, dict[str, object]]] = [
        ("ingest", {"workspace_id": workspace_id, "content_sha256": secret, "user_id": "x"}),
        ("ingest", {"workspace_id": workspace_id, secret: secret}),
        ("remove_blobs", {"workspace_id": workspace_id, "keys": [], "note": secret}),
        ("no_such_task", {"workspace_id": workspace_id, "text": secret}),
    ]
    async with shelf.services.database.workspace(tenant.scope) as session:
        for task, arguments in poison:
            statement = sa.text(
                "INSERT INTO procrastinate_jobs (queue_name, task_name, args) VALUES ('default', :task, :args)"
            ).bindparams(sa.bindparam("args", type_=sa.JSON))
            await session.execute(statement, {"task": task, "args": arguments})
    uploaded = await shelf.upload(tenant.scope, "a.txt", prose("a"))
    worker = await start(0.0)
    assert await until(shelf, tenant.scope, uploaded) is Status.READY
    jobs = await jobs_left(shelf, tenant.scope, fewer_than=len(poison) + 1)
    assert [(job["status"], job["attempts"]) for job in jobs] == [("failed", 1)] * len(poison)
    assert await stopped(worker) == 0
    assert worker.log().count("job.payload_invalid") == 3
    assert secret not in worker.log()


async def test_two_workers_share_the_queue_and_do_nothing_twice(shelf: Shelf, tenant: Tenant, start: Start) -> None:
    uploads = [await shelf.upload(tenant.scope, f"{n}.txt", prose(f"text {n}")) for n in range(8)]
    for _ in range(2):
        await start(0.1)
    assert {await until(shelf, tenant.scope, uploaded) for uploaded in uploads} == {Status.READY}
    assert {content.attempts for content in await shelf.contents(tenant.scope)} == {1}


async def test_deleted_documents_lose_their_bytes(shelf: Shelf, tenant: Tenant, start: Start) -> None:
    data = prose("a")
    uploaded = await shelf.add(tenant.scope, "a.txt", data)
    kept = await shelf.upload(tenant.scope, "b.txt", prose("b"))
    await shelf.services.documents.delete(tenant.scope, uploaded.document_id)
    await start(0.0)
    assert await until(shelf, tenant.scope, kept) is Status.READY
    async with asyncio.timeout(PATIENCE):
        while len(shelf.stored(tenant.scope)) > 1:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    (content,) = await shelf.contents(tenant.scope)
    assert (content.sha256 == digest(data), shelf.stored(tenant.scope)) == (False, {content.blob_key})


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process with the one that started it")
async def test_no_worker_outlives_the_tests_that_started_it() -> None:
    script = (
        "import subprocess, time; from tests.support.bound import bound\n"
        "subprocess.Popen(bound('-c', 'import time; print(1, flush=True); time.sleep(600)')); time.sleep(600)"
    )
    run = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        script,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=asyncio.subprocess.PIPE,
    )
    assert run.stdout is not None
    assert await asyncio.wait_for(run.stdout.readline(), PATIENCE) == b"1\n"
    run.kill()
    # The worker holds the other end of the pipe for as long as it lives.
    assert await asyncio.wait_for(run.stdout.read(), PATIENCE) == b""
    await run.wait()
