"""What was made from the bytes of one file: its processing state and its canonical text."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import REAL, BigInteger, FetchedValue, LargeBinary, func
from sqlalchemy.orm import Mapped, mapped_column

from app.db.models.base import TenantRow


class Content(TenantRow):
    """One file's bytes in a workspace.

    `fence` rises with each claim; only its holder may write, and nobody else may claim until `lease_until`. A run
    began its stage at `stage_started_at`, when `stage_started_done` steps of it were done. `language` is an ISO 639-1
    code, empty where none is told; the words of its chunks were taken by the configuration `text_search`. `counted`,
    whether they are in the counts of the workspace, is kept by database triggers and never written here.
    """

    __tablename__ = "contents"

    sha256: Mapped[str] = mapped_column(primary_key=True)
    blob_key: Mapped[str]
    media_type: Mapped[str]
    size_bytes: Mapped[int] = mapped_column(BigInteger)
    status: Mapped[str] = mapped_column(default="queued")
    done: Mapped[int] = mapped_column(default=0)
    total: Mapped[int] = mapped_column(default=0)
    reason: Mapped[str | None]
    detail: Mapped[str | None]
    warnings: Mapped[list[str]] = mapped_column(default=list)
    page_count: Mapped[int] = mapped_column(default=0)
    chunk_count: Mapped[int] = mapped_column(default=0)
    parser_version: Mapped[str] = mapped_column(default="")
    chunker_version: Mapped[str] = mapped_column(default="")
    embedding_model: Mapped[str] = mapped_column(default="")
    language: Mapped[str] = mapped_column(default="")
    text_search: Mapped[str] = mapped_column(default="simple")
    counted: Mapped[bool] = mapped_column(server_default=FetchedValue(), server_onupdate=FetchedValue())
    created_by: Mapped[UUID]
    attempts: Mapped[int] = mapped_column(default=0)
    fence: Mapped[int] = mapped_column(BigInteger, default=0)
    lease_until: Mapped[datetime | None]
    stage_started_at: Mapped[datetime] = mapped_column(server_default=func.now())
    stage_started_done: Mapped[int] = mapped_column(default=0)
    pages_without_text: Mapped[list[int]] = mapped_column(default=list)
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    updated_at: Mapped[datetime] = mapped_column(server_default=func.now(), onupdate=func.now())


class Page(TenantRow):
    """One page of the canonical text; page texts in order, joined, are the text that offsets count in.

    `boxes` are packed as `app.core.boxes` says.
    """

    __tablename__ = "pages"

    content_sha256: Mapped[str] = mapped_column(primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)
    label: Mapped[str]
    start_offset: Mapped[int]
    text: Mapped[str]
    furniture: Mapped[list[str]] = mapped_column(default=list)
    has_text: Mapped[bool]
    width: Mapped[float | None] = mapped_column(REAL)
    height: Mapped[float | None] = mapped_column(REAL)
    boxes: Mapped[bytes] = mapped_column(LargeBinary, default=b"")
