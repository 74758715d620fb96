"""Two steps at once: a batch is written while the next one is embedded."""

import asyncio
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, Self


class OneBehind:
    """Runs one piece of work beside its caller; the next piece begins when it is done.

    At the end of the block the last piece is done, also when the block fails. When it is cancelled, so is that piece.
    """

    def __init__(self) -> None:
        self._running: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Begin a piece of work once the one before it is done; raises what that one raised."""
        try:
            await self._finish()
        except BaseException:
            work.close()
            raise
        self._running = asyncio.create_task(work)

    async def _finish(self) -> None:
        running, self._running = self._running, None
        if running is not None:
            await running

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        stopped = error is not None and not isinstance(error, Exception)
        if stopped and self._running is not None:
            self._running.cancel()
        await self._finish()
