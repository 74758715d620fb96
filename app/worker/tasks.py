"""The jobs that a worker runs. What a job does may be done twice."""

import asyncio
import random
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, TypeVar, assert_never
from uuid import UUID

import procrastinate
import structlog
from pydantic import ValidationError

from app.bootstrap import Services
from app.core.errors import UnavailableError
from app.core.ids import UserId, WorkspaceId
from app.core.tenancy import WorkspaceScope
from app.documents.storage import finish_though_cancelled
from app.ingestion.types import Away, Busy, Finished, Yielded
from app.jobs.fair_share import Lane, lane_of
from app.jobs.payloads import (
    ArrangeVectorsPayload,
    IngestPayload,
    Payload,
    ReembedPayload,
    RemoveBlobsPayload,
    RemoveOldVectorsPayload,
    TaskName,
    wrong_fields,
)
from app.worker.timing import WorkerTiming
from app.worker.turn import Turn

log = structlog.get_logger(__name__)

_AT_ONCE = timedelta(0)
# 5, 10, 20, 40, 60, 60, ... seconds while a part is away, spread so that a thousand files do not come back at once.
_FIRST_WAIT, _LONGEST_WAIT = 5.0, 60.0
_WAIT_JITTER = 0.25
_REMOVAL_TRIES = 10
_TRY_REEMBEDDING_AGAIN_AFTER = timedelta(minutes=5)
# A question that began before the change of models still compares with the old vectors.
_OLD_VECTORS_STAY = timedelta(minutes=5)
_TRY_ARRANGING_AGAIN_AFTER = timedelta(minutes=5)
_NOBODY = UserId(UUID(int=0))
_Payload = TypeVar("_Payload", bound=Payload)


class InvalidPayloadError(Exception):
    """A job's arguments are not those of its task; the sweep gives it up, since running it again would not help."""


class RemovalFailedError(Exception):
    """Stored bytes could not be removed; `again_at` is when to try next, by the database's clock."""

    def __init__(self, again_at: datetime) -> None:
        super().__init__("stored bytes could not be removed")
        self.again_at = again_at


class _RemovalRetry(procrastinate.BaseRetryStrategy):
    """Tries again with doubling distance; the last try comes after half an hour without the store."""

    def get_retry_decision(
        self, *, exception: BaseException, job: procrastinate.jobs.Job
    ) -> procrastinate.RetryDecision | None:
        if isinstance(exception, InvalidPayloadError) or job.attempts >= _REMOVAL_TRIES:
            return None
        if isinstance(exception, RemovalFailedError):
            return procrastinate.RetryDecision(retry_at=exception.again_at)
        # Without the database's clock, that of this machine is better than none.
        return procrastinate.RetryDecision(retry_in={"seconds": _removal_seconds(job)})


def register(app: procrastinate.App) -> None:
    """Teach a queue's client the jobs that it can run."""
    # Without retries of the queue's own: these fail, and keep the lock, when the same work was asked for meanwhile.
    app.task(name=TaskName.INGEST.value, pass_context=True)(ingest)
    app.task(name=TaskName.REEMBED.value, pass_context=True)(reembed)
    app.task(name=TaskName.REMOVE_OLD_VECTORS.value, pass_context=True)(remove_old_vectors)
    app.task(name=TaskName.ARRANGE_VECTORS.value, pass_context=True)(arrange_vectors)
    app.task(name=TaskName.REMOVE_BLOBS.value, pass_context=True, retry=_RemovalRetry())(remove_blobs)


