"""Starts the jobs of lost workers again, and forgets the workers."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import procrastinate
import structlog
from procrastinate.exceptions import ConnectorException, UniqueViolation
from procrastinate.jobs import Job, Status

from app.jobs.payloads import TaskName

log = structlog.get_logger(__name__)

_MAX_STARTS = 10
"""A job that was lost with its worker this often is given up. Files are counted by themselves, and sooner."""

_LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)
"""At once by any clock: the queue's own "now" is that of this machine, which may be ahead of the database's."""


async def find_lost(app: procrastinate.App, stalled_after: timedelta) -> Sequence[Job]:
    """Return the running jobs whose worker has been silent for so long."""
    return list(await app.job_manager.get_stalled_jobs(seconds_since_heartbeat=stalled_after.total_seconds()))


async def start_again(app: procrastinate.App, job: Job) -> None:
    """Put a lost job back into the queue, in its old place."""
    if job.task_name != TaskName.INGEST and job.attempts >= _MAX_STARTS:
        await app.job_manager.finish_job(job, status=Status.FAILED, delete_job=False)
        return
    try:
        await app.job_manager.retry_job(job, retry_at=_LONG_AGO)
    except UniqueViolation:
        # The same work was asked for meanwhile and waits for the lock that this job still holds.
        await app.job_manager.finish_job(job, status=Status.ABORTED, delete_job=True)
    except ConnectorException:
        log.info("sweep.job_taken_by_another", job_id=job.id)


async def forget_workers(app: procrastinate.App, forgotten_after: timedelta) -> int:
    """Remove the rows of workers that have been silent for so long; return how many."""
    return len(list(await app.job_manager.prune_stalled_workers(forgotten_after.total_seconds())))
