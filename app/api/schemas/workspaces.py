"""Bodies of workspaces, members and invitations."""

from datetime import datetime
from uuid import UUID

from pydantic import Field

from app.api.schemas.base import OneLine, ReadModel, RequestBody
from app.core.tenancy import Role
from app.llm.embedders import EmbedderChoice


class WorkspaceCreate(RequestBody):
    """A workspace to be made."""

    name: OneLine = Field(min_length=1, max_length=100, examples=["Field service"])


class WorkspaceUpdate(RequestBody):
    """What to change; a field that is left out stays as it is."""

    name: OneLine | None = Field(None, min_length=1, max_length=100)
    embedder: EmbedderChoice | None = Field(
        None,
        description="What embeds its documents and questions: `local`, inside of the service, so that no model server "
        "gets them; `remote`, the service's model server; `default`, whichever the service is configured with. All "
        "documents are embedded anew in the background.",
    )


class WorkspaceRead(ReadModel):
    """A workspace as the caller sees it."""

    id: UUID
    name: str
    role: Role
    created_at: datetime


class EmbedderRead(ReadModel):
    """An embedder that workspaces can choose."""

    name: EmbedderChoice
    model: str | None = Field(description="Its model; null while its server has not answered yet.")


class ReembeddingRead(ReadModel):
    """The change of a workspace to another embedding model; the old one serves until all is done."""

    model: str = Field(description="The new model.")
    done: int = Field(description="Passages that the new model has embedded, of those that the caller may read.")
    total: int = Field(description="All searchable passages that the caller may read.")


class CurrentWorkspaceRead(WorkspaceRead):
    """A workspace with the embedder of its choice and the model that it is searched by."""

    embedder: EmbedderChoice = Field(description="The embedder that its owner chose.")
    embedders: list[EmbedderRead] = Field(description="What this service offers to choose from.")
    embedding_model: str = Field(description="The model that questions are compared by; empty while nothing is ready.")
    reembedding: ReembeddingRead | None = Field(
        description="How far the change to the model of the chosen embedder is; null when there is none. While texts "
        "are kept from the server of the old model, questions find passages by words and identifiers only."
    )
    embedder_problem: str | None = Field(
        description="Why documents cannot be searched, or the chosen embedder not be used, and what to do, in words."
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
