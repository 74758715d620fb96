"""What the queue has given up, and stored bytes that wait to be referred to or removed."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import func
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from app.db.models.base import TenantRow


class DeadLetter(TenantRow):
    """A job that was given up; in the nil workspace when its payload names no workspace."""

    __tablename__ = "dead_letters"

    id: Mapped[UUID] = mapped_column(primary_key=True)
    task: Mapped[str]
    payload: Mapped[dict[str, Any]] = mapped_column(JSONB)
    content_sha256: Mapped[str | None]
    reason: Mapped[str]
    detail: Mapped[str]
    attempts: Mapped[int]
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    requeued_at: Mapped[datetime | None]
    requeued_by: Mapped[UUID | None]


class PendingBlob(TenantRow):
    """A key in the blob store that no content refers to yet, or any more."""

    __tablename__ = "pending_blobs"

    blob_key: Mapped[str] = mapped_column(primary_key=True)
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
