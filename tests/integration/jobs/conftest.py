"""A queue that holds nothing else, without a worker."""

from collections.abc import AsyncIterator

import procrastinate
import pytest

from app.bootstrap import Services
from tests.support.databases import DatabaseUrls
from tests.support.queues import empty
from tests.support.tenants import Tenant, Tenants


@pytest.fixture(autouse=True)
async def empty_queue(database_urls: DatabaseUrls) -> None:
    await empty(database_urls)


@pytest.fixture
async def tenant(tenants: Tenants) -> Tenant:
    return await tenants.workspace()


@pytest.fixture
async def queue_app(services: Services) -> AsyncIterator[procrastinate.App]:
    """The queue as a worker opens it."""
    async with services.queue_app.open_async() as app:
        yield app
