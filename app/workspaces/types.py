"""The values that users and workspaces are described by."""

from dataclasses import dataclass
from datetime import datetime

from app.core.ids import InvitationId, UserId, WorkspaceId
from app.core.tenancy import Role


@dataclass(frozen=True, slots=True)
class User:
    """One person or agent: an (issuer, subject). `email` and `display_name` are for display only."""

    id: UserId
    issuer: str
    subject: str
    email: str | None
    display_name: str | None


@dataclass(frozen=True, slots=True)
class Workspace:
    """A tenant as one of its members sees it."""

    id: WorkspaceId
    name: str
    role: Role
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Member:
    """A user who belongs to a workspace."""

    user_id: UserId
    display_name: str | None
    email: str | None
    role: Role
    joined_at: datetime


@dataclass(frozen=True, slots=True)
class MemberPosition:
    """Where a page of members ends: the order is by time of joining, then by id."""

    joined_at: datetime
    user_id: UserId


@dataclass(frozen=True, slots=True)
class NewInvitation:
    """An invitation as its maker sees it, once: `token` is not stored and cannot be read again."""

    id: InvitationId
    token: str
    role: Role
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class DeletedWorkspace:
    """The receipt of a deletion.

    Attributes:
        workspace_id: What was deleted.
        removed: Number of rows removed, by what they were.
    """

    workspace_id: WorkspaceId
    removed: dict[str, int]
