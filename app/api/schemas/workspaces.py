"""Bodies of workspaces, members and invitations."""

from datetime import datetime
from uuid import UUID

from pydantic import Field

from app.api.schemas.base import OneLine, ReadModel, RequestBody
from app.core.tenancy import Role


class WorkspaceCreate(RequestBody):
    """A workspace to be made."""

    name: OneLine = Field(min_length=1, max_length=100, examples=["Field service"])


class WorkspaceUpdate(RequestBody):
    """What may change about a workspace."""

    name: OneLine = Field(min_length=1, max_length=100)


class WorkspaceRead(ReadModel):
    """A workspace as the caller sees it."""

    id: UUID
    name: str
    role: Role
    created_at: datetime


class ReembeddingRead(ReadModel):
    """The change of a workspace to another embedding model; the old one serves until all is done."""

    done: int = Field(description="Passages that the new model has embedded, of those that the caller may read.")
    total: int = Field(description="All searchable passages that the caller may read.")


class CurrentWorkspaceRead(WorkspaceRead):
    """A workspace with the model that it is searched by."""

    embedding_model: str = Field(description="The model that questions are compared by; empty while nothing is ready.")
    reembedding: ReembeddingRead | None = Field(
        description="How far the change to the configured model is; null when there is none."
    )


class DeletedWorkspaceRead(ReadModel):
    """The receipt of a deletion: how many things of each kind were removed."""

    workspace_id: UUID
    removed: dict[str, int]


class MemberRead(ReadModel):
    """A member of the workspace. Names and addresses come from the identity provider, for display."""

    user_id: UUID
    display_name: str | None
    email: str | None
    role: Role
    joined_at: datetime


class MemberUpdate(RequestBody):
    """What may change about a member."""

    role: Role


class InvitationCreate(RequestBody):
    """An invitation to be made."""

    role: Role = Role.MEMBER


class InvitationCreated(ReadModel):
    """A one-time invitation. `token` is shown here only; whoever has it may join once."""

    id: UUID
    token: str
    role: Role
    expires_at: datetime


class InvitationAccept(RequestBody):
    """The token of an invitation."""

    token: str = Field(min_length=1, max_length=200)
