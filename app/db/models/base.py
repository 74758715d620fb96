"""What all tables share."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import ARRAY, DateTime, Integer, Text, Uuid
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

TextArray = ARRAY(Text)
UuidArray = ARRAY(Uuid)
IntegerArray = ARRAY(Integer)


class Base(DeclarativeBase):
    """Base of every table."""

    type_annotation_map = {  # noqa: RUF012  (SQLAlchemy reads this name as a plain class attribute)
        datetime: DateTime(timezone=True),
        str: Text,
        UUID: Uuid,
        list[str]: TextArray,
        list[UUID]: UuidArray,
        list[int]: IntegerArray,
    }


class TenantRow(Base):
    """Base of every table whose rows belong to one workspace."""

    __abstract__ = True

    workspace_id: Mapped[UUID] = mapped_column(primary_key=True)
