from collections.abc import Sequence

import numpy as np
import pytest

from app.core.ids import ChunkId, new_id
from app.ingestion.embedding import check_shape, embedded, usable_rows
from app.ingestion.errors import PassageRefusedError
from app.ingestion.types import PendingChunk
from app.llm.types import InvalidEmbeddingsError, Vectors
from tests.support.embedder import HashEmbedder

UNIT = np.eye(3, dtype=np.float32)


class LimitedEmbedder(HashEmbedder):
    """Gives zeros for texts that are too long for it."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self.texts: list[str] = []

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        self.texts += texts
        fitting = np.array([len(text) <= self._longest for text in texts], dtype=np.float32)
        return await super().embed_passages(texts) * fitting[:, np.newaxis]


def pending(*texts: str) -> list[PendingChunk]:
    return [PendingChunk(ChunkId(new_id()), n, n + 1, text) for n, text in enumerate(texts)]


def test_good_vectors_pass_unchanged() -> None:
    assert np.array_equal(check_shape(UNIT, expected_count=3, dimension=3), UNIT)
    assert usable_rows(UNIT).all()
    assert check_shape(np.empty((0, 3), np.float32), expected_count=0, dimension=3).shape == (0, 3)


@pytest.mark.parametrize(
    "vectors", [UNIT[:2], np.eye(4, 3), np.eye(3, 4), UNIT[0], [[1.0], [1.0, 2.0], []], [None] * 3]
)
def test_another_count_or_length_is_refused(vectors: Vectors) -> None:
    with pytest.raises(InvalidEmbeddingsError):
        check_shape(vectors, expected_count=3, dimension=3)


@pytest.mark.parametrize("row", [[np.nan, 0, 0], [np.inf, 0, 0], [0.5, 0, 0], [0, 0, 0], [2, 0, 0], [3e38, 3e38, 3e38]])
def test_a_row_that_is_no_unit_vector_is_not_usable_and_spoils_no_other(row: Sequence[float]) -> None:
    vectors = np.array([[1, 0, 0], row, [0, 1, 0]], dtype=np.float32)
    assert usable_rows(vectors).tolist() == [True, False, True]


async def test_a_text_that_is_too_long_gets_the_mean_of_its_halves() -> None:
    chunks = pending("short", "left half " * 20 + "right half " * 20, "also short")
    embedder = LimitedEmbedder(250)
    parts = [part async for part in embedded(embedder, chunks)]
    assert [part.ids for part in parts] == [(chunks[0].id, chunks[2].id), (chunks[1].id,)]
    assert usable_rows(np.concatenate([part.vectors for part in parts])).all()
    halves = embedder.texts[-2:]
    assert "".join(halves) == chunks[1].text
    assert halves[1].startswith(" ")
    expected = (await HashEmbedder().embed_passages(halves)).sum(axis=0)
    assert np.allclose(parts[1].vectors[0], expected / np.linalg.norm(expected), atol=1e-5)


async def test_a_text_without_spaces_is_cut_all_the_same() -> None:
    parts = [part async for part in embedded(LimitedEmbedder(150), pending("x" * 1_200))]
    assert usable_rows(parts[0].vectors).all()


async def test_a_text_that_is_refused_however_short_ends_after_a_few_calls() -> None:
    embedder = LimitedEmbedder(10)
    with pytest.raises(PassageRefusedError) as refused:
        _ = [part async for part in embedded(embedder, pending("tiny", "word " * 400))]
    assert refused.value.page == 2
    assert len(embedder.texts) < 10
