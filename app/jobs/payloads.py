"""What each job carries. Payloads are validated again when the job runs."""

from collections.abc import Mapping
from enum import StrEnum
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, ValidationError


class TaskName(StrEnum):
    """Every task that the worker knows."""

    INGEST = "ingest"
    REMOVE_BLOBS = "remove_blobs"
    REEMBED = "reembed"
    REMOVE_OLD_VECTORS = "remove_old_vectors"
    ARRANGE_VECTORS = "arrange_vectors"


class Payload(BaseModel):
    """What every job carries: the one workspace that it works in."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    workspace_id: UUID


class IngestPayload(Payload):
    """Make one content searchable, on behalf of the member who brought it.

    The size of the file decides the lane and what the job counts in its workspace's share. `outages` counts the runs in
    a row that came to nothing because a part was away: each waits longer than the one before.
    """

    content_sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    user_id: UUID
    size_bytes: int = Field(ge=0, lt=2**53)
    outages: int = Field(default=0, ge=0)


class RemoveBlobsPayload(Payload):
    """Remove stored bytes whose rows are gone. Keys are never used again, so it can run at any time, twice."""

    keys: tuple[str, ...] = Field(min_length=1, max_length=10_000)


class ReembedPayload(Payload):
    """Give the passages of a workspace vectors of the model of its choice, on behalf of who made or changed it."""

    user_id: UUID


class RemoveOldVectorsPayload(Payload):
    """Remove the vectors of models that a workspace has left."""

    user_id: UUID


class ArrangeVectorsPayload(Payload):
    """Lay the vectors of a large workspace out in cells, and compare a search through them with an exact scan."""

    user_id: UUID


PAYLOADS: Mapping[TaskName, type[Payload]] = {
    TaskName.INGEST: IngestPayload,
    TaskName.REMOVE_BLOBS: RemoveBlobsPayload,
    TaskName.REEMBED: ReembedPayload,
    TaskName.REMOVE_OLD_VECTORS: RemoveOldVectorsPayload,
    TaskName.ARRANGE_VECTORS: ArrangeVectorsPayload,
}


def wrong_fields(error: ValidationError) -> tuple[str, ...]:
    """Return which fields of a payload are wrong. A field that is too much may have any name, so it is not named."""
    broken = [".".join(map(str, each["loc"])) for each in error.errors() if each["type"] != "extra_forbidden"]
    return tuple(broken) or ("fields that the task does not know",)
