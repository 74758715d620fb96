"""Which answers of a workspace are cached, so that a deletion can take them away."""

import asyncio
from collections.abc import Awaitable
from typing import cast

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from app.core.ids import WorkspaceId
from app.redis import keys

log = structlog.get_logger(__name__)

_LIMIT_SECONDS = 0.05
_AT_ONCE = 500


class AnswerCacheEntries:
    """The cached answers of one workspace at a time; a Redis that is away is no error.

    Args:
        cache: The Redis of caches.
        limit_seconds: Longest time that one call may take.
    """

    def __init__(self, cache: Redis, *, limit_seconds: float = _LIMIT_SECONDS) -> None:
        self._cache = cache
        self._limit_seconds = limit_seconds

    async def purge(self, workspace_id: WorkspaceId) -> int | None:
        """Remove all cached answers of a workspace, which a change of its documents has made useless.

        Returns:
            How many there were; None when that is unknown, since Redis did not answer in time.
        """
        try:
            async with asyncio.timeout(self._limit_seconds):
                return await self._purge(keys.cache_entries(workspace_id))
        except (RedisError, OSError, TimeoutError) as error:
            log.warning("cache.purge_failed", error=type(error).__name__)
            return None

    async def _purge(self, listing: str) -> int:
        removed, cursor = 0, 0
        while True:
            # An entry leaves the list after it is gone: what a break leaves behind is still listed.
            found = self._cache.sscan(listing, cursor, count=_AT_ONCE)
            cursor, entries = await cast("Awaitable[tuple[int, list[bytes]]]", found)
            if entries:
                removed += await self._cache.unlink(*entries)
                await self._cache.srem(listing, *entries)
            if cursor == 0:
                return removed
