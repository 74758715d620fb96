"""The service's own composition, with an embedder that costs nothing and a short lease: for the run of kills."""

import contextlib
import dataclasses
from collections.abc import AsyncIterator, Mapping
from datetime import timedelta

import httpx

from app.auth.jwks import JwksCache
from app.bootstrap import Services, compose_services
from app.core.config import Settings
from app.db.engine import create_engine
from app.db.session import Database
from app.ingestion.lease import Timing
from app.ingestion.parsing.isolation import IsolatedParser
from app.ingestion.parsing.types import ParseLimits
from app.ingestion.pipeline import IngestionService
from app.llm.embedders import Embedders
from app.redis.client import connect
from app.worker.timing import WorkerTiming
from bench.embedder import HashEmbedder

LEASE = Timing(lease=timedelta(seconds=3), heartbeat=timedelta(seconds=0.5))
TIMING = WorkerTiming(
    heartbeat_every=timedelta(seconds=0.5),
    stalled_after=timedelta(seconds=3),
    sweep_every=timedelta(seconds=0.5),
    left_behind_after=timedelta(seconds=6),
    poll_every=timedelta(seconds=0.3),
    grace=timedelta(seconds=1),
)


def settings_of(given: Mapping[str, str]) -> Settings:
    """Return settings by the names of their environment variables, without looking at the environment."""
    return Settings.model_validate({name.lower(): value for name, value in given.items()})


@contextlib.asynccontextmanager
async def open_services(settings: Settings, embedder: HashEmbedder) -> AsyncIterator[Services]:
    """Build the services around an embedder; what they opened is closed when the block ends."""
    async with contextlib.AsyncExitStack() as stack:
        engine = create_engine(settings.database_url.get_secret_value(), pool_size=settings.database_pool_size)
        stack.push_async_callback(engine.dispose)
        redis = connect(settings.redis_cache_url.get_secret_value(), settings.redis_limits_url.get_secret_value())
        stack.push_async_callback(redis.aclose)
        http = await stack.enter_async_context(httpx.AsyncClient(trust_env=False))
        keys = JwksCache(http, issuer=settings.oidc_issuer, jwks_url="", algorithms=settings.oidc_algorithms)
        stack.push_async_callback(keys.aclose)
        parser = IsolatedParser()
        stack.push_async_callback(parser.aclose)
        services = compose_services(settings, Database(engine), redis, keys, Embedders(embedder), parser=parser)
        yield dataclasses.replace(services, ingestion=_with_short_lease(services))


def _with_short_lease(services: Services) -> IngestionService:
    settings = services.settings
    limits = ParseLimits(
        seconds=settings.parse_seconds,
        memory_bytes=settings.parse_memory_bytes,
        max_pages=settings.max_pages,
        max_characters=settings.max_characters,
        max_unpacked_bytes=settings.max_unpacked_bytes,
    )
    database, blobs, embedders = services.database, services.blobs, services.embedders
    return IngestionService(
        database, blobs, embedders, services.parser, limits, max_passages=settings.max_passages, timing=LEASE
    )
