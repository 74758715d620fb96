"""Puts jobs into the queue within the transaction of the row that they belong to.

A job exists exactly when its row does: no job without its row, no row that waits for a lost job.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

import procrastinate
from procrastinate.exceptions import AlreadyEnqueued
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession

from app.core.tenancy import WorkspaceScope
from app.db.sql import load_sql
from app.jobs.fair_share import LAST_TAG, Lane, Standing, cost_of, lane_of, rest_tag, tag_of
from app.jobs.payloads import (
    ArrangeVectorsPayload,
    IngestPayload,
    Payload,
    ReembedPayload,
    RemoveBlobsPayload,
    RemoveOldVectorsPayload,
    TaskName,
)

_AT_ONCE = timedelta(0)
_AFTER_ALL_ELSE = -1
_QUERIES = "app.jobs.queries"
_MAX_CONNECTIONS = 5
"""Of a worker's lanes together, for fetching and ending jobs; each lane listens on one of its own."""
_DEPTHS = text("SELECT queue_name, count(*) AS waiting FROM procrastinate_jobs WHERE status = 'todo' GROUP BY 1")


def queue_app(database_url: str) -> procrastinate.App:
    """Make the queue's client, unopened: enlisting needs no connection of its own.

    Args:
        database_url: `postgresql+psycopg://` address of the application role.
    """
    conninfo = database_url.replace("postgresql+psycopg://", "postgresql://", 1)
    connector = procrastinate.PsycopgConnector(conninfo=conninfo, min_size=1, max_size=_MAX_CONNECTIONS)
    return procrastinate.App(connector=connector)


