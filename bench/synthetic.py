"""Generated documents as the rows that ingestion would make of them, for workspaces of any size. Pure.

The same arguments give the same document. What it says depends on its tenant's seed alone, not on the workspace: two
tenants of one seed hold the same texts, vectors and ids, each in a workspace of its own.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID, uuid5

import numpy as np
import numpy.typing as npt

from app.core.ids import ChunkId, UserId, WorkspaceId, chunk_id
from app.core.tenancy import Role, WorkspaceScope
from bench.embedder import HashEmbedder
from bench.lexicon import WORDS, Lexicon, Tokens

Floats = npt.NDArray[np.float32]

MODEL = HashEmbedder.model_id
DIMENSION = HashEmbedder.dimension
CHUNKS_A_DOCUMENT = 25
PARSER, CHUNKER = "bench-1", "bench-1"
_NAMESPACE = UUID("0d7d1d0e-8f5e-4d0b-9a55-0f4b2f6a8a10")
_SHORTEST, _LONGEST = 70, 140
_HEADING = 2
_POOL, _FROM_POOL = 60, 0.4
_TIMER_PLACES, _TIMER_SHARE = (10, 31), 0.4
_YEAR_PLACE, _YEAR_SHARE = 52, 0.2
_TOPICS, _DOCUMENTS_A_TOPIC = 2_000, 12
_DOCUMENT_SPREAD, _CHUNK_SPREAD = 0.6, (0.6, 1.2)
_PADDING = -1


@dataclass(frozen=True, slots=True)
class Tenant:
    """A workspace of generated documents.

    Attributes:
        workspace_id: Its workspace.
        seed: What its documents say.
        chunks: How many it has in all.
        restricted: Whether each document is granted to the owner only, instead of being everybody's.
    """

    workspace_id: WorkspaceId
    seed: int
    chunks: int
    restricted: bool = False

    @property
    def owner(self) -> UserId:
        """Who uploaded everything."""
        return UserId(uuid5(_NAMESPACE, f"owner of {self.workspace_id}"))

    @property
    def guest(self) -> UserId:
        """A member who uploaded nothing."""
        return UserId(uuid5(_NAMESPACE, f"guest of {self.workspace_id}"))

    @property
    def documents(self) -> int:
        """How many documents its chunks are in."""
        return -(-self.chunks // CHUNKS_A_DOCUMENT)

    @property
    def known_words(self) -> int:
        """How many words it draws from: a small workspace does not know all."""
        return min(WORDS, 20_000 + 2 * self.chunks)

    def scope(self, user: UserId) -> WorkspaceScope:
        """Return the right of a member."""
        return WorkspaceScope(self.workspace_id, user, Role.MEMBER, "bench", "bench")


def tenant(name: str, chunks: int, seed: int, *, restricted: bool = False) -> Tenant:
    """Return the tenant of a name."""
    return Tenant(WorkspaceId(uuid5(_NAMESPACE, name)), seed, chunks, restricted)


@dataclass(frozen=True, slots=True)
class Words:
    """The distinct tokens of the chunks of a document, chunk after chunk.

    Attributes:
        tokens: What each is.
        counts: How often it stands in its chunk.
        ends: For each chunk, where its tokens end.
    """

    tokens: Tokens
    counts: Tokens
    ends: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Document:
    """One generated document.

    Attributes:
        tenant: Whose it is.
        number: Its place among the tenant's, from 0.
        content_sha256: Of its content.
        heading: The tokens of its heading, which every chunk has.
        lines: For each chunk the tokens of its text.
        vectors: For each chunk a unit vector.
    """

    tenant: Tenant
    number: int
    content_sha256: str
    heading: Tokens
    lines: tuple[Tokens, ...]
    vectors: Floats

    @property
    def id(self) -> UUID:
        """Its id, which is that of its only version too."""
        return uuid5(_NAMESPACE, self.content_sha256)

    @property
    def name(self) -> str:
        """A name with identifiers, unique in its workspace."""
        return f"Manual {self.number:05d} v{self.number % 17}.{self.number % 7}.pdf"

    def chunk_id(self, ordinal: int) -> ChunkId:
        """Return the id of a chunk."""
        return chunk_id(self.content_sha256, PARSER, CHUNKER, ordinal)

    def words(self) -> Words:
        """Count the tokens of every chunk with its heading."""
        width = _HEADING + max(line.size for line in self.lines)
        table = np.full((len(self.lines), width), _PADDING, np.int32)
        table[:, :_HEADING] = self.heading
        for row, line in enumerate(self.lines):
            table[row, _HEADING : _HEADING + line.size] = line
        table.sort(axis=1)
        flat, begins = table.ravel(), np.ones(table.shape, bool)
        begins[:, 1:] = table[:, 1:] != table[:, :-1]
        starts = np.flatnonzero(begins)
        counts = np.diff(starts, append=flat.size)
        kept = flat[starts] != _PADDING
        ends = np.searchsorted(starts[kept], np.arange(1, len(self.lines) + 1) * width)
        return Words(flat[starts][kept], counts[kept].astype(np.int32), tuple(ends.tolist()))


class Library:
    """Writes the documents of tenants."""

    def __init__(self) -> None:
        self.lexicon = Lexicon()
        self._topics = _units(np.random.default_rng(1), (_TOPICS, DIMENSION))

    def documents(self, tenant: Tenant) -> Iterator[Document]:
        """Yield every document of a tenant."""
        for number in range(tenant.documents):
            yield self.document(tenant, number)

    def document(self, tenant: Tenant, number: int) -> Document:
        """Write one document."""
        draw = np.random.default_rng((tenant.seed, number))
        count = min(CHUNKS_A_DOCUMENT, tenant.chunks - number * CHUNKS_A_DOCUMENT)
        pool = self.lexicon.words(draw, (_POOL,), tenant.known_words)
        content = hashlib.sha256(f"{tenant.seed}:{number}".encode()).hexdigest()
        lines = self._lines(draw, tenant, number, pool, count)
        return Document(tenant, number, content, pool[:_HEADING], lines, self._vectors(draw, tenant, count))

    def _lines(
        self, draw: np.random.Generator, tenant: Tenant, number: int, pool: Tokens, count: int
    ) -> tuple[Tokens, ...]:
        """Return texts that begin with a clause number and hold some words of the document again and again."""
        shape = (count, _LONGEST)
        table = self.lexicon.words(draw, shape, tenant.known_words)
        again = draw.random(shape, dtype=np.float32) < _FROM_POOL
        table = np.where(again, pool[draw.integers(0, _POOL, shape)], table)
        table[:, 0] = self.lexicon.clauses(number, draw, count)
        for place in _TIMER_PLACES:
            rows = np.flatnonzero(draw.random(count) < _TIMER_SHARE)
            table[rows, place] = self.lexicon.timers(draw, rows.size)
        rows = np.flatnonzero(draw.random(count) < _YEAR_SHARE)
        table[rows, _YEAR_PLACE] = self.lexicon.years(draw, rows.size)
        lengths = draw.integers(_SHORTEST, _LONGEST, count, endpoint=True)
        return tuple(row[:length] for row, length in zip(table, lengths, strict=True))

    def _vectors(self, draw: np.random.Generator, tenant: Tenant, count: int) -> Floats:
        """Return vectors around one of the document, which is near one of the tenant's topics."""
        topics = max(3, tenant.documents // _DOCUMENTS_A_TOPIC)
        topic = self._topics[(tenant.seed * 37 + int(draw.integers(0, topics))) % _TOPICS]
        about = topic + _DOCUMENT_SPREAD * _units(draw, (DIMENSION,))
        spread = draw.uniform(*_CHUNK_SPREAD, (count, 1)).astype(np.float32)
        return unit(about + spread * _units(draw, (count, DIMENSION)))


def unit(vectors: Floats) -> Floats:
    """Return vectors of the same directions and length 1."""
    same: Floats = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
    return same


def _units(draw: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    return unit(draw.standard_normal(shape, dtype=np.float32))
