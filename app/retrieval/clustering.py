"""Groups of unit vectors that point in like directions: spherical k-means (Dhillon and Modha 2001). Pure."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from app.llm.types import Vectors

Labels = NDArray[np.int64]

ITERATIONS = 8
"""Of Lloyd's algorithm: later ones move few vectors, and a search looks at several cells anyway."""

_SIMILARITIES_AT_ONCE = 1 << 22
_SAME = 1 - 1e-5
"""Cosine from which on two vectors are taken for the same one."""


def centroids_of(vectors: Vectors, count: int, seed: int, iterations: int = ITERATIONS) -> Vectors:
    """Return unit vectors around which the given ones lie; the same arguments give the same result.

    A cell that loses all its vectors begins anew at the vector that is farthest from its centroid. What stays empty is
    left out: copies of one vector have one cell.

    Args:
        vectors: Unit vectors; shape `(n, dimension)`.
        count: How many centroids to find, at most.
        seed: Chooses the vectors to begin with.
        iterations: How often centroids are moved.

    Returns:
        Shape `(at most min(count, n), dimension)`; none for no vectors.
    """
    count = min(count, len(vectors))
    if count == 0:
        return np.empty((0, vectors.shape[1]), np.float32)
    first = np.random.default_rng(seed).choice(len(vectors), count, replace=False)
    centroids = _unit(vectors[np.sort(first)])
    for _ in range(iterations):
        centroids = _moved(vectors, centroids)
    used = np.unique(nearest(vectors, centroids))
    return centroids[used]


def nearest(vectors: Vectors, centroids: Vectors) -> Labels:
    """Return for each vector the number of its nearest centroid by cosine, the first one of several.

    Args:
        vectors: Shape `(n, dimension)`.
        centroids: Unit vectors; shape `(k, dimension)`, at least one.
    """
    labels = np.empty(len(vectors), np.int64)
    for rows, similarities in _similarities(vectors, centroids):
        labels[rows] = similarities.argmax(axis=1)
    return labels


def _moved(vectors: Vectors, centroids: Vectors) -> Vectors:
    """Return each centroid moved to the middle of the vectors that are nearest to it."""
    sums = np.zeros_like(centroids)
    sizes = np.zeros(len(centroids), np.int64)
    closeness = np.empty(len(vectors), np.float32)
    for rows, similarities in _similarities(vectors, centroids):
        labels = similarities.argmax(axis=1)
        closeness[rows] = similarities[np.arange(len(labels)), labels]
        order = np.argsort(labels, kind="stable")
        present, starts, counts = np.unique(labels[order], return_index=True, return_counts=True)
        sums[present] += np.add.reduceat(vectors[rows][order], starts)
        sizes[present] += counts
    lengths = np.linalg.norm(sums, axis=1)
    middles = lengths > np.finfo(np.float32).eps  # opposite vectors have none: their centroid stays
    moved = centroids.copy()
    moved[middles] = sums[middles] / lengths[middles, None]
    empty = np.flatnonzero(sizes == 0)
    farthest = np.argsort(closeness, kind="stable")[: len(empty)]
    farthest = farthest[closeness[farthest] < _SAME]
    moved[empty[: len(farthest)]] = _unit(vectors[farthest])
    return moved


def _similarities(vectors: Vectors, centroids: Vectors) -> Iterator[tuple[slice, Vectors]]:
    """Yield stretches of the vectors with their cosines to all centroids, a bounded number at a time."""
    step = max(1, _SIMILARITIES_AT_ONCE // len(centroids))
    for start in range(0, len(vectors), step):
        rows = slice(start, start + step)
        yield rows, vectors[rows] @ centroids.T


def _unit(vectors: Vectors) -> Vectors:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.divide(vectors, np.where(lengths > 0, lengths, 1), dtype=np.float32)