class JobQueue:
    """Enlists jobs, at times of the database's clock.

    Asking twice for the same waiting work leaves one job, at the earlier of both times.
    """

    def __init__(self, app: procrastinate.App) -> None:
        self._app = app

    async def ingest(self, session: AsyncSession, payload: IngestPayload) -> None:
        """Ask for one content to be made searchable, in its workspace's turn; one job at a time runs for it."""
        await self._enlist_ingest(session, payload, tag_of(await _standing(session, payload)))

    async def ingest_again(
        self, session: AsyncSession, payload: IngestPayload, *, tag: int, after: timedelta = _AT_ONCE
    ) -> None:
        """Ask again for a content whose run came to nothing, some time from now; it keeps its turn.

        Args:
            session: The transaction.
            payload: That of the job that came to nothing.
            tag: The tag of that job.
            after: How long to wait.
        """
        await self._enlist_ingest(session, payload, tag, after)

    async def ingest_rest(self, session: AsyncSession, payload: IngestPayload, *, tag: int) -> None:
        """Ask for the rest of a content whose run gave way to others.

        It comes before what its workspace asked for later, which goes back by as much: a workspace finishes what it
        began, and gets no more than its share.

        Args:
            session: The transaction.
            payload: That of the job that gave way.
            tag: The tag of that job.
        """
        standing = await _standing(session, payload)
        await session.execute(
            load_sql(_QUERIES, "move_back"),
            {
                "workspace_id": str(payload.workspace_id),
                "lane": lane_of(payload.size_bytes),
                "cost": cost_of(payload.size_bytes),
                "last_tag": LAST_TAG,
            },
        )
        await self._enlist_ingest(session, payload, rest_tag(standing.clock, tag, payload.size_bytes))

    async def remove_blobs(self, session: AsyncSession, payload: RemoveBlobsPayload) -> None:
        """Ask for stored bytes to be removed once this transaction has removed their rows."""
        await self._enlist(session, TaskName.REMOVE_BLOBS, payload, Lane.BACKGROUND)

    async def reembed(self, session: AsyncSession, payload: ReembedPayload, *, after: timedelta = _AT_ONCE) -> None:
        """Ask for a workspace to be embedded anew, after everything else of the background; one job for each."""
        lock = f"{TaskName.REEMBED}:{payload.workspace_id}"
        await self._enlist(
            session, TaskName.REEMBED, payload, Lane.BACKGROUND, lock=lock, priority=_AFTER_ALL_ELSE, after=after
        )

    async def remove_old_vectors(
        self, session: AsyncSession, payload: RemoveOldVectorsPayload, *, after: timedelta = _AT_ONCE
    ) -> None:
        """Ask for the vectors of a workspace's former models to be removed; of two wishes the later time holds."""
        lock = f"{TaskName.REMOVE_OLD_VECTORS}:{payload.workspace_id}"
        await self._enlist(
            session, TaskName.REMOVE_OLD_VECTORS, payload, Lane.BACKGROUND, lock=lock, after=after, latest=True
        )

    async def arrange_vectors(
        self, session: AsyncSession, payload: ArrangeVectorsPayload, *, after: timedelta = _AT_ONCE
    ) -> None:
        """Ask for the vectors of a workspace to be laid out anew, after everything else of the background."""
        lock = f"{TaskName.ARRANGE_VECTORS}:{payload.workspace_id}"
        await self._enlist(
            session,
            TaskName.ARRANGE_VECTORS,
            payload,
            Lane.BACKGROUND,
            lock=lock,
            priority=_AFTER_ALL_ELSE,
            after=after,
        )

    async def forget(self, session: AsyncSession, scope: WorkspaceScope, sha256s: Sequence[str]) -> None:
        """Take the waiting jobs of contents that are deleted out of the queue; what runs notices by itself."""
        locks = [_ingest_lock(str(scope.workspace_id), sha256) for sha256 in sha256s]
        await session.execute(load_sql(_QUERIES, "forget_waiting"), {"locks": locks})

    async def forget_workspace(self, session: AsyncSession, scope: WorkspaceScope) -> None:
        """Take the waiting jobs of a workspace that is deleted out of the queue; removals of bytes stay."""
        tasks = [task for task in TaskName if task is not TaskName.REMOVE_BLOBS]
        parameters = {"workspace_id": str(scope.workspace_id), "tasks": tasks}
        await session.execute(load_sql(_QUERIES, "forget_workspace"), parameters)

    async def others_wait(self, session: AsyncSession, scope: WorkspaceScope, lane: Lane) -> bool:
        """Tell whether another workspace waits for a slot of this lane."""
        parameters = {"workspace_id": str(scope.workspace_id), "lane": lane}
        return bool(await session.scalar(load_sql(_QUERIES, "others_wait"), parameters))

    async def moment(self, session: AsyncSession, after: timedelta) -> datetime:
        """Return when some time from the begin of this transaction is, by the database's clock."""
        moment: datetime = (await session.execute(load_sql(_QUERIES, "moment"), {"after": after})).scalar_one()
        return moment

    async def depths(self, session: AsyncSession) -> Mapping[str, int]:
        """Return how many jobs wait in each lane where some do."""
        return {row.queue_name: row.waiting for row in await session.execute(_DEPTHS)}

    async def _enlist_ingest(
        self, session: AsyncSession, payload: IngestPayload, tag: int, after: timedelta = _AT_ONCE
    ) -> None:
        lock = _ingest_lock(str(payload.workspace_id), payload.content_sha256)
        lane = lane_of(payload.size_bytes)
        await self._enlist(session, TaskName.INGEST, payload, lane, lock=lock, priority=-tag, after=after)

    async def _enlist(
        self,
        session: AsyncSession,
        task: TaskName,
        payload: Payload,
        lane: Lane,
        *,
        lock: str | None = None,
        priority: int = 0,
        after: timedelta = _AT_ONCE,
        latest: bool = False,
    ) -> None:
        at = await self.moment(session, after) if after else None
        waiting = {"lock": lock, "at": at, "latest": latest}
        while not await self._defer(session, task, payload, lane, lock=lock, priority=priority, at=at):
            if await session.scalar(load_sql(_QUERIES, "meet_waiting"), waiting) is not None:
                return  # the waiting job will do this work too
            # It began meanwhile, and may not have seen what this transaction is about.

    async def _defer(
        self,
        session: AsyncSession,
        task: TaskName,
        payload: Payload,
        lane: Lane,
        *,
        lock: str | None,
        priority: int,
        at: datetime | None,
    ) -> bool:
        """Insert a job; False when one waits under its lock."""
        connection = await session.connection()
        raw = await connection.get_raw_connection()
        deferrer = self._app.configure_task(
            task.value,
            queue=lane.value,
            lock=lock,
            queueing_lock=lock,
            priority=priority,
            connection=raw.driver_connection,
            schedule_at=at,
        )
        try:
            # Of the connection: the session would begin its savepoint with its own next statement, and there is none.
            async with connection.begin_nested():
                await deferrer.defer_async(**payload.model_dump(mode="json"))
        except AlreadyEnqueued:
            return False
        return True


async def _standing(session: AsyncSession, payload: IngestPayload) -> Standing:
    parameters = {"workspace_id": str(payload.workspace_id), "lane": lane_of(payload.size_bytes)}
    row = (await session.execute(load_sql(_QUERIES, "standing"), parameters)).one()
    return Standing(row.clock, row.last_tag, row.last_size_bytes)


def _ingest_lock(workspace_id: str, sha256: str) -> str:
    """Return the lock of a content; `find_unfinished_contents` builds the same."""
    return f"{TaskName.INGEST}:{workspace_id}:{sha256}"
