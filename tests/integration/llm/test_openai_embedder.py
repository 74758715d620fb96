"""The embedder of an OpenAI-compatible server, against one on the loopback that goes wrong as real ones do."""

import asyncio
import traceback
from collections.abc import AsyncIterator, Iterator

import numpy as np
import pytest

from app.core.errors import AppError, UnavailableError
from app.llm.providers.openai_client import open_client
from app.llm.providers.openai_embeddings import EmbeddingLimits, OpenAIEmbedder, OpenAIModels
from app.llm.types import InputRefusedError, InvalidEmbeddingsError, ModelSetupError
from tests.support.embedding_server import KEY, MODEL, OWN_DIMENSION, TOO_LONG, EmbeddingServer, Fault, Item, vector_of

LIMITS = EmbeddingLimits(most_texts=8, most_characters=10_000, in_flight=3, passages_seconds=0.5, query_seconds=0.5)
TEXTS = [f"confidential text {n}" for n in range(20)]


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as server:
        yield server


@pytest.fixture
async def models(server: EmbeddingServer) -> AsyncIterator[OpenAIModels]:
    models = OpenAIModels(open_client(KEY, server.url), LIMITS)
    yield models
    await models.aclose()


@pytest.fixture
async def embedder(models: OpenAIModels, server: EmbeddingServer) -> OpenAIEmbedder:
    """An embedder whose first check has passed, so that the faults are for the requests of the test."""
    embedder = models.embedder(MODEL, 0)
    await embedder.embed_query("ready")
    server.asked.clear()
    return embedder


def told(error: AppError) -> str:
    """Return everything that could be written somewhere about an error."""
    return "".join(traceback.format_exception(error)) + error.detail + repr(error.extra)


def change(position: int, **members: object) -> "Fault":
    def spoil(items: list[Item]) -> list[Item]:
        return [item | members if n == position else item for n, item in enumerate(items)]

    return Fault(spoil=spoil)


async def test_requests_are_bounded_in_texts_and_in_number(embedder: OpenAIEmbedder, server: EmbeddingServer) -> None:
    server.most_open, server.faults = 0, [Fault(seconds=0.05) for _ in range(20)]
    await embedder.embed_passages([f"text {n}" for n in range(100)])
    assert len(server.asked) == 13
    assert max(len(asked.texts) for asked in server.asked) == 8
    assert server.most_open <= 3


async def test_long_texts_go_in_requests_of_their_own(embedder: OpenAIEmbedder, server: EmbeddingServer) -> None:
    await embedder.embed_passages(["a" * 6_000, "b", "c" * 20_000, "d" * 6_000])
    assert [[len(text) for text in asked.texts] for asked in server.asked] == [[1, 6_000], [6_000], [20_000]]


