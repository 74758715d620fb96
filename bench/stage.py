"""The usual beginning of a measurement: servers, the api, clients of it and a look behind it."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass

from bench.client import Clients, clients_of
from bench.observing import Observer, observing
from bench.servers import Servers, running_api, running_servers


@dataclass(frozen=True, slots=True)
class Stage:
    """What a measurement works with; no worker runs yet."""

    servers: Servers
    clients: Clients
    observer: Observer


@contextlib.asynccontextmanager
async def open_stage() -> AsyncIterator[Stage]:
    """Start everything but a worker; stop and remove it when the block ends."""
    with running_servers() as servers, running_api(servers) as address:
        async with clients_of(address, servers.issuer) as clients, observing(servers.superuser_url) as observer:
            yield Stage(servers, clients, observer)
