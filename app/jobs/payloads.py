"""What each job carries. Payloads are validated again when the job runs."""

from enum import StrEnum
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field


class TaskName(StrEnum):
    """Every task that the worker knows."""

    INGEST = "ingest"
    REMOVE_BLOBS = "remove_blobs"


class _Payload(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    workspace_id: UUID


class IngestPayload(_Payload):
    """Make one content searchable, on behalf of the member who brought it."""

    content_sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    user_id: UUID


class RemoveBlobsPayload(_Payload):
    """Remove stored bytes whose rows are gone. Keys are never used again, so it can run at any time, twice."""

    keys: tuple[str, ...] = Field(min_length=1, max_length=10_000)
