"""The values that documents are described by."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import BinaryIO

from app.core.boxes import Box
from app.core.ids import DocumentId, UserId, VersionId


class Visibility(StrEnum):
    """Who may read a document."""

    WORKSPACE = "workspace"
    RESTRICTED = "restricted"


class Status(StrEnum):
    """How far a document's newest version has come."""

    QUEUED = "queued"
    PARSING = "parsing"
    CHUNKING = "chunking"
    EMBEDDING = "embedding"
    READY = "ready"
    FAILED = "failed"

    @property
    def final(self) -> bool:
        """Whether nothing more will happen without a new request."""
        return self in (Status.READY, Status.FAILED)


class Outcome(StrEnum):
    """What an upload turned out to be."""

    CREATED = "created"
    IDENTICAL = "identical"
    NEW_VERSION = "new_version"
    SAME_CONTENT = "same_content"


@dataclass(frozen=True, slots=True)
class Upload:
    """A received file, open for reading and seeking until the call returns."""

    name: str
    file: BinaryIO
    visibility: Visibility


@dataclass(frozen=True, slots=True)
class UploadResult:
    """What became of an upload."""

    document_id: DocumentId
    version_id: VersionId
    outcome: Outcome
    status: Status
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DocumentView:
    """A document as its readers see it: its newest version's progress, and sizes of that version.

    Attributes:
        estimate_seconds: How long the stage goes on at its pace so far; None while that is unknown.
        pages_without_text: Numbers of the pages that nothing can be quoted from.
        grants: Who else may read it while it is restricted; None for those who may not change that.
    """

    id: DocumentId
    name: str
    status: Status
    stage: str
    done: int
    total: int
    estimate_seconds: int | None
    reason: str | None
    detail: str | None
    warnings: tuple[str, ...]
    pages_without_text: tuple[int, ...]
    version_id: VersionId
    page_count: int
    chunk_count: int
    size_bytes: int
    visibility: Visibility
    grants: tuple[UserId, ...] | None
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class DocumentPage:
    """One page of the canonical text of one version.

    Attributes:
        width: Width of the page in points; None where pages have no size.
        height: Height of the page in points; None where pages have no size.
        boxes: Where its words stand, each of some width and height; None when that was not asked for or is unknown.
    """

    number: int
    label: str
    text: str
    version_id: VersionId
    width: float | None
    height: float | None
    boxes: tuple[Box, ...] | None


@dataclass(frozen=True, slots=True)
class DocumentContent:
    """Where the original bytes of a version are."""

    name: str
    media_type: str
    size_bytes: int
    blob_key: str


@dataclass(frozen=True, slots=True)
class DocumentChanges:
    """What to change; None leaves a field as it is."""

    name: str | None = None
    visibility: Visibility | None = None
    grants: tuple[UserId, ...] | None = None


@dataclass(frozen=True, slots=True)
class DeletionReceipt:
    """What a deletion took from where, and what a look afterwards found left.

    Attributes:
        removed: Rows by table, stored files as `blobs`, cached answers as `cache_entries`; None where it is unknown.
        remaining: What is left of the same places; 0 everywhere when all is done, None where nobody could look.
        detail: The same in words.
    """

    document_id: DocumentId
    removed: Mapping[str, int | None]
    remaining: Mapping[str, int | None]
    detail: str
