"""Jobs that were given up, with their reason, until somebody asks for them again.

The payload is kept for that and is never shown: one that fits no task may hold anything.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from sqlalchemy import ColumnElement, delete, func, select, tuple_, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from app.core.ids import UserId, WorkspaceId, new_id
from app.core.tenancy import WorkspaceScope
from app.db.models import DeadLetter
from app.db.session import in_workspace

NOWHERE = WorkspaceId(UUID(int=0))
"""Holds the letters whose payload names no workspace that is there; only operators see it, in the database."""


class LetterStatus(StrEnum):
    """Which letters a list holds: those that wait, those that somebody has asked for again, or both."""

    OPEN = "open"
    REQUEUED = "requeued"
    ALL = "all"


async def bury(
    session: AsyncSession,
    scope: WorkspaceScope,
    *,
    task: str,
    payload: Mapping[str, object],
    content_sha256: str | None,
    reason: str,
    detail: str,
    attempts: int,
) -> None:
    """Give up a job, in the transaction that ends its work. A content has one letter: the latest.

    Args:
        session: The transaction.
        scope: The workspace of the job, or that of `NOWHERE`.
        task: Name of the job's task.
        payload: Its arguments as they stood in the queue.
        content_sha256: The content that it was about.
        reason: Why, as a code.
        detail: Why and what to do, in words; no values of the payload.
        attempts: How often it was tried.
    """
    if content_sha256 is not None:
        answered = DeadLetter.content_sha256 == content_sha256, DeadLetter.requeued_at.is_not(None)
        await session.execute(delete(DeadLetter).where(in_workspace(DeadLetter, scope), *answered))
    told = {"task": task, "payload": dict(payload), "reason": reason, "detail": detail, "attempts": attempts}
    letter = insert(DeadLetter).values(
        workspace_id=scope.workspace_id, id=new_id(), content_sha256=content_sha256, **told
    )
    await session.execute(
        letter.on_conflict_do_update(
            index_elements=[DeadLetter.workspace_id, DeadLetter.content_sha256],
            index_where=DeadLetter.requeued_at.is_(None) & DeadLetter.content_sha256.is_not(None),
            set_={**told, "created_at": func.now()},
        )
    )


async def page(
    session: AsyncSession,
    scope: WorkspaceScope,
    visible: ColumnElement[bool],
    *,
    status: LetterStatus,
    limit: int,
    before: tuple[datetime, UUID] | None,
) -> Sequence[DeadLetter]:
    """Return the letters that a condition lets through, newest first, from after a position in that order."""
    query = select(DeadLetter).where(in_workspace(DeadLetter, scope), visible)
    if status is not LetterStatus.ALL:
        is_open = DeadLetter.requeued_at.is_(None)
        query = query.where(is_open if status is LetterStatus.OPEN else ~is_open)
    if before is not None:
        query = query.where(tuple_(DeadLetter.created_at, DeadLetter.id) < tuple_(*before))
    ordered = query.order_by(DeadLetter.created_at.desc(), DeadLetter.id.desc()).limit(limit)
    return (await session.scalars(ordered)).all()


async def find(
    session: AsyncSession, scope: WorkspaceScope, visible: ColumnElement[bool], letter_id: UUID
) -> DeadLetter | None:
    """Return a letter that a condition lets through, and hold its row until the transaction ends."""
    query = select(DeadLetter).where(in_workspace(DeadLetter, scope), visible, DeadLetter.id == letter_id)
    return (await session.scalars(query.with_for_update(of=DeadLetter))).one_or_none()


async def mark_requeued(session: AsyncSession, scope: WorkspaceScope, letter: DeadLetter) -> None:
    """Note that the scope's user has asked for the work of a letter again."""
    await _answer(session, scope, DeadLetter.id == letter.id, scope.user_id)
    await session.refresh(letter)


async def close(session: AsyncSession, scope: WorkspaceScope, content_sha256: str, by: UserId) -> None:
    """Answer the open letter of a content, which somebody has asked for again in another way."""
    await _answer(session, scope, DeadLetter.content_sha256 == content_sha256, by)


async def forget(session: AsyncSession, scope: WorkspaceScope, sha256s: Sequence[str]) -> None:
    """Delete all letters about contents that are deleted."""
    await session.execute(
        delete(DeadLetter).where(in_workspace(DeadLetter, scope), DeadLetter.content_sha256.in_(sha256s))
    )


async def _answer(session: AsyncSession, scope: WorkspaceScope, which: ColumnElement[bool], by: UserId) -> None:
    await session.execute(
        update(DeadLetter)
        .where(in_workspace(DeadLetter, scope), which, DeadLetter.requeued_at.is_(None))
        .values(requeued_at=func.now(), requeued_by=by)
    )
