"""Vectors as Postgres reads them."""

import numpy as np
from numpy.typing import NDArray


def vector_literal(vector: NDArray[np.float32]) -> str:
    """Return a vector of shape `(dimension,)` as the text of a `halfvec`, with more digits than that keeps."""
    return "[" + ",".join(f"{value:.6g}" for value in vector.tolist()) + "]"
