import asyncio
import time
from collections.abc import AsyncIterator
from uuid import uuid4

import pytest
from redis.asyncio import Redis

from app.bootstrap import Services
from app.cache.entries import AnswerCacheEntries
from app.core.ids import WorkspaceId
from app.redis import keys
from app.redis.client import connect


@pytest.fixture
def cache(services: Services) -> Redis:
    return services.redis.cache


@pytest.fixture
async def silent() -> AsyncIterator[str]:
    """The address of a server that takes every connection and never says a word."""
    over = asyncio.Event()

    async def listen(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await over.wait()
        writer.close()

    server = await asyncio.start_server(listen, "127.0.0.1", 0)
    yield f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    over.set()
    server.close()
    await server.wait_closed()


async def put(cache: Redis, workspace_id: WorkspaceId, count: int) -> list[str]:
    """Store so many entries of a workspace as the cache will."""
    names = [f"{uuid4()}" for _ in range(count)]
    for name in names:
        await cache.set(name, "an answer", ex=60)
    await cache.sadd(keys.cache_entries(workspace_id), *names)
    return names


@pytest.mark.parametrize("count", [1, 1_200])
async def test_all_entries_of_a_workspace_go_and_no_others(cache: Redis, count: int) -> None:
    mine, other = WorkspaceId(uuid4()), WorkspaceId(uuid4())
    gone, kept = await put(cache, mine, count), await put(cache, other, 2)
    assert await AnswerCacheEntries(cache, limit_seconds=5).purge(mine) == count
    assert await cache.exists(*gone, keys.cache_entries(mine)) == 0
    assert await cache.exists(*kept, keys.cache_entries(other)) == 3


async def test_entries_that_have_expired_are_not_counted(cache: Redis) -> None:
    workspace_id = WorkspaceId(uuid4())
    expired, _ = await put(cache, workspace_id, 2)
    await cache.delete(expired)
    entries = AnswerCacheEntries(cache)
    assert await entries.purge(workspace_id) == 1
    assert await entries.purge(workspace_id) == 0


async def test_a_redis_that_is_away_is_unknown_and_no_error() -> None:
    clients = connect("redis://127.0.0.1:1", "redis://127.0.0.1:1")
    assert await AnswerCacheEntries(clients.cache).purge(WorkspaceId(uuid4())) is None
    await clients.aclose()


async def test_a_redis_that_hangs_costs_fifty_milliseconds(silent: str) -> None:
    clients = connect(silent, silent)
    began = time.monotonic()
    assert await AnswerCacheEntries(clients.cache).purge(WorkspaceId(uuid4())) is None
    assert time.monotonic() - began < 0.3  # the driver's own limit, which would have ended it too
    await clients.aclose()


async def test_a_wrong_kind_of_key_is_unknown_and_no_error(cache: Redis) -> None:
    workspace_id = WorkspaceId(uuid4())
    await cache.set(keys.cache_entries(workspace_id), "no set", ex=60)
    assert await AnswerCacheEntries(cache).purge(workspace_id) is None
