"""The reranker of a server, against one on the loopback that goes wrong as real ones do."""

import asyncio
import gzip
import logging
import time
import traceback
from collections.abc import AsyncIterator, Iterator

import pytest
from pydantic import SecretStr

from app.core.errors import AppError, UnavailableError
from app.llm.providers.http_reranker import MOST_ANSWER_BYTES, HttpReranker, open_reranker
from app.llm.types import ModelSetupError, RerankingRefusedError
from tests.support.rerank_server import KEY, MODEL, Fault, RerankServer, Result, Shape, score_of

QUESTION = "confidential question about tea"
TEXTS = ["coffee", "tea", "confidential tea", "a confidential text about nothing"]
SCORES = tuple(score_of(QUESTION, text) for text in TEXTS)
ANSWER = b'{"results": [{"index": 0, "relevance_score": 0.5}]}'
SECONDS = 1.0


def opened(server: RerankServer, *, key: str = KEY, model: str = MODEL, seconds: float = SECONDS) -> HttpReranker:
    return open_reranker(server.url, model=model, api_key=SecretStr(key), seconds=seconds)


@pytest.fixture(params=list(Shape))
def server(request: pytest.FixtureRequest) -> Iterator[RerankServer]:
    with RerankServer(shape=request.param) as server:
        yield server


@pytest.fixture
async def reranker(server: RerankServer) -> AsyncIterator[HttpReranker]:
    """A reranker that has been answered, so that it knows the shape; the faults are for the requests of the test."""
    reranker = opened(server)
    await reranker.rerank("ready", ["ready"])
    server.asked.clear()
    server.authorizations.clear()
    yield reranker
    await reranker.aclose()


def told(error: AppError) -> str:
    """Return everything that could be written somewhere about an error."""
    return "".join(traceback.format_exception(error)) + error.detail + repr(error.extra)


def change(position: int, **members: object) -> Fault:
    def spoil(results: list[Result]) -> list[Result]:
        return [result | members if n == position else result for n, result in enumerate(results)]

    return Fault(spoil=spoil)


def scored(value: object) -> Fault:
    """Return a fault that gives one text this score, whatever the server calls it."""

    def spoil(results: list[Result]) -> list[Result]:
        return [dict.fromkeys(results[0], value) | {"index": results[0]["index"]}, *results[1:]]

    return Fault(spoil=spoil)


async def test_each_text_gets_its_score_in_one_request(reranker: HttpReranker, server: RerankServer) -> None:
    assert await reranker.rerank(QUESTION, TEXTS) == SCORES
    assert len(server.asked) == 1
    assert server.authorizations == [f"Bearer {KEY}"]


async def test_the_usual_request_names_the_model_and_asks_for_all() -> None:
    with RerankServer() as server:
        reranker = opened(server)
        await reranker.rerank(QUESTION, TEXTS)
        await reranker.aclose()
    assert server.asked == [{"model": MODEL, "query": QUESTION, "documents": TEXTS, "top_n": 4}]


async def test_a_server_without_a_key_and_with_one_model_gets_neither() -> None:
    with RerankServer(key="") as server:
        reranker = opened(server, key="", model="")
        assert await reranker.rerank(QUESTION, TEXTS) == SCORES
        await reranker.aclose()
    assert "model" not in server.asked[0]
    assert server.authorizations == [""]


async def test_the_other_shape_is_found_by_the_first_question_and_kept() -> None:
    with RerankServer(shape=Shape.TEXT_EMBEDDINGS_INFERENCE) as server:
        reranker = opened(server)
        for _ in range(3):
            assert await reranker.rerank(QUESTION, TEXTS) == SCORES
        await reranker.aclose()
    assert ["texts" in asked for asked in server.asked] == [False, True, True, True]
    assert server.asked[1] == {"query": QUESTION, "texts": TEXTS, "truncate": True}


async def test_a_server_of_another_shape_that_takes_the_address_over_is_found(
    reranker: HttpReranker, server: RerankServer
) -> None:
    server.shape = Shape.USUAL if server.shape is Shape.TEXT_EMBEDDINGS_INFERENCE else Shape.TEXT_EMBEDDINGS_INFERENCE
    with pytest.raises(RerankingRefusedError, match="422"):
        await reranker.rerank(QUESTION, TEXTS)
    assert await reranker.rerank(QUESTION, TEXTS) == SCORES


async def test_no_texts_ask_nothing(reranker: HttpReranker, server: RerankServer) -> None:
    assert await reranker.rerank(QUESTION, []) == ()
    assert not server.asked


