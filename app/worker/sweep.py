"""Finds what nobody is going to do by itself, and has it done: what a lost worker left, and the housekeeping.

Looks across workspaces return ids only; what is done about each runs inside its workspace, and its failure stops
nothing else.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from itertools import groupby
from typing import Any
from uuid import UUID

import procrastinate
import structlog
from sqlalchemy import Row, TextClause, exists, select, text
from sqlalchemy.ext.asyncio import AsyncSession

from app.bootstrap import Services
from app.core.ids import UserId, WorkspaceId
from app.core.tenancy import WorkspaceScope
from app.db.models import Content, DeadLetter
from app.db.session import in_workspace
from app.jobs.payloads import ArrangeVectorsPayload, IngestPayload, ReembedPayload, TaskName
from app.worker import ended_jobs, lost_workers
from app.worker.timing import WorkerTiming

log = structlog.get_logger(__name__)

_UNFINISHED = text("SELECT workspace_id, sha256, created_by FROM find_unfinished_contents(:silent_for)")
_PENDING_BLOBS = text("SELECT workspace_id, blob_key FROM find_pending_blobs(:older_than) ORDER BY workspace_id")
_OF_OTHER_MODELS = text(
    "SELECT found.workspace_id, found.created_by "
    "FROM unnest(CAST(:choices AS text[]), CAST(:models AS text[])) AS offered (choice, model) "
    "CROSS JOIN LATERAL find_workspaces_of_other_models(offered.model, offered.choice) AS found WHERE NOT EXISTS ("
    "SELECT FROM procrastinate_jobs j WHERE j.lock = concat_ws(':', CAST(:task AS text), found.workspace_id) "
    "AND j.status IN ('todo', 'doing'))"
)
_TO_ARRANGE = text(
    "SELECT workspace_id, created_by FROM find_workspaces_to_arrange("
    ":fewest, :growth, :shrinkage, :unplaced_least, :unplaced_breadth, :compare_every) AS found WHERE NOT EXISTS ("
    "SELECT FROM procrastinate_jobs j WHERE j.lock = concat_ws(':', CAST(:task AS text), found.workspace_id) "
    "AND j.status IN ('todo', 'doing'))"
)
_NOBODY = UserId(UUID(int=0))
JITTER = 0.25
"""Workers that were started together look at different times: up to this share earlier or later."""


async def sweep_forever(services: Services, app: procrastinate.App, timing: WorkerTiming) -> None:
    """Sweep now and then, in each worker and not as a job: a job would wait for the slots that lost jobs hold."""
    while True:
        found = await sweep(services, app, timing)
        if any(found.values()):
            log.warning("sweep.found", **found)
        async with _trouble_noted("depths"):
            await _note_depths(services)
        spread = random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311  (nothing to guess)
        await asyncio.sleep(timing.sweep_every.total_seconds() * spread)


async def sweep(services: Services, app: procrastinate.App, timing: WorkerTiming) -> Mapping[str, int]:
    """Go through all parts once; one that fails does not stop the others.

    Returns:
        How many things each part has found.
    """
    parts: Mapping[str, Callable[[], Awaitable[int]]] = {
        "lost_jobs": lambda: _start_lost_again(app, timing),
        "ended_jobs": lambda: _settle_ended(services),
        "left_behind": lambda: _requeue_left_behind(services, timing),
        "lost_workers": lambda: lost_workers.forget_workers(app, timing.forgotten_after),
        "other_models": lambda: _reembed(services),
        "vectors_to_arrange": lambda: _arrange(services),
        "unused_blobs": lambda: _remove_unused_blobs(services, timing),
    }
    found = dict.fromkeys(parts, 0)
    for name, part in parts.items():
        async with _trouble_noted(name):
            found[name] = await part()
    return found


async def _start_lost_again(app: procrastinate.App, timing: WorkerTiming) -> int:
    lost = await lost_workers.find_lost(app, timing.stalled_after)
    for job in lost:
        async with _trouble_noted("lost_jobs", job_id=job.id):
            await lost_workers.start_again(app, job)
    return len(lost)


async def _settle_ended(services: Services) -> int:
    ended = await ended_jobs.find_ended(services)
    for job in ended:
        async with _trouble_noted("ended_jobs", job_id=job.id):
            await ended_jobs.settle(services, job)
    return len(ended)


async def _requeue_left_behind(services: Services, timing: WorkerTiming) -> int:
    async with services.database.identity() as session:
        rows = (await session.execute(_UNFINISHED, {"silent_for": timing.left_behind_after})).all()
    for row in rows:
        async with _trouble_noted("left_behind", workspace_id=row.workspace_id):
            await _requeue(services, row)
    return len(rows)


async def _requeue(services: Services, row: Row[Any]) -> None:
    scope = _scope(services, row.workspace_id, row.created_by)
    async with services.database.workspace(scope) as session:
        query = select(Content.size_bytes).where(in_workspace(Content, scope), Content.sha256 == row.sha256)
        size_bytes = await session.scalar(query)
        if size_bytes is not None:
            payload = IngestPayload(
                workspace_id=row.workspace_id,
                content_sha256=row.sha256,
                user_id=row.created_by,
                size_bytes=size_bytes,
            )
            await services.queue.ingest(session, payload)


async def _reembed(services: Services) -> int:
    """Queue the workspaces that another model serves than that of their choice, as far as that is known here."""
    known = {choice.value: model for choice, model in services.embedders.offered().items() if model}

    async def queue(session: AsyncSession, row: Row[Any]) -> None:
        payload = ReembedPayload(workspace_id=row.workspace_id, user_id=row.created_by)
        await services.queue.reembed(session, payload)

    parameters = {"choices": list(known), "models": list(known.values())}
    return await _queue_found(
        services, "other_models", _OF_OTHER_MODELS, parameters, task=TaskName.REEMBED, queue=queue
    )


async def _arrange(services: Services) -> int:
    """Queue the workspaces whose vectors are to be laid out anew, or compared again with an exact scan."""

    async def queue(session: AsyncSession, row: Row[Any]) -> None:
        payload = ArrangeVectorsPayload(workspace_id=row.workspace_id, user_id=row.created_by)
        await services.queue.arrange_vectors(session, payload)

    parameters, task = services.cells.settings.due(), TaskName.ARRANGE_VECTORS
    return await _queue_found(services, "vectors_to_arrange", _TO_ARRANGE, parameters, task=task, queue=queue)


async def _queue_found(
    services: Services,
    part: str,
    statement: TextClause,
    parameters: Mapping[str, object],
    *,
    task: TaskName,
    queue: Callable[[AsyncSession, Row[Any]], Awaitable[None]],
) -> int:
    """Queue a task for each workspace found, unless it was given up there and nobody has asked for it again."""
    async with services.database.identity() as session:
        rows = (await session.execute(statement, {**parameters, "task": task.value})).all()
    queued = 0
    for row in rows:
        scope = _scope(services, row.workspace_id, row.created_by)
        async with _trouble_noted(part, workspace_id=row.workspace_id), services.database.workspace(scope) as session:
            if not await _given_up(session, scope, task):
                await queue(session, row)
                queued += 1
    return queued


async def _given_up(session: AsyncSession, scope: WorkspaceScope, task: TaskName) -> bool:
    letter = exists().where(in_workspace(DeadLetter, scope), DeadLetter.task == task, DeadLetter.requeued_at.is_(None))
    return bool(await session.scalar(select(letter)))


async def _remove_unused_blobs(services: Services, timing: WorkerTiming) -> int:
    async with services.database.identity() as session:
        rows = (await session.execute(_PENDING_BLOBS, {"older_than": timing.unused_blob_after})).all()
    removed = 0
    for workspace_id, mine in groupby(rows, lambda row: row.workspace_id):
        async with _trouble_noted("unused_blobs", workspace_id=workspace_id):
            keys = [row.blob_key for row in mine]
            removed += await services.pending_blobs.sweep(_scope(services, workspace_id, _NOBODY), keys)
    return removed


async def _note_depths(services: Services) -> None:
    async with services.database.identity() as session:
        depths = await services.queue.depths(session)
    if depths:
        log.info("queue.waiting", **depths)


@asynccontextmanager
async def _trouble_noted(part: str, **ids: object) -> AsyncIterator[None]:
    """Let the sweep go on whatever happens inside; the next one tries again."""
    try:
        yield
    except Exception:
        log.exception("sweep.failed", part=part, **{name: str(value) for name, value in ids.items()})


def _scope(services: Services, workspace_id: UUID, user_id: UUID) -> WorkspaceScope:
    return services.workspaces.scope_for_job(WorkspaceId(workspace_id), UserId(user_id), "sweep")
