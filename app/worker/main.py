"""Runs a worker until it is told to stop."""

import asyncio

import structlog

from app.bootstrap import Services, build_services
from app.core.config import Settings
from app.db.engine import check_role
from app.worker.job_logs import hide_job_arguments
from app.worker.sweep import sweep_forever
from app.worker.tasks import register
from app.worker.timing import WorkerTiming

log = structlog.get_logger(__name__)


async def run_worker(settings: Settings) -> None:
    """Fetch and run jobs; SIGTERM and SIGINT end it within its grace time.

    Raises:
        ConfigurationError: The database role is not bound by row-level security.
    """
    async with build_services(settings) as services:
        await check_role(services.database.engine)
        await work(services, WorkerTiming())


async def work(services: Services, timing: WorkerTiming) -> None:
    """Fetch and run jobs with opened services until a signal comes."""
    app = services.queue_app
    register(app)
    hide_job_arguments()
    async with app.open_async():
        sweeper = asyncio.create_task(sweep_forever(services, app, timing))
        try:
            log.info("worker.ready", concurrency=services.settings.worker_concurrency)
            await app.run_worker_async(
                concurrency=services.settings.worker_concurrency,
                fetch_job_polling_interval=timing.poll_every.total_seconds(),
                shutdown_graceful_timeout=timing.grace.total_seconds(),
                update_heartbeat_interval=timing.heartbeat_every.total_seconds(),
                stalled_worker_timeout=timing.stalled_after.total_seconds(),
                delete_jobs="successful",
                additional_context={"services": services},
            )
        finally:
            sweeper.cancel()
            await asyncio.wait([sweeper])
