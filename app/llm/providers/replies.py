"""Reads what an OpenAI-compatible server answers to a request for embeddings. Nothing in it is taken on trust."""

import base64
import binascii

import numpy as np
from pydantic import BaseModel, ValidationError

from app.llm.types import InvalidEmbeddingsError, Vectors

_LEAST_NORM = 1e-6


class _Item(BaseModel):
    index: int
    embedding: list[float] | str
    """Numbers, or little-endian float32 in base64: some servers send these unasked."""


class _Reply(BaseModel):
    data: list[_Item]


def read_vectors(content: bytes, expected_count: int) -> Vectors:
    """Return unit vectors in the order of the texts that were sent, whatever the order of the reply.

    A vector that is not finite or has no direction becomes a row of zeros: it says something of its text alone, and
    must not cost the other texts theirs.

    Args:
        content: The body of the reply.
        expected_count: How many texts were sent.

    Raises:
        InvalidEmbeddingsError: The reply is no JSON of this shape, a vector is missing or doubled, or the vectors
            differ in length, so that none can be trusted to be that of its text.
    """
    try:
        items = _Reply.model_validate_json(content).data
    except ValidationError:  # its message holds parts of the reply
        raise InvalidEmbeddingsError("The embedding service answered something else than embeddings.") from None
    by_index = {item.index: item.embedding for item in items}
    if len(items) != expected_count or by_index.keys() != set(range(expected_count)):
        raise InvalidEmbeddingsError(
            f"The embedding service did not answer with one vector for each of {expected_count} texts."
        )
    rows = [_numbers(by_index[index]) for index in range(expected_count)]
    if len({len(row) for row in rows}) != 1 or not len(rows[0]):
        raise InvalidEmbeddingsError("The embedding service answered with vectors of different lengths.")
    return _unit(np.stack(rows))


def _numbers(embedding: list[float] | str) -> Vectors:
    if isinstance(embedding, list):
        with np.errstate(over="ignore"):  # what is too large becomes infinite, and is refused as that
            return np.asarray(embedding, dtype=np.float64).astype(np.float32)
    try:
        return np.frombuffer(base64.b64decode(embedding, validate=True), dtype="<f4").astype(np.float32)
    except (binascii.Error, ValueError):
        raise InvalidEmbeddingsError("The embedding service answered with a vector that cannot be read.") from None


def _unit(rows: Vectors) -> Vectors:
    """Return the rows with a length of one, which not every server gives them, or as zeros where that cannot be."""
    exact = rows.astype(np.float64)
    norms = np.linalg.norm(np.nan_to_num(exact, nan=0.0, posinf=0.0, neginf=0.0), axis=1)
    usable = np.isfinite(exact).all(axis=1) & (norms >= _LEAST_NORM)
    vectors = np.zeros_like(rows)
    vectors[usable] = exact[usable] / norms[usable, None]
    return vectors
