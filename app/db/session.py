"""Short transactions, each bound to what it may see by its first statement.

The variables that row-level security reads are set with `set_config(..., true)`: they end with the
transaction, so a pooled connection never carries one tenant's scope to the next.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

from psycopg import AsyncConnection
from psycopg.pq import TransactionStatus
from sqlalchemy import ColumnElement, text
from sqlalchemy.exc import OperationalError, TimeoutError as PoolTimeoutError
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, async_sessionmaker

from app.core.errors import UnavailableError
from app.core.ids import UserId, WorkspaceId
from app.core.tenancy import WorkspaceScope
from app.db.models.base import TenantRow

_SET_SCOPE = text(
    "SELECT set_config('app.workspace_id', :workspace_id, true), set_config('app.user_id', :user_id, true)"
)


def in_workspace(table: type[TenantRow], scope: WorkspaceScope) -> ColumnElement[bool]:
    """Return the condition that keeps a statement inside the scope's workspace: the first wall."""
    return table.workspace_id == scope.workspace_id


class Database:
    """Opens transactions. Code that has a session never commits: leaving the block does."""

    def __init__(self, engine: AsyncEngine) -> None:
        self.engine = engine
        self._sessions = async_sessionmaker(engine, expire_on_commit=False)

    @asynccontextmanager
    async def workspace(self, scope: WorkspaceScope) -> AsyncIterator[AsyncSession]:
        """Open a transaction that sees the rows of one workspace."""
        async with self._transaction(workspace_id=scope.workspace_id, user_id=None) as session:
            yield session

    @asynccontextmanager
    async def founding(self, workspace_id: WorkspaceId) -> AsyncIterator[AsyncSession]:
        """Open a transaction for a workspace that the caller is no member of yet: creating or joining it."""
        async with self._transaction(workspace_id=workspace_id, user_id=None) as session:
            yield session

    @asynccontextmanager
    async def entering(self, workspace_id: WorkspaceId, user_id: UserId) -> AsyncIterator[AsyncSession]:
        """Open a transaction that sees one membership at most: this user's in this workspace."""
        async with self._transaction(workspace_id=workspace_id, user_id=user_id) as session:
            yield session

    @asynccontextmanager
    async def identity(self, user_id: UserId | None = None) -> AsyncIterator[AsyncSession]:
        """Open a transaction that sees users and, of the tenant tables, one user's own memberships."""
        async with self._transaction(workspace_id=None, user_id=user_id) as session:
            yield session

    @asynccontextmanager
    async def _transaction(
        self, *, workspace_id: WorkspaceId | None, user_id: UserId | None
    ) -> AsyncIterator[AsyncSession]:
        session = self._sessions()
        try:
            await session.execute(
                _SET_SCOPE,
                {"workspace_id": str(workspace_id or ""), "user_id": str(user_id or "")},
            )
            yield session
            await _commit(session)
        except asyncio.CancelledError:
            # What the connection was doing is unknown: it must not go back to the pool.
            await asyncio.shield(session.invalidate())
            raise
        except (OperationalError, PoolTimeoutError) as error:
            await session.rollback()
            if _asked_too_much(error):
                raise
            raise UnavailableError("The database is out of reach or too busy. Try again in a moment.") from error
        except BaseException:
            await session.rollback()
            raise
        finally:
            await asyncio.shield(session.close())


def _asked_too_much(error: Exception) -> bool:
    """Tell a statement that is beyond a limit of Postgres (class 54) from an outage: no later try ends otherwise."""
    state = getattr(getattr(error, "orig", None), "sqlstate", None) or ""
    return state.startswith("54")


async def _commit(session: AsyncSession) -> None:
    """Commit, unless a failed statement was swallowed: Postgres would roll back, and nobody would be told."""
    raw = await (await session.connection()).get_raw_connection()
    status = cast("AsyncConnection[object]", raw.driver_connection).info.transaction_status
    if status is TransactionStatus.INERROR:
        raise RuntimeError("a statement of this transaction failed, and its error was not passed on")
    await session.commit()
