"""What the document routes take and give."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import UploadFile
from pydantic import Field, StringConstraints

from app.api.schemas.base import ReadModel, RequestBody
from app.documents.types import Outcome, Status, Visibility

DocumentName = Annotated[str, StringConstraints(min_length=1, max_length=255)]


class DocumentUpload(RequestBody):
    """A file with what to call it and who may read it."""

    file: UploadFile
    name: DocumentName | None = Field(None, description="Name of the document; the file's own name without it.")
    visibility: Visibility = Field(Visibility.WORKSPACE, description="Who may read it.")


class UploadAccepted(ReadModel):
    """What became of an upload."""

    document_id: UUID
    version_id: UUID
    outcome: Outcome
    status: Status
    warnings: list[str]


class DocumentRead(ReadModel):
    """A document with the progress of its newest version."""

    id: UUID
    name: str
    status: Status
    stage: str
    done: int = Field(description="Steps of the stage that are done: pages while chunking, chunks while embedding.")
    total: int = Field(description="Steps of the stage; 0 while unknown.")
    estimate_seconds: int | None = Field(
        description="How many seconds the stage goes on at its pace so far; null while that is unknown."
    )
    reason: str | None = Field(description="Why it failed, as a code.")
    detail: str | None = Field(description="Why it failed and what to do, or what it waits for, in words.")
    warnings: list[str]
    pages_without_text: list[int] = Field(description="Numbers of the pages that nothing can be quoted from.")
    version_id: UUID
    page_count: int
    chunk_count: int
    size_bytes: int
    visibility: Visibility
    grants: list[UUID] | None = Field(
        description="Members who may read it while it is restricted; null for those who may not change that."
    )
    created_at: datetime
    updated_at: datetime


class BoxRead(ReadModel):
    """Where a run of characters of a page's text stands; edges are parts of the page, 0 to 1, from its top left."""

    start: int
    end: int
    left: float
    top: float
    right: float
    bottom: float


class PageRead(ReadModel):
    """One page of a document's canonical text; citations count their offsets in `text`."""

    number: int
    label: str
    text: str
    version_id: UUID
    width: float | None = Field(description="Width in points; null for texts, whose pages have no size.")
    height: float | None = Field(description="Height in points; null for texts, whose pages have no size.")
    boxes: list[BoxRead] | None = Field(
        description="Where the words of `text` stand; null unless asked for, and where that is unknown. What the page "
        "does not show, such as the bars between the cells of a table, has none."
    )


class DocumentUpdate(RequestBody):
    """What to change; a field that is left out stays as it is."""

    name: DocumentName | None = None
    visibility: Visibility | None = None
    grants: list[UUID] | None = Field(
        None, max_length=1_000, description="Members who may read it while it is restricted; replaces the old list."
    )


class DeletionReceiptRead(ReadModel):
    """What a deletion took from where, and what a look afterwards found left."""

    document_id: UUID
    removed: dict[str, int | None] = Field(
        description="Rows by table, stored files as `blobs`, cached answers as `cache_entries`; null where unknown."
    )
    remaining: dict[str, int | None] = Field(
        description="What is left of the same places: 0 when all is done, null where nobody could look."
    )
    detail: str = Field(description="The same in words.")