async def ingest(context: procrastinate.JobContext, /, **arguments: Any) -> None:
    """Make one content searchable. What fails for a reason of ours is queued again, with growing distance."""
    payload = _validated(IngestPayload, context, arguments)
    services, scope = _services(context), _scope(context, payload.workspace_id, payload.user_id)
    turn = _turn(context, scope, lane_of(payload.size_bytes))
    try:
        end = await services.ingestion.run(scope, payload.content_sha256, turn.others_wait)
    except asyncio.CancelledError:
        await finish_though_cancelled(_ingest_again(context, scope, payload, _AT_ONCE))
        raise
    except UnavailableError as error:
        log.warning("ingestion.not_begun", **_ids(payload), problem=error.detail)
        end = Away(progressed=False)
    except Exception:
        log.exception("ingestion.interrupted", **_ids(payload))
        attempts = await services.ingestion.after_error(scope, payload.content_sha256)
        if attempts is not None:
            await _ingest_again(context, scope, payload, timedelta(seconds=2**attempts))
        return
    await _follow_up(context, scope, payload, end)


async def reembed(context: procrastinate.JobContext, /, **arguments: Any) -> None:
    """Bring a workspace to the embedding model of its choice; what fails is tried again later."""
    payload = _validated(ReembedPayload, context, arguments)
    services, scope = _services(context), _scope(context, payload.workspace_id, payload.user_id)
    turn = _turn(context, scope, Lane.BACKGROUND)
    try:
        end = await services.reembedding.run(scope, turn.others_wait)
    except asyncio.CancelledError:
        await finish_though_cancelled(_reembed_again(services, scope, payload, _AT_ONCE))
        raise
    except Exception:
        log.exception("reembedding.interrupted", workspace_id=str(payload.workspace_id))
        await _reembed_again(services, scope, payload, _TRY_REEMBEDDING_AGAIN_AFTER)
        return
    if isinstance(end, Yielded):
        await _reembed_again(services, scope, payload, _AT_ONCE)
        return
    # Also when there was nothing to do: the run that changed the models may have ended before it said this.
    old = RemoveOldVectorsPayload(workspace_id=payload.workspace_id, user_id=payload.user_id)
    cells = ArrangeVectorsPayload(workspace_id=payload.workspace_id, user_id=payload.user_id)
    async with services.database.workspace(scope) as session:
        await services.queue.remove_old_vectors(session, old, after=_OLD_VECTORS_STAY)
        await services.queue.arrange_vectors(session, cells)


async def remove_old_vectors(context: procrastinate.JobContext, /, **arguments: Any) -> None:
    """Remove the vectors of models that a workspace has left, and the cells that these were in."""
    payload = _validated(RemoveOldVectorsPayload, context, arguments)
    services, scope = _services(context), _scope(context, payload.workspace_id, payload.user_id)
    try:
        await services.reembedding.remove_old_vectors(scope)
        await services.cells.remove_unused(scope)
    except UnavailableError as error:
        log.warning("reembedding.vectors_not_removed", workspace_id=str(payload.workspace_id), problem=error.detail)
        async with services.database.workspace(scope) as session:
            await services.queue.remove_old_vectors(session, payload, after=_OLD_VECTORS_STAY)


async def arrange_vectors(context: procrastinate.JobContext, /, **arguments: Any) -> None:
    """Lay the vectors of a workspace out in cells as far as that is due; what fails is tried again later."""
    payload = _validated(ArrangeVectorsPayload, context, arguments)
    services, scope = _services(context), _scope(context, payload.workspace_id, payload.user_id)
    turn = _turn(context, scope, Lane.BACKGROUND)
    try:
        done = await services.cells.arrange(scope, turn.others_wait)
    except asyncio.CancelledError:
        await finish_though_cancelled(_arrange_again(services, scope, payload, _AT_ONCE))
        raise
    except Exception:
        log.exception("retrieval.arranging_interrupted", workspace_id=str(payload.workspace_id))
        await _arrange_again(services, scope, payload, _TRY_ARRANGING_AGAIN_AFTER)
        return
    if not done:
        await _arrange_again(services, scope, payload, _AT_ONCE)


async def remove_blobs(context: procrastinate.JobContext, /, **arguments: Any) -> None:
    """Remove stored bytes whose rows were deleted."""
    payload = _validated(RemoveBlobsPayload, context, arguments)
    services, scope = _services(context), _scope(context, payload.workspace_id, _NOBODY)
    try:
        await services.pending_blobs.sweep(scope, payload.keys)
    except UnavailableError as error:
        async with services.database.workspace(scope) as session:
            again_at = await services.queue.moment(session, timedelta(seconds=_removal_seconds(context.job)))
        raise RemovalFailedError(again_at) from error


