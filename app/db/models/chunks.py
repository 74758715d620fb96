"""The pieces that are searched, and their vectors and words in narrow tables of their own."""

from datetime import datetime
from uuid import UUID

from pgvector.sqlalchemy import HALFVEC
from sqlalchemy import ARRAY, REAL, BigInteger, Identity, SmallInteger
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


class ChunkEmbedding(TenantRow):
    """The vector that one model made of one chunk, and the cell that it is in, if any."""

    __tablename__ = "chunk_embeddings"

    model: Mapped[str] = mapped_column(primary_key=True)
    chunk_id: Mapped[UUID] = mapped_column(primary_key=True)
    content_sha256: Mapped[str]
    embedding: Mapped[list[float]] = mapped_column(HALFVEC)
    cell: Mapped[int | None] = mapped_column(BigInteger)


class VectorCell(TenantRow):
    """Vectors of one model that are near each other.

    `size` is how many there are; `generation` tells cells that were made together from older ones.
    """

    __tablename__ = "vector_cells"

    model: Mapped[str] = mapped_column(primary_key=True)
    id: Mapped[int] = mapped_column(BigInteger, Identity(), primary_key=True)
    generation: Mapped[int]
    size: Mapped[int] = mapped_column(default=0)
    centroid: Mapped[list[float]] = mapped_column(HALFVEC)


class VectorLayout(TenantRow):
    """How a workspace's vectors of one model are laid out in cells, and how well a search finds them.

    `breadth` times the square root of all vectors is how many a search looks at; the newest cells, of `generation`,
    were made when there were `made_for` vectors; `recall` is what the comparison with an exact scan at `compared_at`
    found.
    """

    __tablename__ = "vector_layouts"

    model: Mapped[str] = mapped_column(primary_key=True)
    generation: Mapped[int]
    made_for: Mapped[int]
    breadth: Mapped[float] = mapped_column(REAL)
    recall: Mapped[float | None] = mapped_column(REAL)
    compared_at: Mapped[datetime | None]


class ChunkWords(TenantRow):
    """The distinct words of one chunk by their numbers in its workspace, and how often each stands in it.

    `length` counts all its words, repeated ones too. Identifiers have numbers of their own, with a count of 2 where one
    stands at the start of a line, and 1 otherwise.
    """

    __tablename__ = "chunk_words"

    chunk_id: Mapped[UUID] = mapped_column(primary_key=True)
    content_sha256: Mapped[str]
    length: Mapped[int]
    words: Mapped[list[int]] = mapped_column(ARRAY(BigInteger))
    counts: Mapped[list[int]] = mapped_column(ARRAY(SmallInteger))


class WordCount(TenantRow):
    """In how many searched chunks of a workspace a word or an identifier stands; kept by triggers alone."""

    __tablename__ = "word_counts"

    word: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    chunks: Mapped[int]
