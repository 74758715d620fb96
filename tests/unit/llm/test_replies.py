import base64
import json
from typing import Any

import numpy as np
import pytest

from app.llm.providers.replies import read_vectors
from app.llm.types import InvalidEmbeddingsError


def item(index: Any, embedding: Any) -> dict[str, Any]:
    return {"object": "embedding", "index": index, "embedding": embedding}


def reply(*items: dict[str, Any]) -> bytes:
    return json.dumps({"object": "list", "data": items, "usage": {}}).encode()


def test_a_reordered_reply_is_put_back_and_made_unit_length() -> None:
    vectors = read_vectors(reply(item(1, [0.0, 5.0]), item(0, [3.0, 4.0])), 2)
    assert np.allclose(vectors, [[0.6, 0.8], [0.0, 1.0]])
    assert vectors.dtype == np.float32


def test_numbers_in_base64_are_read_too() -> None:
    packed = base64.b64encode(np.array([3, 4], dtype="<f4").tobytes()).decode()
    assert np.allclose(read_vectors(reply(item(0, packed)), 1), [[0.6, 0.8]])


@pytest.mark.parametrize("value", [0.0, 1e-30, float("nan"), float("inf"), -float("inf"), 1e300])
def test_a_vector_that_cannot_be_used_becomes_zeros_and_leaves_the_others(value: float) -> None:
    vectors = read_vectors(reply(item(0, [3.0, 4.0]), item(1, [0.0, value])), 2)
    assert np.allclose(vectors, [[0.6, 0.8], [0.0, 0.0]])


def test_the_largest_numbers_do_not_overflow() -> None:
    assert np.allclose(read_vectors(reply(item(0, [3e38, 3e38])), 1), 2**-0.5)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"<html>a proxy</html>",
        b"[1]",
        b'{"data": null}',
        b'{"error": "busy"}',
        reply(item(0, [1.0])),
        reply(item(0, [1.0]), item(0, [1.0])),
        reply(item(0, [1.0]), item(2, [1.0])),
        reply(item(0, [1.0]), item(-1, [1.0])),
        reply(item(0, [1.0]), item(1, [1.0]), item(2, [1.0])),
        reply(item(0, [1.0]), item(1, [1.0, 2.0])),
        reply(item(0, []), item(1, [])),
        reply(item(0, [1.0]), item(1, None)),
        reply(item(0, [1.0]), item(1, ["x"])),
        reply(item(0, [1.0]), item(1, "AAA")),
        reply(item(0, [1.0]), item(1, "AAAAAAA=")),
        reply(item(0, [1.0]), item(None, [1.0])),
    ],
    ids=str,
)
def test_a_reply_that_is_not_one_vector_for_each_text_is_refused(content: bytes) -> None:
    with pytest.raises(InvalidEmbeddingsError) as caught:
        read_vectors(content, 2)
    assert caught.value.__cause__ is None
