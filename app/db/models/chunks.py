"""The pieces that are searched, and their vectors in a narrow table of their own."""

from uuid import UUID

from pgvector.sqlalchemy import HALFVEC
from sqlalchemy.dialects.postgresql import TSVECTOR
from sqlalchemy.orm import Mapped, mapped_column

from app.db.models.base import TenantRow


class Chunk(TenantRow):
    """`text` is the canonical text from `start_offset` to `end_offset`, exactly."""

    __tablename__ = "chunks"

    id: Mapped[UUID] = mapped_column(primary_key=True)
    content_sha256: Mapped[str]
    ordinal: Mapped[int]
    start_offset: Mapped[int]
    end_offset: Mapped[int]
    page_start: Mapped[int]
    page_end: Mapped[int]
    heading: Mapped[str]
    text: Mapped[str]
    token_count: Mapped[int]
    identifiers: Mapped[list[str]]
    tsv: Mapped[str] = mapped_column(TSVECTOR)


class ChunkEmbedding(TenantRow):
    """The vector that one model made of one chunk."""

    __tablename__ = "chunk_embeddings"

    model: Mapped[str] = mapped_column(primary_key=True)
    chunk_id: Mapped[UUID] = mapped_column(primary_key=True)
    content_sha256: Mapped[str]
    embedding: Mapped[list[float]] = mapped_column(HALFVEC)
