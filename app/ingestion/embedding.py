"""From texts to vectors that may be stored: every one is checked, and one bad text never takes others with it."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.ids import ChunkId
from app.ingestion.errors import PassageRefusedError
from app.ingestion.types import PendingChunk
from app.llm.types import Embedder, InputRefusedError, InvalidEmbeddingsError, Vectors

_NORM_TOLERANCE = 0.01
_SHORTEST_PART = 100
"""Characters below which a refused text is not cut any further: it is not its length that is refused."""


@dataclass(frozen=True, slots=True)
class EmbeddedChunks:
    """Vectors of some chunks: `vectors[n]` is that of `ids[n]`, and of unit length."""

    ids: tuple[ChunkId, ...]
    vectors: Vectors


@dataclass(frozen=True, slots=True)
class _Checked:
    """Shapes `(n, dimension)` and `(n,)`; rows that are not usable are not to be read."""

    vectors: Vectors
    usable: NDArray[np.bool_]


async def embedded(embedder: Embedder, chunks: Sequence[PendingChunk]) -> AsyncIterator[EmbeddedChunks]:
    """Yield the vectors of a batch: first of all chunks that get one at once, then of each other one from its parts.

    Raises:
        PassageRefusedError: A chunk gets no usable vector; what was yielded before can be stored all the same.
        UnavailableError: The embedder does not answer.
    """
    checked = await _embed(embedder, [chunk.text for chunk in chunks])
    if checked.usable.any():
        ids = tuple(chunk.id for chunk, usable in zip(chunks, checked.usable, strict=True) if usable)
        yield EmbeddedChunks(ids, checked.vectors[checked.usable])
    for chunk, usable in zip(chunks, checked.usable, strict=True):
        if not usable:
            yield EmbeddedChunks((chunk.id,), await _from_parts(embedder, chunk))


def usable_rows(vectors: Vectors) -> NDArray[np.bool_]:
    """Tell for each row whether it is a finite vector of unit length.

    Args:
        vectors: Shape `(n, dimension)`.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # a value that is no finite number gives a norm that is none
        norms = np.linalg.norm(vectors, axis=1)
        return np.asarray(np.abs(norms - 1) <= _NORM_TOLERANCE)


def check_shape(vectors: Vectors, *, expected_count: int, dimension: int) -> Vectors:
    """Return the vectors as float32 when there is one of the right length for each text.

    Args:
        vectors: What the embedder gave, one row for each text in order.
        expected_count: How many texts it was given.
        dimension: Length of its vectors.

    Raises:
        InvalidEmbeddingsError: The count or the length is wrong, so that no row can be told to be that of its text.
    """
    try:
        checked = np.asarray(vectors, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise InvalidEmbeddingsError("The embedder returned vectors of several lengths, or no vectors.") from error
    if checked.shape != (expected_count, dimension):
        raise InvalidEmbeddingsError(f"The embedder returned {checked.shape}, not ({expected_count}, {dimension}).")
    return checked


async def _embed(embedder: Embedder, texts: Sequence[str]) -> _Checked:
    """Embed texts; a batch that comes back in another shape is halved until the text that causes it is alone."""
    try:
        vectors = check_shape(
            await _with_gaps(embedder, texts), expected_count=len(texts), dimension=embedder.dimension
        )
    except InvalidEmbeddingsError:
        if len(texts) == 1:
            return _Checked(np.zeros((1, embedder.dimension), np.float32), np.array([False]))
        middle = len(texts) // 2
        first, second = [await _embed(embedder, part) for part in (texts[:middle], texts[middle:])]
        return _Checked(np.concatenate([first.vectors, second.vectors]), np.concatenate([first.usable, second.usable]))
    return _Checked(vectors, usable_rows(vectors))


async def _with_gaps(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    """Return the vectors of the texts, with zeros for those that the model refuses."""
    try:
        return await embedder.embed_passages(texts)
    except InputRefusedError as refused:
        return refused.vectors


async def _from_parts(embedder: Embedder, chunk: PendingChunk) -> Vectors:
    """Return the vector of a chunk that got none in its batch: alone, else from its halves; shape `(1, dimension)`."""
    vector = await _of_text(embedder, chunk.text)
    if vector is None:
        raise PassageRefusedError(chunk.page)
    return vector[np.newaxis]


async def _of_text(embedder: Embedder, text: str) -> Vectors | None:
    """Return the normalised mean of the vectors of a text's halves when the text itself has none."""
    alone = await _embed(embedder, [text])
    if alone.usable[0]:
        return np.asarray(alone.vectors[0])
    if len(text) < 2 * _SHORTEST_PART:
        return None
    vectors = []
    for half in _halves(text):
        vector = await _of_text(embedder, half)
        if vector is None:
            return None
        vectors.append(vector)
    mean = np.mean(vectors, axis=0, dtype=np.float32)
    norm = np.linalg.norm(mean)
    return np.asarray(mean / norm) if norm > _NORM_TOLERANCE else None


def _halves(text: str) -> tuple[str, str]:
    """Cut a text at the white space that is nearest before its middle, or in the middle of a text without any."""
    middle = len(text) // 2
    at = max(text.rfind(space, _SHORTEST_PART, middle) for space in " \n\t")
    return (text[:at], text[at:]) if at > 0 else (text[:middle], text[middle:])
