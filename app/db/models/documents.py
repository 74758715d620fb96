"""Named documents, their versions, and who may read the restricted ones."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import FetchedValue, func
from sqlalchemy.dialects.postgresql import BIT
from sqlalchemy.orm import Mapped, mapped_column

from app.db.models.base import TenantRow


class Document(TenantRow):
    """A named thing. `latest` is what was uploaded last; `current` is what retrieval reads.

    `corpus_term` and `current_content`, the hash of what `current` is made of, are kept by database triggers and never
    written here.
    """

    __tablename__ = "documents"

    id: Mapped[UUID] = mapped_column(primary_key=True)
    name: Mapped[str]
    visibility: Mapped[str]
    identifiers: Mapped[list[str]] = mapped_column(default=list)
    named_by: Mapped[UUID]
    latest_version_id: Mapped[UUID | None]
    current_version_id: Mapped[UUID | None]
    corpus_term: Mapped[str] = mapped_column(BIT(128), server_default=FetchedValue(), server_onupdate=FetchedValue())
    current_content: Mapped[str | None] = mapped_column(server_default=FetchedValue(), server_onupdate=FetchedValue())
    created_by: Mapped[UUID]
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    updated_at: Mapped[datetime] = mapped_column(server_default=func.now(), onupdate=func.now())


class Version(TenantRow):
    """One content that a document has or had; numbered from 1."""

    __tablename__ = "versions"

    id: Mapped[UUID] = mapped_column(primary_key=True)
    document_id: Mapped[UUID]
    content_sha256: Mapped[str]
    number: Mapped[int]
    created_by: Mapped[UUID]
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())


class DocumentGrant(TenantRow):
    """The right of one member to read a restricted document."""

    __tablename__ = "document_grants"

    document_id: Mapped[UUID] = mapped_column(primary_key=True)
    user_id: Mapped[UUID] = mapped_column(primary_key=True)
