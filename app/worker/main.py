"""Runs a worker until it is told to stop."""

import asyncio

import structlog

from app.bootstrap import build_services
from app.core.config import Settings
from app.db.engine import check_role
from app.jobs.queue import HEARTBEAT_EVERY, STALLED_AFTER
from app.worker.sweep import sweep
from app.worker.tasks import register

log = structlog.get_logger(__name__)

# A running file gets this long to finish at a stop; then it is left to the next worker.
_GRACE_SECONDS = 3.0


async def run_worker(settings: Settings) -> None:
    """Fetch and run jobs; SIGTERM and SIGINT end it within its grace time.

    Raises:
        ConfigurationError: The database role is not bound by row-level security.
    """
    async with build_services(settings) as services:
        await check_role(services.database.engine)
        app = services.queue_app
        register(app)
        async with app.open_async():
            await sweep(services, app, stalled_after=STALLED_AFTER, left_behind_after=STALLED_AFTER)
            log.info("worker.ready", concurrency=settings.worker_concurrency)
            await app.run_worker_async(
                concurrency=settings.worker_concurrency,
                fetch_job_polling_interval=2.0,
                shutdown_graceful_timeout=_GRACE_SECONDS,
                update_heartbeat_interval=HEARTBEAT_EVERY.total_seconds(),
                stalled_worker_timeout=STALLED_AFTER.total_seconds(),
                delete_jobs="successful",
                additional_context={"services": services},
            )


def main(settings: Settings) -> None:
    """Run a worker in this process."""
    asyncio.run(run_worker(settings))
