"""The jobs that a worker runs. What a job does may be done twice."""

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, TypeVar
from uuid import UUID

import procrastinate
import structlog
from pydantic import BaseModel, ValidationError

from app.bootstrap import Services
from app.core.ids import UserId, WorkspaceId
from app.core.tenancy import WorkspaceScope
from app.documents.storage import finish_though_cancelled
from app.jobs.payloads import IngestPayload, RemoveBlobsPayload, TaskName

log = structlog.get_logger(__name__)

_REMOVAL_TRIES = 10
_Payload = TypeVar("_Payload", bound=BaseModel)


class InvalidPayloadError(Exception):
    """A job's arguments are not those of its task; running it again would not help."""


class _RemovalRetry(procrastinate.BaseRetryStrategy):
    """Tries again with doubling distance; the last try comes after half an hour without the store."""

    def get_retry_decision(
        self, *, exception: BaseException, job: procrastinate.jobs.Job
    ) -> procrastinate.RetryDecision | None:
        if isinstance(exception, InvalidPayloadError) or job.attempts >= _REMOVAL_TRIES:
            return None
        return procrastinate.RetryDecision(retry_in={"seconds": 2 ** (job.attempts + 1)})


def register(app: procrastinate.App) -> None:
    """Teach a queue's client the jobs that it can run."""
    # Without retries of the queue's own: these fail, and keep the lock, when the same work was asked for meanwhile.
    app.task(name=TaskName.INGEST.value, pass_context=True)(ingest)
    app.task(name=TaskName.REMOVE_BLOBS.value, pass_context=True, retry=_RemovalRetry())(remove_blobs)


async def ingest(context: procrastinate.JobContext, /, **arguments: Any) -> None:
    """Make one content searchable. What fails for a reason of ours is queued again, with growing distance."""
    payload = _validated(IngestPayload, context, arguments)
    services = _services(context)
    scope = _scope(context, payload.workspace_id, payload.user_id)
    try:
        finished = await services.ingestion.run(scope, payload.content_sha256)
    except asyncio.CancelledError:
        await finish_though_cancelled(_queue_again(services, scope, payload, after=timedelta(0)))
        raise
    except Exception:
        log.exception("ingestion.interrupted", **_ids(payload))
        attempts = await services.ingestion.after_error(scope, payload.content_sha256)
        if attempts is not None:
            await _queue_again(services, scope, payload, after=timedelta(seconds=2**attempts))
        return
    if finished is not None:
        log.info(
            "ingestion.finished",
            **_ids(payload),
            status=finished.status,
            chunks=finished.chunks,
            reason=finished.reason,
        )


async def remove_blobs(context: procrastinate.JobContext, /, **arguments: Any) -> None:
    """Remove stored bytes whose rows were deleted."""
    payload = _validated(RemoveBlobsPayload, context, arguments)
    await _services(context).blobs.remove(payload.keys)


async def _queue_again(services: Services, scope: WorkspaceScope, payload: IngestPayload, *, after: timedelta) -> None:
    async with services.database.workspace(scope) as session:
        await services.queue.ingest(session, payload, after=after)


def _validated(model: type[_Payload], context: procrastinate.JobContext, arguments: Mapping[str, object]) -> _Payload:
    try:
        return model.model_validate(arguments)
    except ValidationError as error:
        broken = [".".join(map(str, each["loc"])) for each in error.errors() if each["type"] != "extra_forbidden"]
        log.warning("job.payload_invalid", task=context.job.task_name, job_id=context.job.id, fields=broken)
        raise InvalidPayloadError from None


def _services(context: procrastinate.JobContext) -> Services:
    services = context.additional_context["services"]
    if not isinstance(services, Services):
        raise TypeError("the worker was started without its services")
    return services


def _scope(context: procrastinate.JobContext, workspace_id: UUID, user_id: UUID) -> WorkspaceScope:
    services = _services(context)
    return services.workspaces.scope_for_job(WorkspaceId(workspace_id), UserId(user_id), f"job:{context.job.id}")


def _ids(payload: IngestPayload) -> dict[str, str]:
    return {"workspace_id": str(payload.workspace_id), "content": payload.content_sha256}
