"""Documents that are embedded by a server and searched by its vectors, also after another model was configured."""

from collections.abc import AsyncIterator, Iterator

import pytest

from app.bootstrap import Services, compose_services
from app.core.tenancy import WorkspaceScope
from app.llm.embedders import Embedders
from app.llm.providers.openai_client import open_client
from app.llm.providers.openai_embeddings import OpenAIModels
from tests.support.corpus import Corpus
from tests.support.embedder import HashEmbedder
from tests.support.embedding_server import KEY, MODEL, TOO_LONG, EmbeddingServer
from tests.support.tenants import Tenants

SENTENCES = [f"Valve {n} of the cooling loop is opened by hand." for n in range(40)]


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as server:
        yield server


@pytest.fixture
async def models(server: EmbeddingServer) -> AsyncIterator[OpenAIModels]:
    models = OpenAIModels(open_client(KEY, server.url))
    yield models
    await models.aclose()


@pytest.fixture
async def scope(tenants: Tenants) -> WorkspaceScope:
    return (await tenants.workspace()).scope


def composed(services: Services, embedders: Embedders) -> Services:
    return compose_services(
        services.settings, services.database, services.redis, services.keys, embedders, parser=services.parser
    )


async def test_documents_stay_searchable_by_the_model_that_embedded_them(
    services: Services, models: OpenAIModels, scope: WorkspaceScope
) -> None:
    by_server = composed(services, Embedders(HashEmbedder(), models.embedder(MODEL, 16), models))
    await Corpus(by_server.documents, by_server.ingestion).add(scope, "valves.txt", "\n\n".join(SENTENCES))
    first = (await by_server.retrieval.search(scope, "Who opens valve 7?")).passages
    assert first
    local_again = composed(services, Embedders(HashEmbedder(), None, models))
    assert (await local_again.retrieval.search(scope, "Who opens valve 7?")).passages == first


async def test_a_text_that_the_server_refuses_fails_its_document_with_a_reason_and_no_other(
    services: Services, models: OpenAIModels, scope: WorkspaceScope
) -> None:
    by_server = composed(services, Embedders(HashEmbedder(), models.embedder(MODEL, 0), models))
    await by_server.embedders.check()  # as a process does at its start
    corpus = Corpus(by_server.documents, by_server.ingestion)
    refused = await corpus.add(scope, "refused.txt", f"{SENTENCES[0]}\n\n{TOO_LONG}")
    fine = await corpus.add(scope, "fine.txt", SENTENCES[1])
    assert (await by_server.documents.get(scope, refused.document_id)).status == "failed"
    assert (await by_server.documents.get(scope, fine.document_id)).status == "ready"
