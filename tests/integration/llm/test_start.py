"""How a process starts with models that run elsewhere."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from app.bootstrap import build_services
from app.core.config import Settings
from app.core.errors import ConfigurationError, UnavailableError
from app.llm.reranking import NullReranker
from app.llm.types import Embedder
from tests.support import rerank_server
from tests.support.embedding_server import KEY, MODEL, OWN_DIMENSION, EmbeddingServer, Fault
from tests.support.rerank_server import RerankServer

NOWHERE = "http://127.0.0.1:9/v1"


def settings(model_folder: Path, **given: Any) -> Settings:
    nowhere = SecretStr("redis://127.0.0.1:9")
    return Settings(
        database_url=SecretStr("postgresql://app@127.0.0.1:9/none"),
        redis_cache_url=nowhere,
        redis_limits_url=nowhere,
        blob_path=model_folder / "blobs",
        model_path=model_folder,
        oidc_issuer="https://issuer.test",
        **given,
    )


async def test_without_a_server_the_local_model_is_configured(model_folder: Path) -> None:
    async with build_services(settings(model_folder)) as services:
        assert services.embedders.configured is services.embedders.local
        with pytest.raises(UnavailableError):
            services.embedders.of(f"openai:{MODEL}:{OWN_DIMENSION}")


async def test_the_configured_model_is_checked_at_the_start(model_folder: Path) -> None:
    with EmbeddingServer() as server:
        given = settings(model_folder, openai_api_key=SecretStr(KEY), openai_base_url=server.url, embedding_model=MODEL)
        async with build_services(given) as services:
            assert services.embedders.configured.model_id == f"openai:{MODEL}:{OWN_DIMENSION}"
            assert services.embedders.of(services.embedders.local.model_id) is services.embedders.local
            vectors = await services.embedders.of(f"openai:{MODEL}:16").embed_passages(["stored before"])
            assert vectors.shape == (1, 16)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"embedding_dimension": 16}, "EMBEDDING_DIMENSION asks for 16"),
        ({"embedding_model": "another"}, "EMBEDDING_MODEL"),
        ({"openai_api_key": SecretStr("sk-another")}, "OPENAI_API_KEY"),
        ({"openai_api_key": SecretStr(""), "openai_base_url": ""}, "OPENAI_BASE_URL"),
    ],
    ids=["dimension", "model", "key", "no server"],
)
async def test_a_wrong_setting_refuses_to_start(model_folder: Path, changed: dict[str, Any], words: str) -> None:
    with EmbeddingServer(shortens=None) as server:
        right = {"openai_api_key": SecretStr(KEY), "openai_base_url": server.url, "embedding_model": MODEL}
        with pytest.raises(ConfigurationError, match=words):
            async with build_services(settings(model_folder, **(right | changed))):
                pytest.fail("It started.")


async def test_it_starts_while_the_server_is_away_and_learns_the_model_when_it_is_back(
    model_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("app.bootstrap._CHECK_EMBEDDING_SECONDS", "app.llm.embedders._BAD_SECONDS"):
        monkeypatch.setattr(name, 0.05)
    monkeypatch.setattr("app.llm.providers.openai_embeddings._FAILURE_SECONDS", 0.05)
    with EmbeddingServer() as server:
        server.lasting = Fault(503)
        given = settings(model_folder, openai_api_key=SecretStr(KEY), openai_base_url=server.url, embedding_model=MODEL)
        async with build_services(given) as services:
            with pytest.raises(UnavailableError, match="503"):
                await services.embedders.check()
            with pytest.raises(UnavailableError, match="not answered yet"):
                _ = services.embedders.configured.model_id
            server.lasting = None
            async with asyncio.timeout(10):
                while not _is_known(services.embedders.configured):  # noqa: ASYNC110 - nobody asks it to embed, and nothing tells
                    await asyncio.sleep(0.02)
            assert services.embedders.configured.model_id == f"openai:{MODEL}:{OWN_DIMENSION}"


def _is_known(embedder: Embedder) -> bool:
    try:
        return bool(embedder.model_id)
    except UnavailableError:
        return False


async def test_it_starts_without_any_server_there(model_folder: Path) -> None:
    given = settings(model_folder, openai_base_url=NOWHERE, embedding_model=MODEL, embedding_dimension=16)
    async with build_services(given) as services:
        assert services.embedders.configured.model_id == f"openai:{MODEL}:16"


async def test_without_the_address_of_a_reranker_the_order_is_kept(model_folder: Path) -> None:
    async with build_services(settings(model_folder)) as services:
        assert isinstance(services.reranker, NullReranker)


async def test_the_reranker_that_is_set_is_asked_and_closed_at_the_end(model_folder: Path) -> None:
    with RerankServer() as server:
        given = settings(
            model_folder,
            rerank_url=server.url,
            rerank_model=rerank_server.MODEL,
            rerank_api_key=SecretStr(rerank_server.KEY),
        )
        async with build_services(given) as services:
            assert not server.asked
            assert await services.reranker.rerank("tea", ["coffee", "tea"]) == (0.0, 1.0)
        with pytest.raises(RuntimeError, match="closed"):
            await services.reranker.rerank("tea", ["coffee", "tea"])


async def test_it_starts_while_the_reranker_is_away(model_folder: Path) -> None:
    async with build_services(settings(model_folder, rerank_url="http://127.0.0.1:9/rerank")) as services:
        with pytest.raises(UnavailableError, match="out of reach"):
            await services.reranker.rerank("tea", ["coffee", "tea"])
