"""Tenants, who belongs to them, and the one-time links that let people in."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import BigInteger, FetchedValue, func
from sqlalchemy.dialects.postgresql import BIT
from sqlalchemy.orm import Mapped, mapped_column

from app.db.models.base import Base, TenantRow


class Workspace(Base):
    """One tenant.

    `corpus_version`, `corpus_terms` and the counts of what is searched are kept by database triggers and never written
    here. `embedder` is what its owner has chosen, `embedding_model` what it is searched by until that is reached.
    """

    __tablename__ = "workspaces"

    id: Mapped[UUID] = mapped_column(primary_key=True)
    name: Mapped[str]
    corpus_version: Mapped[str] = mapped_column(server_default=FetchedValue(), server_onupdate=FetchedValue())
    corpus_terms: Mapped[str] = mapped_column(BIT(128), server_default=FetchedValue(), server_onupdate=FetchedValue())
    embedding_model: Mapped[str] = mapped_column(default="")
    embedder: Mapped[str] = mapped_column(default="default")
    searched_chunks: Mapped[int] = mapped_column(
        BigInteger, server_default=FetchedValue(), server_onupdate=FetchedValue()
    )
    searched_words: Mapped[int] = mapped_column(
        BigInteger, server_default=FetchedValue(), server_onupdate=FetchedValue()
    )
    created_by: Mapped[UUID]
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())


class Membership(TenantRow):
    """The decision whether a user may enter a workspace, and as what."""

    __tablename__ = "memberships"

    user_id: Mapped[UUID] = mapped_column(primary_key=True)
    role: Mapped[str]
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())


class Invitation(TenantRow):
    """A one-time link; only the SHA-256 of its secret is stored."""

    __tablename__ = "invitations"

    id: Mapped[UUID] = mapped_column(primary_key=True)
    token_sha256: Mapped[str]
    role: Mapped[str]
    created_by: Mapped[UUID]
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    expires_at: Mapped[datetime]
    accepted_by: Mapped[UUID | None]
    accepted_at: Mapped[datetime | None]
