"""Workers as processes of their own, over a queue that holds nothing else."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from app.bootstrap import Services
from app.core.config import Settings
from tests.support.bound import bound
from tests.support.databases import DatabaseUrls
from tests.support.documents import Shelf
from tests.support.queues import empty
from tests.support.tenants import Tenant, Tenants

ROOT = Path(__file__).parents[3]


class WorkerProcess:
    """One running worker.

    Args:
        process: The process.
        log: File that its log goes to.
    """

    def __init__(self, process: asyncio.subprocess.Process, log: Path) -> None:
        self.process = process
        self._log = log

    def log(self) -> str:
        """Return what it has logged so far."""
        return self._log.read_text()

    async def stop(self) -> None:
        """Kill it, if it still runs."""
        if self.process.returncode is None:
            self.process.kill()
            await self.process.wait()


Start = Callable[..., Awaitable[WorkerProcess]]


@pytest.fixture(scope="session")
def shelf(services: Services, settings: Settings) -> Shelf:
    return Shelf(services, settings.blob_path)


@pytest.fixture
async def tenant(tenants: Tenants) -> Tenant:
    return await tenants.workspace()


@pytest.fixture(autouse=True)
async def empty_queue(database_urls: DatabaseUrls) -> None:
    await empty(database_urls)


@pytest.fixture
async def start(settings: Settings, tmp_path: Path) -> AsyncIterator[Start]:
    """Starts workers: by the command line, or with a pace in seconds for each batch of vectors."""
    running: list[WorkerProcess] = []

    async def started(pace: float | None = None, **given: str) -> WorkerProcess:
        script = Path(__file__).with_name("worker_process.py")
        command = ["-m", "app.cli.main", "worker"] if pace is None else [str(script)]
        log = tmp_path / f"worker-{len(running)}.log"
        with log.open("wb") as output:
            process = await asyncio.create_subprocess_exec(
                *bound(*command),
                cwd=ROOT,
                env={**os.environ, **environment(settings), **given, "SECONDS_A_BATCH": str(pace)},
                stdout=output,
                stderr=output,
            )
        running.append(WorkerProcess(process, log))
        return running[-1]

    yield started
    for worker in running:
        await worker.stop()


def environment(settings: Settings) -> dict[str, str]:
    return {
        "PYTHONPATH": str(ROOT),
        "DATABASE_URL": settings.database_url.get_secret_value(),
        "REDIS_CACHE_URL": settings.redis_cache_url.get_secret_value(),
        "REDIS_LIMITS_URL": settings.redis_limits_url.get_secret_value(),
        "OIDC_ISSUER": settings.oidc_issuer,
        "BLOB_PATH": str(settings.blob_path),
    }
