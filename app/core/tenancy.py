"""Whose data a piece of code may touch, as types that only one place can make."""

from dataclasses import dataclass
from enum import StrEnum

from app.core.ids import UserId, WorkspaceId


class Role(StrEnum):
    """What a member may do in a workspace."""

    OWNER = "owner"
    MEMBER = "member"


@dataclass(frozen=True, slots=True)
class WorkspaceScope:
    """A proven right to act in one workspace.

    Only `app.workspaces.service` makes one for a request, after it has read the membership row.
    The worker makes one for a job through the same module. Every repository takes it.

    Attributes:
        workspace_id: The tenant that all statements are limited to.
        user_id: The member who acts; for a job, the member whose request caused it.
        role: The role read from the membership row for this request.
        token_id: `jti` of the access token, or the id of the job.
        request_id: Id made by us for this request; never taken from a client.
    """

    workspace_id: WorkspaceId
    user_id: UserId
    role: Role
    token_id: str
    request_id: str
