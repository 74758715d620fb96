"""The jobs that a worker runs. The queue owns retries; what a job does may be done twice."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

import procrastinate
import structlog

from app.bootstrap import Services
from app.core.ids import UserId, WorkspaceId
from app.core.tenancy import WorkspaceScope
from app.jobs.payloads import IngestPayload, RemoveBlobsPayload, TaskName
from app.jobs.queue import STALLED_AFTER
from app.worker.sweep import sweep

log = structlog.get_logger(__name__)

_RETRY = procrastinate.RetryStrategy(max_attempts=3, exponential_wait=2)
_LEFT_BEHIND_AFTER = timedelta(minutes=5)


def register(app: procrastinate.App) -> None:
    """Teach a queue's client the jobs that it can run."""
    app.task(name=TaskName.INGEST.value, pass_context=True, retry=_RETRY)(ingest)
    app.task(name=TaskName.REMOVE_BLOBS.value, pass_context=True, retry=_RETRY)(remove_blobs)
    sweeper = app.task(name="sweep", pass_context=True, queueing_lock="sweep", lock="sweep")(sweep_task)
    app.periodic(cron="* * * * *")(sweeper)


def _services(context: procrastinate.JobContext) -> Services:
    services = context.additional_context["services"]
    if not isinstance(services, Services):
        raise TypeError("the worker was started without its services")
    return services


def _scope(context: procrastinate.JobContext, workspace_id: UUID, user_id: UUID) -> WorkspaceScope:
    services = _services(context)
    return services.workspaces.scope_for_job(WorkspaceId(workspace_id), UserId(user_id), f"job:{context.job.id}")


async def ingest(context: procrastinate.JobContext, /, **arguments: Any) -> None:
    """Make one content searchable."""
    payload = IngestPayload.model_validate(arguments)
    services = _services(context)
    scope = _scope(context, payload.workspace_id, payload.user_id)
    last_try = context.job.attempts >= (_RETRY.max_attempts or 0) - 1
    try:
        finished = await services.ingestion.run(scope, payload.content_sha256)
    except Exception:
        if last_try:
            await services.ingestion.give_up(scope, payload.content_sha256)
        raise
    if finished is not None:
        log.info(
            "ingestion.finished",
            workspace_id=str(payload.workspace_id),
            content=payload.content_sha256,
            status=finished.status,
            chunks=finished.chunks,
            reason=finished.reason,
        )


async def remove_blobs(context: procrastinate.JobContext, /, **arguments: Any) -> None:
    """Remove stored bytes whose rows were deleted."""
    payload = RemoveBlobsPayload.model_validate(arguments)
    await _services(context).blobs.remove(payload.keys)


async def sweep_task(context: procrastinate.JobContext, timestamp: int) -> None:  # noqa: ARG001  (given by the schedule)
    """Start again what a lost worker left behind."""
    found: Mapping[str, int] = await sweep(
        _services(context), context.app, stalled_after=STALLED_AFTER, left_behind_after=_LEFT_BEHIND_AFTER
    )
    if any(found.values()):
        log.warning("sweep.found", **found)
