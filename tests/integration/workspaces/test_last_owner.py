import asyncio

import pytest

from app.bootstrap import Services
from app.core.tenancy import Role
from app.workspaces.errors import LastOwnerError
from tests.support.tenants import Tenants


async def test_the_last_owner_can_neither_leave_nor_be_demoted(services: Services, tenants: Tenants) -> None:
    tenant = await tenants.workspace()
    await tenants.member(tenant)
    with pytest.raises(LastOwnerError):
        await services.workspaces.remove_member(tenant.scope, tenant.owner.id)
    with pytest.raises(LastOwnerError):
        await services.workspaces.set_role(tenant.scope, tenant.owner.id, Role.MEMBER)
    assert [member.role for member in await services.workspaces.members(tenant.scope, limit=10)] == [
        Role.OWNER,
        Role.MEMBER,
    ]


async def test_of_two_owners_that_leave_at_once_exactly_one_leaves(services: Services, tenants: Tenants) -> None:
    for _ in range(20):
        tenant = await tenants.workspace()
        other, other_scope = await tenants.member(tenant, Role.OWNER)
        outcomes = await asyncio.gather(
            services.workspaces.remove_member(tenant.scope, tenant.owner.id),
            services.workspaces.remove_member(other_scope, other.id),
            return_exceptions=True,
        )
        assert sorted(map(type, outcomes), key=str) == sorted([LastOwnerError, type(None)], key=str)


async def test_of_two_owners_that_demote_each_other_one_stays_owner(services: Services, tenants: Tenants) -> None:
    for _ in range(20):
        tenant = await tenants.workspace()
        other, other_scope = await tenants.member(tenant, Role.OWNER)
        await asyncio.gather(
            services.workspaces.set_role(tenant.scope, other.id, Role.MEMBER),
            services.workspaces.set_role(other_scope, tenant.owner.id, Role.MEMBER),
            return_exceptions=True,
        )
        roles = [entry.role for user in (tenant.owner, other) for entry in await services.workspaces.list_for(user)]
        assert roles.count(Role.OWNER) == 1
