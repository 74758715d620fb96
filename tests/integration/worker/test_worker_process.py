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
from app.db.models import Chunk, ChunkEmbedding, DeadLetter
from app.documents.types import Status, UploadResult
from app.ingestion.pipeline import MAX_ATTEMPTS
from app.jobs.fair_share import SMALL_BYTES
from tests.integration.worker.conftest import ROOT, Start, WorkerProcess
from tests.support.documents import Shelf, digest, long_text, prose
from tests.support.tenants import Tenant, Tenants

LONG = long_text(200)
# Large as a file and quick to process: most of it is empty lines.
HUGE = long_text(300) + (b" " * 79 + b"\n") * 13_200
assert len(HUGE) > SMALL_BYTES >= len(LONG)
PATIENCE = 60
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


async def state(shelf: Shelf, scope: WorkspaceScope, uploaded: UploadResult) -> Status:
    return (await shelf.services.documents.get(scope, uploaded.document_id)).status


async def letters(shelf: Shelf, scope: WorkspaceScope) -> Sequence[DeadLetter]:
    async with shelf.services.database.workspace(scope) as session:
        return (await session.scalars(sa.select(DeadLetter))).all()


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


async def test_the_command_leaves_processor_time_to_questions(start: Start, tmp_path: Path) -> None:
    worker = await start(MODEL_PATH=str(tmp_path / "models"))
    wanted = min(os.getpriority(os.PRIO_PROCESS, 0) + 10, 19)
    async with asyncio.timeout(PATIENCE):
        while os.getpriority(os.PRIO_PROCESS, worker.process.pid) != wanted:  # noqa: ASYNC110
            await asyncio.sleep(0.05)


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
    assert 0 < await shelf.count(tenant.scope, ChunkEmbedding) < 200
    assert await shelf.found(tenant.scope, "operator valve") == set()
    await start(0.0)
    assert await until(shelf, tenant.scope, uploaded) is Status.READY
    assert await chunk_table(shelf, tenant.scope) == await chunk_table(shelf, undisturbed.scope)
    (content,) = await shelf.contents(tenant.scope)
    assert content.fence == 2


async def test_a_file_that_kills_its_worker_each_time_is_given_up_and_the_others_finish(
    shelf: Shelf, tenant: Tenant, start: Start
) -> None:
    uploaded = await shelf.upload(tenant.scope, "book.md", LONG)
    for claims in range(1, MAX_ATTEMPTS + 2):
        worker = await start(30.0)
        async with asyncio.timeout(PATIENCE):
            while (await shelf.contents(tenant.scope))[0].fence < claims:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        await worker.stop()
    others = [await shelf.upload(tenant.scope, f"{n}.txt", prose(f"text {n}")) for n in range(3)]
    await start(0.0)
    assert await until(shelf, tenant.scope, uploaded) is Status.FAILED
    assert {await until(shelf, tenant.scope, other) for other in others} == {Status.READY}
    view = await shelf.services.documents.get(tenant.scope, uploaded.document_id)
    assert view.reason == "worker_lost"
    (letter,) = await letters(shelf, tenant.scope)
    assert (letter.task, letter.reason, letter.content_sha256) == ("ingest", "worker_lost", digest(LONG))


async def test_an_owner_lets_a_given_up_file_be_tried_again(shelf: Shelf, tenant: Tenant, start: Start) -> None:
    uploaded = await shelf.upload(tenant.scope, "book.md", LONG)
    await shelf.services.ingestion.give_up(tenant.scope, digest(LONG), reason="worker_lost", detail="It was given up.")
    (letter,) = await letters(shelf, tenant.scope)
    await start(0.0)
    await shelf.services.dead_letters.requeue(tenant.scope, letter.id)
    assert await until(shelf, tenant.scope, uploaded) is Status.READY


