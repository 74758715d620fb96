"""What runs as a process of the service: api and worker.

The api and the worker are named here and not imported, since the command line starts them and uses nothing of them.
So a client command does not load the web framework or the model either.
"""

import asyncio
import pkgutil
import signal
from collections.abc import Callable
from types import FrameType
from typing import Any

import uvicorn
from pydantic import ValidationError

from app.bootstrap import build_services
from app.cli.errors import CliError
from app.cli.faults import describe
from app.core.config import Settings, load_settings
from app.db.engine import check_role, create_engine
from app.telemetry.logging import configure_logging

_CREATE_APP = "app.api.main:create_app"
_RUN_WORKER = "app.worker.main:run_worker"
# Open streams get this long to send their last event.
_GRACE_SECONDS = 4


def settings() -> Settings:
    """Read the settings and start logging.

    Raises:
        CliError: Some are missing or wrong; the text names each.
    """
    try:
        found = load_settings()
    except ValidationError as error:
        raise CliError(describe(error, Settings)) from None
    configure_logging(found.log_level)
    return found


def serve(host: str, port: int) -> None:
    """Run the api until it is told to stop.

    Raises:
        ConfigurationError: The database role is not bound by row-level security.
        UnavailableError: The database does not answer.
    """
    asyncio.run(_serve(settings(), host, port))


async def _serve(found: Settings, host: str, port: int) -> None:
    await _check_role(found)
    async with build_services(found) as services:
        config = uvicorn.Config(
            _named(_CREATE_APP)(services),
            host=host,
            port=port,
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=_GRACE_SECONDS,
        )
        signal.signal(signal.SIGTERM, _already_handled)
        await uvicorn.Server(config).serve()


async def _check_role(found: Settings) -> None:
    """Look at the database role before anything else: loading the model takes longer."""
    engine = create_engine(found.database_url.get_secret_value(), pool_size=1)
    try:
        await check_role(engine)
    finally:
        await engine.dispose()


def _already_handled(_number: int, _frame: FrameType | None) -> None:
    """Take the signal that uvicorn raises again after it has stopped, so that the services are closed too."""


def worker() -> None:
    """Run a worker until it is told to stop.

    Raises:
        ConfigurationError: The database role is not bound by row-level security.
    """
    asyncio.run(_work(settings()))


async def _work(found: Settings) -> None:
    await _check_role(found)
    await _named(_RUN_WORKER)(found)


def _named(name: str) -> Callable[..., Any]:
    found: Callable[..., Any] = pkgutil.resolve_name(name)
    return found
