"""Users and workspaces made through the product's own services."""

from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import uuid4

from app.auth.principal import Principal
from app.core.tenancy import Role, WorkspaceScope
from app.workspaces.service import WorkspaceService
from app.workspaces.types import User, Workspace
from tests.support.issuer import ISSUER


@dataclass(frozen=True, slots=True)
class Tenant:
    """A workspace with its first owner."""

    workspace: Workspace
    owner: User
    scope: WorkspaceScope


class Tenants:
    """Makes users and workspaces; names are random, so that tests never meet."""

    def __init__(self, service: WorkspaceService) -> None:
        self._service = service

    async def user(self, subject: str | None = None) -> User:
        """Return a user that has made a first request."""
        return await self._service.user_for(principal(subject or f"user-{uuid4()}"))

    async def workspace(self, owner: User | None = None) -> Tenant:
        """Return a new workspace with its owner."""
        owner = owner or await self.user()
        workspace = await self._service.create(owner, "Field service")
        return Tenant(workspace, owner, await self.enter(owner, workspace))

    async def enter(self, user: User, workspace: Workspace) -> WorkspaceScope:
        """Return the scope of a member."""
        return await self._service.enter(user, workspace.id, token_id=str(uuid4()), request_id=str(uuid4()))

    async def member(self, tenant: Tenant, role: Role = Role.MEMBER) -> tuple[User, WorkspaceScope]:
        """Return a new member of a workspace, who came by invitation."""
        user = await self.user()
        invitation = await self._service.invite(tenant.scope, role)
        await self._service.accept(user, invitation.token)
        return user, await self.enter(user, tenant.workspace)


def principal(subject: str, *, email: str | None = None, name: str | None = None) -> Principal:
    """Return what a token of this subject proves."""
    expires_at = datetime(2099, 1, 1, tzinfo=UTC)
    return Principal(ISSUER, subject, str(uuid4()), None, email, name, frozenset(), expires_at)
