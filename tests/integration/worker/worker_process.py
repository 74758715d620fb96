"""A worker with an embedder of a fixed pace and short times, for the tests that stop it."""

import asyncio
import os
from collections.abc import Sequence
from datetime import timedelta

import httpx

from app.auth.jwks import JwksCache
from app.bootstrap import compose_services
from app.core.config import Settings, load_settings
from app.db.engine import create_engine
from app.db.session import Database
from app.ingestion.lease import Timing
from app.ingestion.parsing.isolation import IsolatedParser
from app.llm.embedders import Embedders
from app.llm.types import Vectors
from app.redis.client import connect
from app.telemetry.logging import configure_logging
from app.worker.main import work
from app.worker.timing import WorkerTiming
from tests.support.embedder import HashEmbedder
from tests.support.pipelines import OtherEmbedder

TIMING = WorkerTiming(
    heartbeat_every=timedelta(seconds=0.3),
    stalled_after=timedelta(seconds=3),  # ten heartbeats: a busy machine skips some
    sweep_every=timedelta(seconds=0.5),
    left_behind_after=timedelta(hours=1),  # leaves alone what other tests never finished
    poll_every=timedelta(seconds=0.3),
    grace=timedelta(seconds=1),
    slice=timedelta(seconds=1),
    look_every=timedelta(seconds=0.2),
)


LEASE = Timing(lease=timedelta(seconds=3), heartbeat=timedelta(seconds=0.3))


class PacedEmbedder(HashEmbedder):
    """Waits before each batch."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Return one vector for each text, later."""
        await asyncio.sleep(self._seconds)
        return await super().embed_passages(texts)


class PacedRemote(PacedEmbedder):
    """Another model, which workspaces can choose."""

    model_id = OtherEmbedder.model_id
    dimension = OtherEmbedder.dimension


async def run(settings: Settings, seconds_a_batch: float, *, with_remote: bool) -> None:
    """Work until a signal comes."""
    engine = create_engine(settings.database_url.get_secret_value(), pool_size=3)
    redis = connect(settings.redis_cache_url.get_secret_value(), settings.redis_limits_url.get_secret_value())
    async with httpx.AsyncClient() as http:
        keys = JwksCache(http, issuer=settings.oidc_issuer, jwks_url="", algorithms=settings.oidc_algorithms)
        remote = PacedRemote(seconds_a_batch) if with_remote else None
        embedders = Embedders(PacedEmbedder(seconds_a_batch), remote)
        parser = IsolatedParser()
        services = compose_services(settings, Database(engine), redis, keys, embedders, parser=parser)
        services.ingestion._timing = LEASE
        await work(services, TIMING)
        await parser.aclose()
        await keys.aclose()
    await redis.aclose()
    await engine.dispose()


if __name__ == "__main__":
    configure_logging("INFO")
    asyncio.run(run(load_settings(), float(os.environ["SECONDS_A_BATCH"]), with_remote="WITH_REMOTE" in os.environ))
