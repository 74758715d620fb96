"""Takes jobs out of the queue that ended without success: back to work, or to the dead letters with their reason.

A job that fails keeps its row until this has dealt with it, so that nothing is lost when a worker dies meanwhile.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import structlog
from pydantic import ValidationError
from sqlalchemy import select, text
from sqlalchemy.ext.asyncio import AsyncSession

from app.bootstrap import Services
from app.core.ids import UserId, WorkspaceId
from app.core.tenancy import WorkspaceScope
from app.db.models import Content, Workspace
from app.db.session import in_workspace
from app.jobs import dead_letters
from app.jobs.dead_letters import NOWHERE
from app.jobs.payloads import PAYLOADS, IngestPayload, Payload, RemoveBlobsPayload, TaskName, wrong_fields

log = structlog.get_logger(__name__)

_ENDED = text(
    "SELECT id, task_name, args, attempts, priority, status::text FROM procrastinate_jobs "
    "WHERE status IN ('failed', 'aborted', 'cancelled') ORDER BY id LIMIT 1000"
)
_TAKE_OUT = text(
    "DELETE FROM procrastinate_jobs WHERE id = :id AND status IN ('failed', 'aborted', 'cancelled') RETURNING id"
)
_NOBODY = UserId(UUID(int=0))
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class EndedJob:
    """A job that has ended without success. Its arguments are as they stand in the queue, and may be anything."""

    id: int
    task: str
    arguments: Mapping[str, Any]
    attempts: int
    priority: int
    status: str


@dataclass(frozen=True, slots=True)
class _Reason:
    """Why a job is given up: a code, and words without any value of its arguments."""

    code: str
    detail: str


async def find_ended(services: Services) -> Sequence[EndedJob]:
    """Return jobs that ended without success, oldest first."""
    async with services.database.identity() as session:
        rows = (await session.execute(_ENDED)).all()
    return [
        EndedJob(row.id, row.task_name, _as_mapping(row.args), row.attempts, row.priority, row.status) for row in rows
    ]


async def settle(services: Services, job: EndedJob) -> None:
    """Queue a job again or give it up, and take it out of the queue in the same transaction."""
    payload = _payload_of(job)
    if isinstance(payload, _Reason):
        await _give_up(services, job, payload)
    elif isinstance(payload, RemoveBlobsPayload) and job.status == "failed":
        detail = f"Stored files could not be removed in {job.attempts} tries. Requeue this when the store answers."
        await _give_up(services, job, _Reason("blobs_not_removed", detail))
    elif not isinstance(payload, IngestPayload | RemoveBlobsPayload) and job.status == "failed":
        detail = "This work stopped the worker several times. Requeue it when an operator has found out why."
        await _give_up(services, job, _Reason("worker_lost", detail))
    else:
        await _back_to_work(services, job, payload)


async def _back_to_work(services: Services, job: EndedJob, payload: Payload) -> None:
    """Queue a file again, which its own attempts end, or what a stop of the worker has interrupted.

    What somebody cancelled in the queue itself just goes.
    """
    scope = _scope(services, WorkspaceId(payload.workspace_id), job)
    async with services.database.workspace(scope) as session:
        if not await _take_out(session, job) or job.status == "cancelled":
            return
        if isinstance(payload, IngestPayload):
            await services.queue.ingest_again(session, payload, tag=-job.priority)
        elif isinstance(payload, RemoveBlobsPayload):
            await services.queue.remove_blobs(session, payload)


async def _give_up(services: Services, job: EndedJob, reason: _Reason) -> None:
    """Write the letter where the job belongs: in its workspace if that is there, else in none."""
    named = _workspace_named(job)
    if named is None or not await _bury_in(services, named, job, reason):
        await _bury_in(services, NOWHERE, job, reason)


async def _bury_in(services: Services, workspace_id: WorkspaceId, job: EndedJob, reason: _Reason) -> bool:
    """Return False, with nothing done, when there is no such workspace."""
    scope = _scope(services, workspace_id, job)
    async with services.database.workspace(scope) as session:
        if workspace_id != NOWHERE and not await _is_there(session, workspace_id):
            return False
        if not await _take_out(session, job):
            return True
        await dead_letters.bury(
            session,
            scope,
            task=job.task,
            payload=job.arguments,
            content_sha256=await _content_of(session, scope, job),
            reason=reason.code,
            detail=reason.detail,
            attempts=job.attempts,
        )
    log.warning(
        "job.given_up", job_id=job.id, reason=reason.code, workspace_id=str(workspace_id), attempts=job.attempts
    )
    return True


async def _is_there(session: AsyncSession, workspace_id: WorkspaceId) -> bool:
    """Look for a workspace, and keep it from being deleted until the letter is written."""
    query = select(Workspace.id).where(Workspace.id == workspace_id).with_for_update(read=True, key_share=True)
    return await session.scalar(query) is not None


async def _take_out(session: AsyncSession, job: EndedJob) -> bool:
    """Remove a job; False when another worker was faster."""
    return await session.scalar(_TAKE_OUT, {"id": job.id}) is not None


async def _content_of(session: AsyncSession, scope: WorkspaceScope, job: EndedJob) -> str | None:
    """Return the content that a job names, if it is one of the workspace: who may not read it sees no letter."""
    named = job.arguments.get("content_sha256")
    if not isinstance(named, str) or not _SHA256.fullmatch(named):
        return None
    return await session.scalar(select(Content.sha256).where(in_workspace(Content, scope), Content.sha256 == named))


def _payload_of(job: EndedJob) -> Payload | _Reason:
    try:
        model = PAYLOADS[TaskName(job.task)]
    except ValueError:
        detail = "The worker knows no such task: it may be of a newer version. Requeue it after the update."
        return _Reason("unknown_task", detail)
    try:
        return model.model_validate(job.arguments)
    except ValidationError as error:
        fields = ", ".join(wrong_fields(error))
        return _Reason("invalid_payload", f"The job does not fit its task; wrong are: {fields}.")


def _workspace_named(job: EndedJob) -> WorkspaceId | None:
    try:
        named = WorkspaceId(UUID(job.arguments["workspace_id"]))
    except (KeyError, ValueError, TypeError, AttributeError):
        return None
    return None if named == NOWHERE else named


def _as_mapping(arguments: object) -> Mapping[str, Any]:
    return arguments if isinstance(arguments, dict) else {"arguments": arguments}


def _scope(services: Services, workspace_id: WorkspaceId, job: EndedJob) -> WorkspaceScope:
    return services.workspaces.scope_for_job(workspace_id, _NOBODY, f"job:{job.id}")
