"""What every embedder keeps: the local one, one of a server, and the one that the tests use instead of a model."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest

from app.llm.embeddings import LocalEmbedder
from app.llm.providers.openai_client import open_client
from app.llm.providers.openai_embeddings import OpenAIModels
from app.llm.types import Embedder
from tests.support.embedder import HashEmbedder
from tests.support.embedding_server import KEY, MODEL, EmbeddingServer

ODD = [
    "",
    " ",
    "\x00",
    "\ud800",
    "a\udfffb",
    "\u202e\ufb01",
    "e\u0301",
    "\U0001f469\u200d\U0001f680",
    "[SEP]",
    "<|endoftext|>",
]


@pytest.fixture(scope="module", params=["local", "server", "server in base64", "hash"])
async def embedder(request: pytest.FixtureRequest, model_folder: Path) -> AsyncIterator[Embedder]:
    if request.param == "hash":
        yield HashEmbedder()
    elif request.param == "local":
        local = LocalEmbedder.load(model_folder, threads=1)
        yield local
        local.close()
    else:
        with EmbeddingServer(in_base64=request.param != "server") as server:
            models = OpenAIModels(open_client(KEY, server.url))
            made = models.embedder(MODEL, 0)
            await made.embed_query("ready")
            yield made
            await models.aclose()


def texts(count: int) -> list[str]:
    return [f"{'word ' * (n % 7)}number {n}" for n in range(count)]


async def test_each_text_gets_one_unit_vector_in_order(embedder: Embedder) -> None:
    asked = texts(150)
    vectors = await embedder.embed_passages(asked)
    assert vectors.shape == (150, embedder.dimension)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-3)
    for position in (0, 63, 64, 149):
        assert np.allclose(vectors[position], await embedder.embed_query(asked[position]), atol=1e-6)


async def test_a_vector_does_not_depend_on_its_neighbours(embedder: Embedder) -> None:
    alone = await embedder.embed_passages(["the one"])
    among = await embedder.embed_passages([*texts(20), "the one", "long " * 300])
    assert np.array_equal(alone[0], among[20])


async def test_no_texts_give_an_empty_matrix(embedder: Embedder) -> None:
    assert (await embedder.embed_passages([])).shape == (0, embedder.dimension)


async def test_odd_texts_get_vectors_like_others(embedder: Embedder) -> None:
    vectors = await embedder.embed_passages(ODD)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-3)


async def test_a_long_text_gets_a_vector(embedder: Embedder) -> None:
    vector = await embedder.embed_query("word " * 60_000)
    assert vector.shape == (embedder.dimension,)
    assert np.isclose(np.linalg.norm(vector), 1, atol=1e-3)


async def test_callers_at_once_get_their_own_vectors(embedder: Embedder) -> None:
    asked = texts(12)
    found = await asyncio.gather(*(embedder.embed_passages([text]) for text in asked))
    assert np.allclose(np.concatenate(found), await embedder.embed_passages(asked), atol=1e-6)


async def test_it_works_on_after_a_cancellation(embedder: Embedder) -> None:
    before = await embedder.embed_query("the one")
    for ticks in range(12):
        task = asyncio.create_task(embedder.embed_passages(texts(40)))
        for _ in range(ticks):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert np.array_equal(before, await embedder.embed_query("the one"))


async def test_its_id_is_stable(embedder: Embedder) -> None:
    assert embedder.model_id == embedder.model_id != ""
