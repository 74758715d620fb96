import asyncio
from datetime import datetime, timedelta

import pytest
from sqlalchemy import select

from app.bootstrap import Services
from app.core.clock import utc_now
from app.core.errors import ForbiddenError
from app.core.tenancy import Role
from app.db.models import Invitation
from app.db.session import in_workspace
from app.workspaces.errors import AlreadyMemberError, InvitationNotFoundError
from app.workspaces.service import WorkspaceService
from tests.support.tenants import Tenants


async def test_an_invitation_lets_exactly_one_of_twenty_callers_in(services: Services, tenants: Tenants) -> None:
    tenant = await tenants.workspace()
    invitation = await services.workspaces.invite(tenant.scope, Role.MEMBER)
    users = [await tenants.user() for _ in range(20)]
    outcomes = await asyncio.gather(
        *(services.workspaces.accept(user, invitation.token) for user in users), return_exceptions=True
    )
    refusals = [outcome for outcome in outcomes if isinstance(outcome, InvitationNotFoundError)]
    assert len(refusals) == 19
    assert len(await services.workspaces.members(tenant.scope, limit=30)) == 2


async def test_unknown_used_and_old_invitations_get_the_same_answer(services: Services, tenants: Tenants) -> None:
    tenant = await tenants.workspace()
    used = await services.workspaces.invite(tenant.scope, Role.MEMBER)
    await services.workspaces.accept(await tenants.user(), used.token)
    old = await services.workspaces.invite(tenant.scope, Role.MEMBER)
    user = await tenants.user()

    def in_a_week() -> datetime:
        return utc_now() + timedelta(days=7, seconds=1)

    later = WorkspaceService(services.database, services.queue, services.embedders, in_a_week)
    details = set()
    for service, token in ((later, old.token), (services.workspaces, used.token), (services.workspaces, "unknown")):
        with pytest.raises(InvitationNotFoundError) as refusal:
            await service.accept(user, token)
        details.add((refusal.value.status, refusal.value.code, refusal.value.detail))
    assert len(details) == 1
    assert await services.workspaces.list_for(user) == []


async def test_an_invitation_dies_with_the_ownership_of_its_maker(services: Services, tenants: Tenants) -> None:
    tenant = await tenants.workspace()
    other, other_scope = await tenants.member(tenant, Role.OWNER)
    way_back = await services.workspaces.invite(other_scope, Role.OWNER)
    await services.workspaces.remove_member(tenant.scope, other.id)
    with pytest.raises(InvitationNotFoundError):
        await services.workspaces.accept(other, way_back.token)


async def test_a_member_does_not_use_up_an_invitation(services: Services, tenants: Tenants) -> None:
    tenant = await tenants.workspace()
    invitation = await services.workspaces.invite(tenant.scope, Role.MEMBER)
    with pytest.raises(AlreadyMemberError):
        await services.workspaces.accept(tenant.owner, invitation.token)
    joined = await services.workspaces.accept(await tenants.user(), invitation.token)
    assert (joined.id, joined.role) == (tenant.workspace.id, Role.MEMBER)


async def test_the_secret_of_an_invitation_is_not_stored(services: Services, tenants: Tenants) -> None:
    tenant = await tenants.workspace()
    invitation = await services.workspaces.invite(tenant.scope, Role.OWNER)
    async with services.database.workspace(tenant.scope) as session:
        row = await session.scalar(select(Invitation).where(in_workspace(Invitation, tenant.scope)))
    assert row is not None
    assert row.expires_at - row.created_at == pytest.approx(timedelta(days=7), abs=timedelta(seconds=5))
    assert invitation.token not in {str(value) for value in vars(row).values()}


async def test_a_member_cannot_invite(services: Services, tenants: Tenants) -> None:
    _, scope = await tenants.member(await tenants.workspace())
    with pytest.raises(ForbiddenError):
        await services.workspaces.invite(scope, Role.MEMBER)