async def test_a_reordered_reply_is_put_right(embedder: OpenAIEmbedder, server: EmbeddingServer) -> None:
    server.lasting = Fault(spoil=lambda items: items[::-1])
    vectors = await embedder.embed_passages(TEXTS)
    for text, vector in zip(TEXTS, vectors, strict=True):
        expected = np.array(vector_of(text, OWN_DIMENSION))
        assert np.allclose(vector, expected / np.linalg.norm(expected), atol=1e-5)


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (Fault(spoil=lambda items: items[:-1]), InvalidEmbeddingsError),
        (Fault(spoil=lambda items: [*items[:-1], items[0]]), InvalidEmbeddingsError),
        (Fault(spoil=lambda items: [*items, items[0]]), InvalidEmbeddingsError),
        (change(3, index=9), InvalidEmbeddingsError),
        (change(3, embedding=[1.0]), InvalidEmbeddingsError),
        (Fault(spoil=lambda items: [item | {"embedding": [1.0, 2.0]} for item in items]), InvalidEmbeddingsError),
        (Fault(body=b'{"data": ['), InvalidEmbeddingsError),
        (Fault(body=b""), InvalidEmbeddingsError),
        (Fault(429), UnavailableError),
        (Fault(500), UnavailableError),
        (Fault(503, b"<html>busy</html>"), UnavailableError),
        (Fault(307), UnavailableError),
        (Fault(0), UnavailableError),
        (Fault(seconds=1.0), UnavailableError),
        (Fault(401), ModelSetupError),
        (Fault(403), ModelSetupError),
        (Fault(404), ModelSetupError),
    ],
    ids=[
        "short", "doubled", "one more", "gapped", "one short vector", "other dimension", "cut json",
        "empty", "429", "500", "503", "redirect", "dropped", "slow", "401", "403", "404",
    ],
)  # fmt: skip
async def test_each_fault_is_one_error_after_one_request_without_a_text_or_key(
    embedder: OpenAIEmbedder, server: EmbeddingServer, fault: Fault, error: type[AppError]
) -> None:
    server.faults = [fault]
    with pytest.raises(AppError) as caught:
        await embedder.embed_passages(TEXTS[:5])
    assert type(caught.value) is error
    assert len(server.asked) == 1
    for secret in (KEY, "sk-test", "confidential"):
        assert secret not in told(caught.value)
    assert (await embedder.embed_passages(TEXTS)).shape == (20, OWN_DIMENSION)


async def test_a_question_is_given_up_in_its_own_time(embedder: OpenAIEmbedder, server: EmbeddingServer) -> None:
    server.faults = [Fault(seconds=2.0)]
    async with asyncio.timeout(1.0):
        with pytest.raises(UnavailableError, match="in time"):
            await embedder.embed_query("slow")


async def test_one_error_ends_the_other_requests(embedder: OpenAIEmbedder, server: EmbeddingServer) -> None:
    server.faults = [Fault(500), *[Fault(seconds=0.1)] * 40]
    with pytest.raises(UnavailableError):
        await embedder.embed_passages([f"text {n}" for n in range(240)])
    assert len(server.asked) < 10


async def test_texts_that_are_refused_do_not_lose_their_batch(
    embedder: OpenAIEmbedder, server: EmbeddingServer
) -> None:
    bad = [TEXTS[0], f"{TOO_LONG} confidential", *TEXTS[1:18], f"{TOO_LONG}!"]
    with pytest.raises(InputRefusedError) as caught:
        await embedder.embed_passages(bad)
    assert caught.value.positions == (1, 19)
    assert "confidential" not in told(caught.value)
    assert not caught.value.vectors[[1, 19]].any()
    others = [n for n in range(20) if n not in (1, 19)]
    assert np.array_equal(caught.value.vectors[others], (await embedder.embed_passages([bad[n] for n in others])))


@pytest.mark.parametrize("value", [float("nan"), 0.0], ids=["nan", "zero"])
async def test_a_vector_that_cannot_be_used_is_that_of_its_text_alone(
    embedder: OpenAIEmbedder, server: EmbeddingServer, value: float
) -> None:
    server.faults = [change(3, embedding=[value] * OWN_DIMENSION)] * 2
    with pytest.raises(InputRefusedError) as caught:
        await embedder.embed_passages(TEXTS[:5])
    assert caught.value.positions == (3,)
    assert np.flatnonzero(~caught.value.vectors.any(axis=1)).tolist() == [3]
    server.faults = [change(0, embedding=[value] * OWN_DIMENSION)]
    with pytest.raises(InvalidEmbeddingsError):
        await embedder.embed_query("question")


async def test_a_refused_question_is_told_as_one(embedder: OpenAIEmbedder) -> None:
    with pytest.raises(InputRefusedError) as caught:
        await embedder.embed_query(TOO_LONG)
    assert caught.value.positions == (0,)


async def test_when_nothing_passes_any_more_the_texts_are_not_blamed(
    embedder: OpenAIEmbedder, server: EmbeddingServer
) -> None:
    server.lasting = Fault(400)
    with pytest.raises(ModelSetupError, match="even a short text"):
        await embedder.embed_passages(TEXTS[:4])


