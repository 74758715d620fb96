import numpy as np
import pytest

from app.ingestion.embedding import check_embeddings
from app.llm.types import InvalidEmbeddingsError, Vectors

UNIT = np.eye(3, dtype=np.float32)


def test_good_vectors_pass_unchanged() -> None:
    assert np.array_equal(check_embeddings(UNIT, expected_count=3, dimension=3), UNIT)
    assert check_embeddings(np.empty((0, 3), np.float32), expected_count=0, dimension=3).shape == (0, 3)


@pytest.mark.parametrize(
    "vectors",
    [
        UNIT[:2],
        np.eye(3, 4, dtype=np.float32),
        np.where(UNIT > 0, np.float32(np.nan), UNIT),
        np.where(UNIT > 0, np.float32(np.inf), UNIT),
        UNIT * np.float32(0.5),
        UNIT * np.float32(0),
        UNIT[0],
    ],
)
def test_anything_else_is_refused(vectors: Vectors) -> None:
    with pytest.raises(InvalidEmbeddingsError):
        check_embeddings(vectors, expected_count=3, dimension=3)