async def test_what_a_stopped_worker_began_goes_back_to_the_queue_from_every_lane(
    shelf: Shelf, tenant: Tenant, start: Start
) -> None:
    uploads = [await shelf.upload(tenant.scope, name, data) for name, data in (("book.md", LONG), ("huge.md", HUGE))]
    slow = await start(1.0)
    for uploaded in uploads:
        assert await until(shelf, tenant.scope, uploaded, chunks=1) is Status.EMBEDDING
    assert await stopped(slow) == 0
    assert {(content.status, content.attempts) for content in await shelf.contents(tenant.scope)} == {("queued", 0)}
    assert [job["status"] for job in await shelf.jobs(tenant.scope)].count("todo") == 2
    await start(0.0)
    assert {await until(shelf, tenant.scope, uploaded) for uploaded in uploads} == {Status.READY}
    assert await jobs_left(shelf, tenant.scope, fewer_than=1) == [], "those that the stop ended are gone too"


async def test_small_files_pass_huge_ones_that_hold_all_slots(shelf: Shelf, tenant: Tenant, start: Start) -> None:
    huge = [await shelf.upload(tenant.scope, f"{n}.md", HUGE + str(n).encode()) for n in range(3)]
    await start(2.0)
    for uploaded in huge[:2]:
        assert await until(shelf, tenant.scope, uploaded, chunks=1) is Status.EMBEDDING
    small = await shelf.upload(tenant.scope, "small.txt", prose("a"))
    assert await until(shelf, tenant.scope, small) is Status.READY
    assert [await state(shelf, tenant.scope, uploaded) for uploaded in huge] == [
        Status.EMBEDDING,
        Status.EMBEDDING,
        Status.QUEUED,
    ]


async def test_huge_files_give_way_to_another_workspace_and_are_finished(
    shelf: Shelf, tenant: Tenant, tenants: Tenants, start: Start
) -> None:
    undisturbed, other = await tenants.workspace(), await tenants.workspace()
    await shelf.add(undisturbed.scope, "0.md", HUGE + b"0")
    huge = [await shelf.upload(tenant.scope, f"{n}.md", HUGE + str(n).encode()) for n in range(2)]
    worker = await start(1.0)
    for uploaded in huge:
        assert await until(shelf, tenant.scope, uploaded, chunks=1) is Status.EMBEDDING
    guest = await shelf.upload(other.scope, "guest.md", HUGE)
    assert await until(shelf, other.scope, guest, chunks=1) is Status.EMBEDDING
    assert Status.READY not in [await state(shelf, tenant.scope, uploaded) for uploaded in huge]
    assert {await until(shelf, tenant.scope, uploaded) for uploaded in huge} == {Status.READY}
    assert await until(shelf, other.scope, guest) is Status.READY
    assert worker.log().count("ingestion.gave_way") >= 1
    (expected,) = await shelf.contents(undisturbed.scope)
    done = {content.chunk_count for content in await shelf.contents(tenant.scope)}
    assert done == {expected.chunk_count}
    assert await shelf.count(tenant.scope, Chunk) == 2 * expected.chunk_count


async def test_a_lane_that_ends_by_itself_ends_the_worker(shelf: Shelf, tenant: Tenant, start: Start) -> None:
    worker = await start(0.0)
    async with shelf.services.database.identity() as session:
        while not (await session.scalars(sa.text("DELETE FROM procrastinate_workers RETURNING id"))).all():  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    await shelf.upload(tenant.scope, "a.txt", prose("a"))
    assert await asyncio.wait_for(worker.process.wait(), PATIENCE) not in {0, None}


async def test_a_job_that_fits_no_payload_goes_to_the_dead_letters_and_stops_nothing(
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
    assert await jobs_left(shelf, tenant.scope, fewer_than=1) == []
    reasons = sorted(letter.reason for letter in await letters(shelf, tenant.scope))
    assert reasons == ["invalid_payload"] * 3 + ["unknown_task"]
    assert await stopped(worker) == 0
    assert worker.log().count("job.payload_invalid") == 3
    assert secret not in worker.log()


async def test_two_workers_share_the_queue_and_do_nothing_twice(shelf: Shelf, tenant: Tenant, start: Start) -> None:
    uploads = [await shelf.upload(tenant.scope, f"{n}.txt", prose(f"text {n}")) for n in range(8)]
    for _ in range(2):
        await start(0.1)
    assert {await until(shelf, tenant.scope, uploaded) for uploaded in uploads} == {Status.READY}
    assert {content.fence for content in await shelf.contents(tenant.scope)} == {1}, "each was claimed once"


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