async def test_the_id_holds_the_length_that_the_model_gives(models: OpenAIModels, server: EmbeddingServer) -> None:
    embedder = models.embedder(MODEL, 0)
    with pytest.raises(UnavailableError, match="not answered yet"):
        _ = embedder.model_id
    await embedder.embed_query("ready")
    assert embedder.model_id == f"openai:{MODEL}:{OWN_DIMENSION}"
    assert {asked.dimensions for asked in server.asked} == {None}
    assert {asked.encoding for asked in server.asked} == {"float"}


async def test_the_models_own_length_is_not_asked_for(models: OpenAIModels, server: EmbeddingServer) -> None:
    server.shortens = False
    embedder = models.embedder(MODEL, OWN_DIMENSION)
    assert embedder.model_id == f"openai:{MODEL}:{OWN_DIMENSION}"
    assert (await embedder.embed_passages(TEXTS)).shape == (20, OWN_DIMENSION)


async def test_another_length_is_asked_for(models: OpenAIModels) -> None:
    embedder = models.embedder(MODEL, 16)
    vectors = await embedder.embed_passages(TEXTS)
    assert (vectors.shape, embedder.model_id) == ((20, 16), f"openai:{MODEL}:16")
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


@pytest.mark.parametrize("shortens", [False, None], ids=["refused", "ignored"])
async def test_a_length_that_the_server_does_not_give_is_told_with_what_to_set(
    models: OpenAIModels, server: EmbeddingServer, shortens: bool | None
) -> None:
    server.shortens = shortens
    with pytest.raises(ModelSetupError, match=r"48 numbers.*asks for 16.*set it to 48 or to 0"):
        await models.embedder(MODEL, 16).embed_query("ready")


async def test_vectors_too_long_to_be_stored_are_told(models: OpenAIModels, server: EmbeddingServer) -> None:
    server.own = 4_096
    with pytest.raises(ModelSetupError, match=r"up to 4,000 can be stored"):
        await models.embedder(MODEL, 0).embed_query("ready")


async def test_a_wrong_key_or_name_is_told_in_words(server: EmbeddingServer, models: OpenAIModels) -> None:
    with pytest.raises(ModelSetupError, match="EMBEDDING_MODEL"):
        await models.embedder("another", 0).embed_query("ready")
    stranger = OpenAIModels(open_client("sk-another", server.url), LIMITS)
    with pytest.raises(ModelSetupError, match="OPENAI_API_KEY") as caught:
        await stranger.embedder(MODEL, 0).embed_query("ready")
    assert "sk-another" not in told(caught.value)
    await stranger.aclose()


async def test_a_server_that_hangs_at_first_costs_many_callers_one_time_out(
    models: OpenAIModels, server: EmbeddingServer
) -> None:
    server.lasting = Fault(seconds=1.0)
    embedder = models.embedder(MODEL, 0)
    async with asyncio.timeout(1.5):
        found = await asyncio.gather(*(embedder.embed_query("ready") for _ in range(20)), return_exceptions=True)
    assert all(isinstance(error, UnavailableError) for error in found)
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("model_id", "model", "dimension"),
    [("openai:nomic-embed-text:v1.5:768", "nomic-embed-text:v1.5", 768), ("openai:a:3", "a", 3)],
)
def test_ids_of_models_are_read_back(model_id: str, model: str, dimension: int) -> None:
    models = OpenAIModels(open_client(KEY, "http://127.0.0.1:9/v1"))
    assert models.of(model_id) is models.embedder(model, dimension)


@pytest.mark.parametrize(
    "model_id", ["", "openai:", "openai:a", "openai::3", "openai:a:", "openai:a:\u0663", "hash-384"]
)
def test_other_ids_are_of_no_model(model_id: str) -> None:
    assert OpenAIModels(open_client(KEY, "http://127.0.0.1:9/v1")).of(model_id) is None
