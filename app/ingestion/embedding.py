"""Checks what an embedder returned, before anything is stored beside the wrong text."""

import numpy as np

from app.llm.types import InvalidEmbeddingsError, Vectors

_NORM_TOLERANCE = 0.01


def check_embeddings(vectors: Vectors, *, expected_count: int, dimension: int) -> Vectors:
    """Return the vectors as float32 when each text has a finite unit vector.

    Args:
        vectors: What the embedder gave, one row for each text in order.
        expected_count: How many texts it was given.
        dimension: Length of its vectors.

    Raises:
        InvalidEmbeddingsError: The count, dimension, or a value or norm is wrong.
    """
    checked = np.asarray(vectors, dtype=np.float32)
    if checked.shape != (expected_count, dimension):
        raise InvalidEmbeddingsError(f"The embedder returned {checked.shape}, not ({expected_count}, {dimension}).")
    if not np.isfinite(checked).all():
        raise InvalidEmbeddingsError("The embedder returned vectors with values that are no numbers.")
    if np.abs(np.linalg.norm(checked, axis=1) - 1).max(initial=0) > _NORM_TOLERANCE:
        raise InvalidEmbeddingsError("The embedder returned vectors that are not of unit length.")
    return checked
