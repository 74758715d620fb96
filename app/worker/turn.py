"""How long a job may keep its slot while others wait."""

import time
from collections.abc import Callable

from app.core.errors import UnavailableError
from app.core.tenancy import WorkspaceScope
from app.db.session import Database
from app.jobs.fair_share import Lane
from app.jobs.queue import JobQueue
from app.worker.timing import WorkerTiming

_LOOKS = 2
"""A job that has just been queued and finds a free slot waits too, for a moment: one look says nothing."""


class Turn:
    """One run of a job.

    Args:
        database: For the looks.
        queue: What is looked at.
        scope: Whose job runs.
        lane: The lane whose slot it holds.
        timing: Length of a slice, and how often to look after it.
        now: Seconds of a clock that never goes back.
    """

    def __init__(
        self,
        database: Database,
        queue: JobQueue,
        scope: WorkspaceScope,
        lane: Lane,
        *,
        timing: WorkerTiming,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database = database
        self._queue = queue
        self._scope = scope
        self._lane = lane
        self._every = timing.look_every.total_seconds()
        self._now = now
        self._next_look = now() + timing.slice.total_seconds()
        self._seen = 0

    async def others_wait(self) -> bool:
        """Tell whether this run has had its slice and another workspace waits for the slot; mostly without a query."""
        if self._now() >= self._next_look:
            self._next_look = self._now() + self._every
            self._seen = self._seen + 1 if await self._look() else 0
        return self._seen >= _LOOKS

    async def _look(self) -> bool:
        try:
            async with self._database.workspace(self._scope) as session:
                return await self._queue.others_wait(session, self._scope, self._lane)
        except UnavailableError:
            return False  # giving way would need the database too
