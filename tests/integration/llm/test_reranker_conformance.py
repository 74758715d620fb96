"""What every reranker keeps: that of a server in both shapes, and the one that keeps the order."""

import math
from collections.abc import AsyncIterator

import pytest
from pydantic import SecretStr

from app.llm.providers.http_reranker import open_reranker
from app.llm.reranking import NullReranker
from app.llm.types import Reranker
from tests.support.rerank_server import KEY, MODEL, RerankServer, Shape

ODD = ["", " ", "\x00", "\ud800", "a\udfffb", "\u202e\ufb01", "[SEP]", "<|endoftext|>", '"}', "a" * 50_000]


@pytest.fixture(scope="module", params=["null", *Shape])
async def reranker(request: pytest.FixtureRequest) -> AsyncIterator[Reranker]:
    if request.param == "null":
        yield NullReranker()
    else:
        with RerankServer(shape=request.param) as server:
            made = open_reranker(server.url, model=MODEL, api_key=SecretStr(KEY), seconds=5.0)
            yield made
            await made.aclose()


@pytest.mark.parametrize("texts", [[], ["tea"], ["tea", "tea", "coffee"], ODD], ids=["none", "one", "equal", "odd"])
@pytest.mark.parametrize("question", ["tea", "", "\ud800", "a" * 4_000])
async def test_each_text_gets_one_finite_score_or_all_keep_their_order(
    reranker: Reranker, question: str, texts: list[str]
) -> None:
    scores = await reranker.rerank(question, texts)
    assert scores is None or len(scores) == len(texts)
    assert all(math.isfinite(score) for score in scores or ())


async def test_equal_texts_score_the_same_and_better_ones_higher(reranker: Reranker) -> None:
    scores = await reranker.rerank("tea", ["coffee", "tea", "coffee"])
    assert scores is None or scores[0] == scores[2] < scores[1]


async def test_it_may_be_closed_twice(reranker: Reranker) -> None:
    await reranker.aclose()
    await reranker.aclose()