async def test_long_and_odd_texts_are_sent_in_a_form_that_is_read(reranker: HttpReranker, server: RerankServer) -> None:
    assert len(await reranker.rerank("\ud800", ["a" * 100_000, "", " \n", "a\udfffb", "\x00"])) == 5
    asked = server.asked[0]
    assert asked["query"] == "?"
    assert asked.get("texts", asked.get("documents")) == ["a" * 8_000, ".", ".", "a?b", "\x00"]


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (Fault(spoil=lambda results: results[:-1]), UnavailableError),
        (Fault(spoil=lambda results: [*results[:-1], results[0]]), UnavailableError),
        (Fault(spoil=lambda results: [*results, results[0]]), UnavailableError),
        (Fault(spoil=lambda _: []), UnavailableError),
        (change(1, index=9), UnavailableError),
        (change(1, index=-1), UnavailableError),
        (change(1, index="1"), UnavailableError),
        (scored(float("nan")), UnavailableError),
        (scored(float("inf")), UnavailableError),
        (scored(None), UnavailableError),
        (scored("0.5"), UnavailableError),
        (Fault(body=b'{"results": ['), UnavailableError),
        (Fault(body=b"[" * 100_000), UnavailableError),
        (Fault(202), UnavailableError),
        (Fault(301), ModelSetupError),
        (Fault(307), ModelSetupError),
        (Fault(429), UnavailableError),
        (Fault(500), UnavailableError),
        (Fault(503, b"<html>busy</html>"), UnavailableError),
        (Fault(0), UnavailableError),
        (Fault(seconds=2.0), UnavailableError),
        (Fault(trickle=0.05), UnavailableError),
        (Fault(400), RerankingRefusedError),
        (Fault(413), RerankingRefusedError),
        (Fault(422), RerankingRefusedError),
        (Fault(401), ModelSetupError),
        (Fault(403), ModelSetupError),
        (Fault(404), ModelSetupError),
    ],
    ids=[
        "short", "doubled", "one more", "none", "gapped", "negative index", "index in words", "nan", "infinite",
        "null", "score in words", "cut json", "deep json", "202", "301", "307", "429", "500",
        "503", "dropped", "slow", "trickling", "400", "413", "422", "401", "403", "404",
    ],
)  # fmt: skip
async def test_each_fault_is_one_error_after_one_request_without_a_text_or_key(
    reranker: HttpReranker,
    server: RerankServer,
    fault: Fault,
    error: type[AppError],
    caplog: pytest.LogCaptureFixture,
) -> None:
    server.faults = [fault]
    started = time.monotonic()
    with caplog.at_level(logging.DEBUG), pytest.raises(AppError) as caught:
        await reranker.rerank(QUESTION, TEXTS)
    assert time.monotonic() - started < 5 * SECONDS  # the trickling answer takes 15 s and more
    assert type(caught.value) is error
    assert len(server.asked) == 1
    assert "/elsewhere" not in server.paths
    for secret in (KEY, "rk-test", "confidential"):
        assert secret not in told(caught.value)
        assert secret not in caplog.text
    assert await reranker.rerank(QUESTION, TEXTS) == SCORES


async def test_an_answer_is_read_up_to_its_limit(server: RerankServer) -> None:
    server.faults = [Fault(body=ANSWER.ljust(MOST_ANSWER_BYTES)), Fault(body=ANSWER.ljust(MOST_ANSWER_BYTES + 1))]
    reranker = opened(server, seconds=30.0)
    assert await reranker.rerank("one", ["text"]) == (0.5,)
    with pytest.raises(UnavailableError, match="too large"):
        await reranker.rerank("one", ["text"])
    await reranker.aclose()


async def test_an_answer_is_not_unpacked(reranker: HttpReranker, server: RerankServer) -> None:
    server.faults = [Fault(body=ANSWER), Fault(body=gzip.compress(ANSWER), encoding="gzip")]
    assert await reranker.rerank("one", ["text"]) == (0.5,)
    with pytest.raises(UnavailableError, match="something else"):
        await reranker.rerank("one", ["text"])


async def test_a_wrong_key_is_told_without_it() -> None:
    with RerankServer() as server:
        reranker = opened(server, key="rk-another")
        with pytest.raises(ModelSetupError, match="RERANK_API_KEY") as caught:
            await reranker.rerank(QUESTION, TEXTS)
        await reranker.aclose()
    assert "rk-another" not in told(caught.value)
    assert "rk-another" not in repr(vars(reranker))


async def test_a_wrong_model_is_told() -> None:
    with RerankServer() as server:
        reranker = opened(server, model="another")
        with pytest.raises(ModelSetupError, match="RERANK_MODEL"):
            await reranker.rerank(QUESTION, TEXTS)
        await reranker.aclose()


async def test_nothing_at_the_address_is_told() -> None:
    reranker = open_reranker("http://127.0.0.1:9/rerank", model="", api_key=SecretStr(""), seconds=SECONDS)
    with pytest.raises(UnavailableError, match="out of reach"):
        await reranker.rerank(QUESTION, TEXTS)
    await reranker.aclose()


async def test_whoever_stops_waiting_stops_the_request(reranker: HttpReranker, server: RerankServer) -> None:
    server.faults = [Fault(seconds=0.3)]
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await reranker.rerank(QUESTION, TEXTS)
    assert await reranker.rerank(QUESTION, TEXTS) == SCORES
