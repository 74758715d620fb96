"""People and agents, known by what their identity provider calls them."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import func
from sqlalchemy.orm import Mapped, mapped_column

from app.db.models.base import Base


class User(Base):
    """One (issuer, subject). E-mail and name are for display and never grant anything."""

    __tablename__ = "users"

    id: Mapped[UUID] = mapped_column(primary_key=True)
    issuer: Mapped[str]
    subject: Mapped[str]
    email: Mapped[str | None]
    display_name: Mapped[str | None]
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
