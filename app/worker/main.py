"""Runs a worker until it is told to stop."""

import asyncio
import os

import structlog

from app.bootstrap import Services, build_services
from app.core.config import Settings
from app.db.engine import check_role
from app.worker.job_logs import hide_job_arguments
from app.worker.lanes import run_lanes
from app.worker.sweep import sweep_forever
from app.worker.tasks import register
from app.worker.timing import WorkerTiming

log = structlog.get_logger(__name__)

# Reading documents takes all processor time that it gets, and nobody waits for it to the second. Questions come first.
_NICENESS = 10


async def run_worker(settings: Settings) -> None:
    """Fetch and run jobs; SIGTERM and SIGINT end it within its grace time.

    Raises:
        ConfigurationError: The database role is not bound by row-level security.
    """
    os.nice(_NICENESS)  # before there are threads and children, which take it over
    async with build_services(settings) as services:
        await check_role(services.database.engine)
        await work(services, WorkerTiming())


async def work(services: Services, timing: WorkerTiming) -> None:
    """Fetch and run jobs with opened services until a signal comes."""
    app, concurrency = services.queue_app, services.settings.worker_concurrency
    register(app)
    hide_job_arguments()
    async with app.open_async():
        sweeper = asyncio.create_task(sweep_forever(services, app, timing))
        try:
            log.info("worker.ready", concurrency=concurrency)
            await run_lanes(app, concurrency, timing, {"services": services, "timing": timing})
        finally:
            sweeper.cancel()
            await asyncio.wait([sweeper])
