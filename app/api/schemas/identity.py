"""Bodies about the caller and the service itself."""

from uuid import UUID

from pydantic import Field

from app.api.schemas.base import ReadModel
from app.api.schemas.workspaces import WorkspaceRead


class UserRead(ReadModel):
    """The caller. E-mail and name are for display only."""

    id: UUID
    email: str | None
    display_name: str | None


class MeRead(ReadModel):
    """The caller and where they may work."""

    user: UserRead
    workspaces: list[WorkspaceRead]


class LimitsRead(ReadModel):
    """What the service accepts."""

    max_upload_bytes: int
    max_pages: int
    max_question_characters: int


class ConfigRead(ReadModel):
    """What a client needs before anybody is signed in."""

    issuer: str
    client_id: str
    cli_client_id: str
    audience: str
    api_scope: str = Field(description="Scope to ask for; empty means that the audience is named as `resource`.")
    limits: LimitsRead
    formats: list[str]
    features: list[str]


class ReadinessRead(ReadModel):
    """The outcome of each check: `ok`, or in words what is wrong."""

    status: str
    checks: dict[str, str]
