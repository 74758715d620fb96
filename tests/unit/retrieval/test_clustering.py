import numpy as np
import pytest

from app.llm.types import Vectors
from app.retrieval import clustering
from app.retrieval.clustering import centroids_of, nearest


def units(seed: int, count: int, dimension: int = 24) -> Vectors:
    vectors = np.random.default_rng(seed).standard_normal((count, dimension), np.float32)
    return of_length_one(vectors)


def of_length_one(vectors: Vectors) -> Vectors:
    same: Vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return same


def around(centres: Vectors, each: int, spread: float) -> Vectors:
    vectors = np.repeat(centres, each, axis=0) + spread * units(99, len(centres) * each, centres.shape[1])
    return of_length_one(vectors)


def quality(vectors: Vectors, centroids: Vectors) -> float:
    """Return the mean cosine of vectors to their centroids."""
    return float((vectors @ centroids.T).max(axis=1).mean())


def test_clear_groups_are_told_apart() -> None:
    vectors, group = around(units(1, 8), 40, 0.2), np.repeat(np.arange(8), 40)
    for seed in range(10):
        cells = nearest(vectors, centroids_of(vectors, 64, seed))
        groups_of_cells = {(cell, of) for cell, of in zip(cells.tolist(), group.tolist(), strict=True)}
        assert len(groups_of_cells) == len(set(cells.tolist())), "no cell holds vectors of two groups"


def test_centroids_have_length_one_and_the_same_arguments_give_the_same() -> None:
    vectors = units(2, 500)
    found = centroids_of(vectors, 30, 7)
    assert found.dtype == np.float32
    assert np.allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)
    assert np.array_equal(found, centroids_of(vectors, 30, 7))
    assert not np.array_equal(found, centroids_of(vectors, 30, 8))


def test_more_iterations_bring_centroids_nearer_to_the_vectors() -> None:
    vectors = around(units(3, 20), 30, 0.8)
    first, last = (quality(vectors, centroids_of(vectors, 20, 1, iterations)) for iterations in (0, 8))
    assert last > first + 0.05


def test_a_cell_that_nothing_is_near_to_begins_anew() -> None:
    # 990 copies of one vector: most cells begin there, and one of them keeps all.
    lone = units(4, 10)
    vectors = np.concatenate([np.repeat(units(5, 1), 990, axis=0), lone])
    found = centroids_of(vectors, 11, 1)
    assert len(found) == 11
    assert len(set(nearest(vectors, found).tolist())) == 11
    assert quality(lone, found) > 0.999


@pytest.mark.parametrize(("count", "vectors", "cells"), [(10, 4, 4), (1, 4, 1), (5, 5, 5), (3, 0, 0)])
def test_there_are_never_more_cells_than_vectors(count: int, vectors: int, cells: int) -> None:
    found = centroids_of(units(6, vectors), count, 1)
    assert found.shape == (cells, 24)


def test_copies_of_one_vector_have_one_cell() -> None:
    same = np.repeat(units(7, 1), 100, axis=0)
    found = centroids_of(same, 9, 1)
    assert found.shape == (1, 24)
    assert np.allclose(found, same[:1], atol=1e-5)


def test_opposite_vectors_without_a_middle_keep_their_centroid() -> None:
    one = units(8, 1)
    found = centroids_of(np.concatenate([one, -one]), 1, 1)
    assert np.isfinite(found).all()
    assert np.allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)


def test_what_is_nearest_does_not_depend_on_how_many_are_looked_at_together(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors, centroids = units(9, 200), units(10, 17)
    at_once, found = nearest(vectors, centroids), centroids_of(vectors, 17, 3)
    monkeypatch.setattr(clustering, "_SIMILARITIES_AT_ONCE", 50)
    assert np.array_equal(nearest(vectors, centroids), at_once)
    assert np.allclose(centroids_of(vectors, 17, 3), found, atol=1e-5)
    assert np.array_equal(at_once, (vectors @ centroids.T).argmax(axis=1))
