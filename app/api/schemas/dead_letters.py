"""What the routes of dead letters give."""

from datetime import datetime
from uuid import UUID

from pydantic import Field

from app.api.schemas.base import ReadModel


class DeadLetterRead(ReadModel):
    """A job that was given up."""

    id: UUID
    task: str = Field(description="What was to be done: ingest, remove_blobs or reembed.")
    reason: str = Field(description="Why it was given up, as a code.")
    detail: str = Field(description="Why it was given up and what to do, in words.")
    attempts: int = Field(description="How often it was tried.")
    document_ids: list[UUID] = Field(description="Documents that the caller may read and that it was about.")
    created_at: datetime
    requeued_at: datetime | None = Field(description="When somebody asked for it again; null while it waits.")
    requeued_by: UUID | None = Field(description="Who asked for it again.")
