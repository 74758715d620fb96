from uuid import uuid4

import pytest

from app.core.errors import ForbiddenError
from app.core.ids import UserId, WorkspaceId
from app.core.tenancy import Role, WorkspaceScope
from app.workspaces.roles import require_owner, require_owner_or_self


def scope(role: Role) -> WorkspaceScope:
    return WorkspaceScope(WorkspaceId(uuid4()), UserId(uuid4()), role, "token", "request")


def test_only_an_owner_is_an_owner() -> None:
    require_owner(scope(Role.OWNER))
    with pytest.raises(ForbiddenError):
        require_owner(scope(Role.MEMBER))


def test_a_member_may_act_on_themself_only() -> None:
    member = scope(Role.MEMBER)
    require_owner_or_self(member, member.user_id)
    with pytest.raises(ForbiddenError):
        require_owner_or_self(member, UserId(uuid4()))
    require_owner_or_self(scope(Role.OWNER), UserId(uuid4()))
