import asyncio
from uuid import uuid4

import pytest
from sqlalchemy import func, select

from app.bootstrap import Services
from app.core.errors import ForbiddenError, NotFoundError
from app.core.ids import UserId, WorkspaceId
from app.core.tenancy import Role
from app.db.models import User
from app.workspaces.types import MemberPosition
from tests.support.tenants import Tenants, principal


async def test_fifty_first_requests_of_one_user_make_one_row(services: Services) -> None:
    subject = f"user-{uuid4()}"
    users = await asyncio.gather(*(services.workspaces.user_for(principal(subject)) for _ in range(50)))
    assert len({user.id for user in users}) == 1
    async with services.database.identity() as session:
        count = await session.scalar(select(func.count()).select_from(User).where(User.subject == subject))
    assert count == 1


async def test_a_subject_of_another_issuer_is_another_user(services: Services) -> None:
    subject = f"user-{uuid4()}"
    own = principal(subject, email="same@example.com")
    foreign = type(own)("https://other.example", subject, "t", None, own.email, None, frozenset(), own.expires_at)
    first, second = await services.workspaces.user_for(own), await services.workspaces.user_for(foreign)
    assert first.id != second.id


async def test_display_fields_follow_the_token_and_stay_when_it_has_none(services: Services) -> None:
    subject = f"user-{uuid4()}"
    first = await services.workspaces.user_for(principal(subject, email="a@example.com", name="A"))
    changed = await services.workspaces.user_for(principal(subject, email="b@example.com", name="B"))
    silent = await services.workspaces.user_for(principal(subject))
    assert (first.email, changed.email, silent.email, silent.display_name) == (
        "a@example.com",
        "b@example.com",
        "b@example.com",
        "B",
    )


async def test_a_stranger_cannot_tell_a_workspace_from_none(services: Services, tenants: Tenants) -> None:
    tenant, stranger = await tenants.workspace(), await tenants.user()
    refusals = set()
    for workspace_id in (tenant.workspace.id, WorkspaceId(uuid4())):
        with pytest.raises(ForbiddenError) as refusal:
            await services.workspaces.enter(stranger, workspace_id, token_id="t", request_id="r")
        refusals.add(refusal.value.detail)
    assert len(refusals) == 1


async def test_a_removed_member_is_refused_on_the_next_request(services: Services, tenants: Tenants) -> None:
    tenant = await tenants.workspace()
    user, _ = await tenants.member(tenant)
    await services.workspaces.remove_member(tenant.scope, user.id)
    with pytest.raises(ForbiddenError):
        await tenants.enter(user, tenant.workspace)


async def test_a_member_may_leave_and_remove_nobody_else(services: Services, tenants: Tenants) -> None:
    tenant = await tenants.workspace()
    user, scope = await tenants.member(tenant)
    other, _ = await tenants.member(tenant)
    with pytest.raises(ForbiddenError):
        await services.workspaces.remove_member(scope, other.id)
    await services.workspaces.remove_member(scope, user.id)
    left = await services.workspaces.members(tenant.scope, limit=10)
    assert [member.user_id for member in left] == [tenant.owner.id, other.id]


async def test_a_demoted_owner_with_an_old_scope_can_do_nothing(services: Services, tenants: Tenants) -> None:
    tenant = await tenants.workspace()
    _, scope = await tenants.member(tenant, Role.OWNER)
    await services.workspaces.set_role(tenant.scope, scope.user_id, Role.MEMBER)
    with pytest.raises(ForbiddenError):
        await services.workspaces.delete(scope)
    assert (await services.workspaces.current(tenant.scope)).name == "Field service"


async def test_changing_or_removing_a_stranger_finds_nobody(services: Services, tenants: Tenants) -> None:
    tenant, elsewhere = await tenants.workspace(), await tenants.workspace()
    for stranger in (elsewhere.owner.id, UserId(uuid4())):
        with pytest.raises(NotFoundError, match="no such member"):
            await services.workspaces.set_role(tenant.scope, stranger, Role.MEMBER)
        with pytest.raises(NotFoundError, match="no such member"):
            await services.workspaces.remove_member(tenant.scope, stranger)
    assert len(await services.workspaces.members(elsewhere.scope, limit=10)) == 1


async def test_members_come_in_pages_without_gaps(services: Services, tenants: Tenants) -> None:
    tenant = await tenants.workspace()
    for _ in range(4):
        await tenants.member(tenant)
    whole = await services.workspaces.members(tenant.scope, limit=10)
    assert len(whole) == 5
    after = MemberPosition(whole[1].joined_at, whole[1].user_id)
    assert await services.workspaces.members(tenant.scope, limit=2, after=after) == whole[2:4]


async def test_a_job_gets_the_least_rights_and_finds_nothing_after_deletion(
    services: Services, tenants: Tenants
) -> None:
    tenant = await tenants.workspace()
    scope = services.workspaces.scope_for_job(tenant.workspace.id, tenant.owner.id, "job-1")
    assert (scope.role, scope.token_id, scope.user_id) == (Role.MEMBER, "job-1", tenant.owner.id)
    assert (await services.workspaces.current(scope)).id == tenant.workspace.id
    await services.workspaces.delete(tenant.scope)
    with pytest.raises(NotFoundError):
        await services.workspaces.current(scope)
