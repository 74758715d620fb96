"""Whether this process can serve: the checks behind `GET /readyz`."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine

from app.core.errors import AppError, ConfigurationError, UnavailableError
from app.db.engine import check_role
from app.db.migrate import present_revision, wanted_revision
from app.llm.embedders import Embedders
from app.redis.client import CACHE_POLICY, LIMITS_POLICY, RedisClients, check_policy

KEEP_SECONDS = 1.0
_CHECK_SECONDS = 3.0
OK = "ok"
EMBEDDING = "embedding"
SPARED = frozenset({EMBEDDING})
"""A provider that is down would else take every replica away, and with them what works without it."""


class Check(Protocol):
    """Raises `AppError` when a part is not as it must be."""

    def __call__(self) -> Awaitable[None]:
        """Run the check."""


@dataclass(frozen=True, slots=True)
class Readiness:
    """The outcome of each check by name: `ok`, or in words what is wrong.

    Args:
        checks: The outcomes.
        spared: Names of checks without which this process can serve most requests.
    """

    checks: Mapping[str, str]
    spared: frozenset[str] = frozenset()

    @property
    def ready(self) -> bool:
        """Whether every check passed, apart from those that are spared."""
        return all(outcome == OK for name, outcome in self.checks.items() if name not in self.spared)


class ReadinessProbe:
    """Runs the checks at most once a second, however often it is asked.

    Args:
        checks: The checks by name.
        monotonic: Seconds of a clock that never goes back.
        spared: Names of checks that are told, and do not decide.
    """

    def __init__(
        self,
        checks: Mapping[str, Check],
        monotonic: Callable[[], float] = time.monotonic,
        spared: frozenset[str] = frozenset(),
    ) -> None:
        self._checks = dict(checks)
        self._monotonic = monotonic
        self._spared = spared
        self._lock = asyncio.Lock()
        self._last = Readiness({})
        self._at = float("-inf")

    async def readiness(self) -> Readiness:
        """Return what the checks say, not older than a second."""
        async with self._lock:
            if self._monotonic() - self._at >= KEEP_SECONDS:
                outcomes = await asyncio.gather(*(_outcome(check) for check in self._checks.values()))
                self._last = Readiness(dict(zip(self._checks, outcomes, strict=True)), self._spared)
                self._at = self._monotonic()
            return self._last


def service_checks(engine: AsyncEngine, redis: RedisClients, embedders: Embedders) -> dict[str, Check]:
    """Return the checks of this service."""
    return {
        "database_role": lambda: check_role(engine),
        "schema_version": lambda: _check_schema(engine),
        "redis_cache": lambda: check_policy(redis.cache, CACHE_POLICY),
        "redis_limits": lambda: check_policy(redis.limits, LIMITS_POLICY),
        EMBEDDING: embedders.check,
    }


async def _check_schema(engine: AsyncEngine) -> None:
    wanted = wanted_revision()
    try:
        present = await present_revision(engine)
    except SQLAlchemyError as error:
        raise UnavailableError("The database is out of reach.") from error
    if present != wanted:
        raise ConfigurationError(f"The schema is at {present}, this version needs {wanted}. Run: groundeddocs migrate")


async def _outcome(check: Check) -> str:
    try:
        async with asyncio.timeout(_CHECK_SECONDS):
            await check()
    except AppError as error:
        return error.detail
    except TimeoutError:
        return "No answer in time."
    return OK
