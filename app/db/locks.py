"""The one lock that orders changes of a workspace's set of documents."""

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession

from app.core.tenancy import WorkspaceScope


async def lock_documents(session: AsyncSession, scope: WorkspaceScope) -> None:
    """Let one transaction at a time change the set of documents of a workspace.

    It is held for a few milliseconds, and spares every other ordering of locks between uploads, deletions and the
    worker's swap of a new version.
    """
    await session.execute(
        text("SELECT pg_advisory_xact_lock(hashtextextended('documents:' || :workspace_id, 0))"),
        {"workspace_id": str(scope.workspace_id)},
    )
