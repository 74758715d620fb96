import json
from collections.abc import Sequence

import pytest
from hypothesis import given, strategies as st

from app.core.errors import UnavailableError
from app.llm.providers.rerank_replies import read_scores

finite = st.floats(allow_nan=False, allow_infinity=False)


def reply(results: Sequence[object], *, bare: bool) -> bytes:
    return json.dumps(results if bare else {"id": "1", "results": results, "usage": {}}).encode()


@given(st.data(), st.lists(finite, min_size=1, max_size=40), st.booleans())
def test_scores_come_back_in_the_order_of_the_texts(data: st.DataObject, scores: list[float], bare: bool) -> None:
    name = "score" if bare else "relevance_score"
    results = [{"index": n, name: score} for n, score in enumerate(scores)]
    shuffled = data.draw(st.permutations(results))
    assert read_scores(reply(shuffled, bare=bare), len(scores)) == tuple(scores)


@given(st.binary(max_size=200))
def test_any_bytes_end_in_scores_or_in_one_error(content: bytes) -> None:
    with pytest.raises(UnavailableError) as caught:
        read_scores(content, 2)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize(
    "results",
    [
        [(0, 1.0)],
        [(0, 1.0), (0, 2.0)],
        [(0, 1.0), (2, 2.0)],
        [(0, 1.0), (-1, 2.0)],
        [(0, 1.0), (1, 2.0), (1, 2.0)],
        [(0, 1.0), (1, 2.0), (2, 2.0)],
    ],
)
def test_an_index_that_is_missing_doubled_or_too_many_is_refused(results: list[tuple[int, float]]) -> None:
    items = [{"index": index, "relevance_score": score} for index, score in results]
    with pytest.raises(UnavailableError, match="one score for each of 2 texts"):
        read_scores(reply(items, bare=False), 2)


@pytest.mark.parametrize("score", ["NaN", "Infinity", "-Infinity", "1e999", "null", '"1"', "true", "[1]", "1" * 400])
def test_a_score_that_is_no_finite_number_is_refused(score: str) -> None:
    content = f'[{{"index": 0, "score": {score}}}]'.encode()
    with pytest.raises(UnavailableError, match="finite"):
        read_scores(content, 1)


@pytest.mark.parametrize("index", ["true", '"0"', "0.0", "null", "1e0"])
def test_an_index_that_is_no_whole_number_is_refused(index: str) -> None:
    content = f'{{"results": [{{"index": {index}, "relevance_score": 1}}]}}'.encode()
    with pytest.raises(UnavailableError, match="finite"):
        read_scores(content, 1)
