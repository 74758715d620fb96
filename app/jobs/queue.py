"""Puts jobs into the queue within the transaction of the row that they belong to.

A job exists exactly when its row does: no job without its row, no row that waits for a lost job.
"""

from datetime import timedelta

import procrastinate
from procrastinate.exceptions import AlreadyEnqueued
from sqlalchemy.ext.asyncio import AsyncSession

from app.jobs.payloads import IngestPayload, RemoveBlobsPayload, TaskName

_AT_ONCE = timedelta(0)


def queue_app(database_url: str) -> procrastinate.App:
    """Make the queue's client, unopened: enlisting needs no connection of its own.

    Args:
        database_url: `postgresql+psycopg://` address of the application role.
    """
    conninfo = database_url.replace("postgresql+psycopg://", "postgresql://", 1)
    return procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=conninfo, min_size=1, max_size=5))


class JobQueue:
    """Enlists jobs. Asking twice for the same waiting work leaves one job."""

    def __init__(self, app: procrastinate.App) -> None:
        self._app = app

    async def ingest(self, session: AsyncSession, payload: IngestPayload, *, after: timedelta = _AT_ONCE) -> None:
        """Ask for one content to be made searchable, some time from now; one job at a time runs for it."""
        lock = f"ingest:{payload.workspace_id}:{payload.content_sha256}"
        await self._enlist(session, TaskName.INGEST, payload, lock=lock, after=after)

    async def remove_blobs(self, session: AsyncSession, payload: RemoveBlobsPayload) -> None:
        """Ask for stored bytes to be removed once this transaction has removed their rows."""
        await self._enlist(session, TaskName.REMOVE_BLOBS, payload, lock=None, after=_AT_ONCE)

    async def _enlist(
        self,
        session: AsyncSession,
        task: TaskName,
        payload: IngestPayload | RemoveBlobsPayload,
        *,
        lock: str | None,
        after: timedelta,
    ) -> None:
        connection = await session.connection()
        raw = await connection.get_raw_connection()
        deferrer = self._app.configure_task(
            task.value,
            lock=lock,
            queueing_lock=lock,
            connection=raw.driver_connection,
            schedule_in={"seconds": after.total_seconds()} if after else None,
        )
        try:
            # Of the connection: the session would begin its savepoint with its own next statement, and there is none.
            async with connection.begin_nested():
                await deferrer.defer_async(**payload.model_dump(mode="json"))
        except AlreadyEnqueued:
            return  # the waiting job will do this work too
