"""Servers that the bench starts itself, and the service's services on them."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from app.bootstrap import Services
from bench.composition import open_services, settings_of
from bench.embedder import HashEmbedder
from bench.observing import Observer, observing
from bench.servers import Servers, running_servers


@dataclass(frozen=True, slots=True)
class Stage:
    """What the tests of kills and watchers work with."""

    servers: Servers
    services: Services
    observer: Observer


@pytest.fixture(scope="session")
async def stage() -> AsyncIterator[Stage]:
    with running_servers() as servers:
        async with (
            open_services(settings_of(servers.settings), HashEmbedder()) as services,
            observing(servers.superuser_url) as observer,
        ):
            yield Stage(servers, services, observer)