async def _follow_up(
    context: procrastinate.JobContext,
    scope: WorkspaceScope,
    payload: IngestPayload,
    end: Finished | Yielded | Busy | Away | None,
) -> None:
    """Log how a run ended, or queue what is left to do."""
    match end:
        case None:
            return
        case Finished():
            log.info("ingestion.finished", **_ids(payload), status=end.status, chunks=end.chunks, reason=end.reason)
        case Busy():
            await _ingest_again(context, scope, payload, end.lasts)
        case Away():
            outages = 0 if end.progressed else payload.outages
            again = payload.model_copy(update={"outages": outages + 1})
            await _ingest_again(context, scope, again, wait_after(outages))
        case Yielded():
            log.info("ingestion.gave_way", **_ids(payload), done=end.done, total=end.total)
            services, rest = _services(context), payload.model_copy(update={"outages": 0})
            async with services.database.workspace(scope) as session:
                await services.queue.ingest_rest(session, rest, tag=-context.job.priority)
        case _:
            assert_never(end)


def wait_after(outages: int) -> timedelta:
    """Return how long to wait until the next try.

    Args:
        outages: How many tries in a row a part was away at, before the last one.
    """
    seconds = min(_FIRST_WAIT * 2 ** min(outages, 10), _LONGEST_WAIT)
    return timedelta(seconds=seconds * random.uniform(1 - _WAIT_JITTER, 1 + _WAIT_JITTER))  # noqa: S311  (no secret)


def _removal_seconds(job: procrastinate.jobs.Job) -> int:
    return 1 << (job.attempts + 1)


async def _ingest_again(
    context: procrastinate.JobContext, scope: WorkspaceScope, payload: IngestPayload, after: timedelta
) -> None:
    services = _services(context)
    async with services.database.workspace(scope) as session:
        await services.queue.ingest_again(session, payload, tag=-context.job.priority, after=after)


async def _reembed_again(services: Services, scope: WorkspaceScope, payload: ReembedPayload, after: timedelta) -> None:
    async with services.database.workspace(scope) as session:
        await services.queue.reembed(session, payload, after=after)


async def _arrange_again(
    services: Services, scope: WorkspaceScope, payload: ArrangeVectorsPayload, after: timedelta
) -> None:
    async with services.database.workspace(scope) as session:
        await services.queue.arrange_vectors(session, payload, after=after)


def _validated(model: type[_Payload], context: procrastinate.JobContext, arguments: Mapping[str, object]) -> _Payload:
    try:
        return model.model_validate(arguments)
    except ValidationError as error:
        fields = wrong_fields(error)
        log.warning("job.payload_invalid", task=context.job.task_name, job_id=context.job.id, fields=fields)
        raise InvalidPayloadError from None


def _services(context: procrastinate.JobContext) -> Services:
    services = context.additional_context["services"]
    if not isinstance(services, Services):
        raise TypeError("the worker was started without its services")
    return services


def _turn(context: procrastinate.JobContext, scope: WorkspaceScope, lane: Lane) -> Turn:
    services, timing = _services(context), context.additional_context["timing"]
    if not isinstance(timing, WorkerTiming):
        raise TypeError("the worker was started without its timing")
    return Turn(services.database, services.queue, scope, lane, timing=timing)


def _scope(context: procrastinate.JobContext, workspace_id: UUID, user_id: UUID) -> WorkspaceScope:
    services = _services(context)
    return services.workspaces.scope_for_job(WorkspaceId(workspace_id), UserId(user_id), f"job:{context.job.id}")


def _ids(payload: IngestPayload) -> dict[str, str]:
    return {"workspace_id": str(payload.workspace_id), "content": payload.content_sha256}
