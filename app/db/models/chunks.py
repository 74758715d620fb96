"""The pieces that are searched, and their vectors and words in narrow tables of their own."""

from uuid import UUID

from pgvector.sqlalchemy import HALFVEC
from sqlalchemy import ARRAY, BigInteger, SmallInteger
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


class ChunkEmbedding(TenantRow):
    """The vector that one model made of one chunk."""

    __tablename__ = "chunk_embeddings"

    model: Mapped[str] = mapped_column(primary_key=True)
    chunk_id: Mapped[UUID] = mapped_column(primary_key=True)
    content_sha256: Mapped[str]
    embedding: Mapped[list[float]] = mapped_column(HALFVEC)


class ChunkWords(TenantRow):
    """The distinct words of one chunk by their numbers in its workspace, and how often each stands in it.

    `length` counts all its words, repeated ones too.
    """

    __tablename__ = "chunk_words"

    chunk_id: Mapped[UUID] = mapped_column(primary_key=True)
    content_sha256: Mapped[str]
    length: Mapped[int]
    words: Mapped[list[int]] = mapped_column(ARRAY(BigInteger))
    counts: Mapped[list[int]] = mapped_column(ARRAY(SmallInteger))


class WordCount(TenantRow):
    """In how many searched chunks of a workspace a word stands; kept by database triggers and never written here."""

    __tablename__ = "word_counts"

    word: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    chunks: Mapped[int]
