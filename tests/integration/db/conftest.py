"""Documents in workspaces of their own."""

import pytest

from app.bootstrap import Services
from app.core.config import Settings
from tests.support.documents import Shelf
from tests.support.tenants import Tenant, Tenants


@pytest.fixture(scope="session")
def shelf(services: Services, settings: Settings) -> Shelf:
    return Shelf(services, settings.blob_path)


@pytest.fixture
async def tenant(tenants: Tenants) -> Tenant:
    return await tenants.workspace()
