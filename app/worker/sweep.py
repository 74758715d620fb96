"""Finds work that a lost worker left behind and starts it again."""

import asyncio
from collections.abc import Mapping
from datetime import timedelta

import procrastinate
import structlog
from procrastinate.exceptions import ConnectorException, UniqueViolation
from procrastinate.jobs import Job, Status
from sqlalchemy import text

from app.bootstrap import Services
from app.core.ids import UserId, WorkspaceId
from app.jobs.payloads import IngestPayload
from app.worker.timing import WorkerTiming

log = structlog.get_logger(__name__)

_UNFINISHED = text("SELECT workspace_id, sha256, created_by FROM find_unfinished_contents(:silent_for)")


async def sweep_forever(services: Services, app: procrastinate.App, timing: WorkerTiming) -> None:
    """Sweep now and then, in each worker and not as a job: a job would wait for the slots that lost jobs hold."""
    while True:
        try:
            found = await sweep(
                services, app, stalled_after=timing.stalled_after, left_behind_after=timing.left_behind_after
            )
            if any(found.values()):
                log.warning("sweep.found", **found)
        except Exception:
            log.exception("sweep.failed")
        await asyncio.sleep(timing.sweep_every.total_seconds())


async def sweep(
    services: Services, app: procrastinate.App, *, stalled_after: timedelta, left_behind_after: timedelta
) -> Mapping[str, int]:
    """Return how many jobs were started again, by cause.

    Args:
        services: The worker's services.
        app: The opened queue.
        stalled_after: Silence after which a worker counts as lost.
        left_behind_after: Age of the last progress after which a content without an end is queued again.
    """
    stalled = list(await app.job_manager.get_stalled_jobs(seconds_since_heartbeat=stalled_after.total_seconds()))
    for job in stalled:
        await _start_again(app, job)
    left_behind = await _requeue_left_behind(services, left_behind_after)
    return {"stalled_jobs": len(stalled), "left_behind": left_behind}


async def _start_again(app: procrastinate.App, job: Job) -> None:
    try:
        await app.job_manager.retry_job(job)
    except UniqueViolation:
        # The same work was asked for meanwhile and waits for the lock that this job still holds.
        await app.job_manager.finish_job(job, status=Status.ABORTED, delete_job=True)
    except ConnectorException:
        log.info("sweep.job_taken_by_another", job_id=job.id)


async def _requeue_left_behind(services: Services, silent_for: timedelta) -> int:
    async with services.database.identity() as session:
        rows = (await session.execute(_UNFINISHED, {"silent_for": silent_for})).all()
    for row in rows:
        scope = services.workspaces.scope_for_job(WorkspaceId(row.workspace_id), UserId(row.created_by), "sweep")
        payload = IngestPayload(workspace_id=row.workspace_id, content_sha256=row.sha256, user_id=row.created_by)
        async with services.database.workspace(scope) as session:
            await services.queue.ingest(session, payload)
    return len(rows)
