from uuid import uuid4

import pytest
import sqlalchemy as sa

from app.bootstrap import Services
from app.core.errors import ForbiddenError
from app.core.tenancy import WorkspaceScope
from app.db import models
from tests.support.tenants import Tenants


async def put_document(services: Services, scope: WorkspaceScope, name: str, sha256: str) -> None:
    """Write the rows of one ready document, as the worker would leave them."""
    document, version = uuid4(), uuid4()
    tenant = {"workspace_id": scope.workspace_id}
    async with services.database.workspace(scope) as session:
        session.add(
            models.Content(
                **tenant,
                sha256=sha256,
                blob_key=f"{scope.workspace_id}/{uuid4()}",
                media_type="text/plain",
                size_bytes=1,
                status="ready",
                chunk_count=1,
                created_by=scope.user_id,
            )
        )
        await session.flush()
        session.add(
            models.Document(
                **tenant,
                id=document,
                name=name,
                visibility="workspace",
                named_by=scope.user_id,
                created_by=scope.user_id,
            )
        )
        await session.flush()
        session.add(
            models.Version(
                **tenant, id=version, document_id=document, content_sha256=sha256, number=1, created_by=scope.user_id
            )
        )
        await session.flush()
        current = {"latest_version_id": version, "current_version_id": version}
        await session.execute(sa.update(models.Document).where(models.Document.id == document).values(**current))


async def test_deletion_leaves_nothing_of_the_workspace_and_everything_of_others(
    services: Services, tenants: Tenants
) -> None:
    tenant, other = await tenants.workspace(), await tenants.workspace()
    for scope in (tenant.scope, other.scope):
        for number in range(3):
            await put_document(services, scope, f"document {number}", f"{number:064x}")

    receipt = await services.workspaces.delete(tenant.scope)

    assert receipt.workspace_id == tenant.workspace.id
    expected = {"documents": 3, "versions": 3, "files": 3, "members": 1}
    assert {name: count for name, count in receipt.removed.items() if count} == expected
    async with services.database.founding(tenant.workspace.id) as session:
        for table in (models.Workspace, models.Membership, models.Document, models.Version, models.Content):
            assert await session.scalar(sa.select(sa.func.count()).select_from(table)) == 0
    async with services.database.workspace(other.scope) as session:
        assert await session.scalar(sa.select(sa.func.count()).select_from(models.Document)) == 3


async def test_deletion_enlists_the_removal_of_each_stored_file_in_its_transaction(
    services: Services, tenants: Tenants
) -> None:
    tenant = await tenants.workspace()
    await put_document(services, tenant.scope, "document", "a" * 64)
    await services.workspaces.delete(tenant.scope)
    statement = sa.text("SELECT args -> 'keys' FROM procrastinate_jobs WHERE args ->> 'workspace_id' = :workspace_id")
    async with services.database.identity() as session:
        keys = (await session.scalars(statement, {"workspace_id": str(tenant.workspace.id)})).all()
    assert [key.startswith(str(tenant.workspace.id)) for (key,) in keys] == [True]


async def test_a_member_cannot_delete_and_nothing_is_lost_by_trying(services: Services, tenants: Tenants) -> None:
    tenant = await tenants.workspace()
    await put_document(services, tenant.scope, "document", "b" * 64)
    _, scope = await tenants.member(tenant)
    with pytest.raises(ForbiddenError):
        await services.workspaces.delete(scope)
    async with services.database.workspace(tenant.scope) as session:
        assert await session.scalar(sa.select(sa.func.count()).select_from(models.Document)) == 1
