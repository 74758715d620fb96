"""A workspace that chose the local embedder: the model server of its service gets no text of it, whatever happens."""

from collections.abc import AsyncIterator, Iterator, Sequence
from uuid import uuid4

import pytest

from app.answering.claims import Ask
from app.bootstrap import Services, compose_services
from app.core.tenancy import WorkspaceScope
from app.ingestion.reembedding import Reembedded
from app.llm.embedders import EmbedderChoice, Embedders
from app.llm.providers.openai_client import open_client
from app.llm.providers.openai_embeddings import EmbeddingLimits, OpenAIEmbedder, OpenAIModels
from app.llm.types import Reranker, Vectors
from app.retrieval.reranking import MOST_RERANKED
from tests.support.corpus import Corpus
from tests.support.documents import long_text
from tests.support.embedder import HashEmbedder
from tests.support.embedding_server import KEY, MODEL, EmbeddingServer
from tests.support.tenants import Tenants

LOCAL, REMOTE = EmbedderChoice.LOCAL, EmbedderChoice.REMOTE
REMOTE_ID = f"openai:{MODEL}:16"
BOOK = long_text(100).decode()
QUESTION = "Who opens the valve of chapter 7?"


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as server:
        yield server


@pytest.fixture
async def remote(services: Services, server: EmbeddingServer) -> AsyncIterator[Services]:
    """A service that is configured with a model of the server."""
    models = OpenAIModels(open_client(KEY, server.url))
    yield composed(services, Embedders(HashEmbedder(), models.embedder(MODEL, 16), models))
    await models.aclose()


@pytest.fixture
async def scope(tenants: Tenants) -> WorkspaceScope:
    return (await tenants.workspace()).scope


def composed(services: Services, embedders: Embedders, reranker: Reranker | None = None) -> Services:
    return compose_services(
        services.settings,
        services.database,
        services.redis,
        services.keys,
        embedders,
        parser=services.parser,
        reranker=reranker,
    )


def texts_of(server: EmbeddingServer) -> Sequence[str]:
    """Return what the server was sent besides the word of the check at the start."""
    return [text for asked in server.asked for text in asked.texts if text != "ready"]


async def use(service: Services, scope: WorkspaceScope) -> None:
    """Search, which finds something, and ask."""
    assert (await service.retrieval.search(scope, QUESTION)).passages
    await service.answering.answer(scope, Ask(QUESTION, uuid4()))


async def test_a_fresh_local_workspace_sends_nothing(
    remote: Services, server: EmbeddingServer, scope: WorkspaceScope
) -> None:
    await remote.embedders.check()
    await remote.workspaces.update(scope, embedder=LOCAL)
    await remote.retrieval.search(scope, QUESTION)
    await Corpus(remote.documents, remote.ingestion).add(scope, "book.md", BOOK)
    await use(remote, scope)
    assert await remote.reembedding.run(scope) is None
    assert (await remote.reembedding.model_of(scope)).serving == "hash-384"
    assert texts_of(server) == []


class Reversing:
    """Finds the last text best; implements `app.llm.types.Reranker`."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def rerank(self, question: str, texts: Sequence[str]) -> Sequence[float]:
        self.asked.append(question)
        return [float(place) for place in range(len(texts))]

    async def aclose(self) -> None:
        """Hold nothing."""


async def test_a_reranker_orders_what_is_found_and_gets_nothing_of_a_local_workspace(
    services: Services, scope: WorkspaceScope
) -> None:
    reranker = Reversing()
    reranked = composed(services, services.embedders, reranker)
    await Corpus(services.documents, services.ingestion).add(scope, "book.md", BOOK)
    plain = (await services.retrieval.search(scope, QUESTION, MOST_RERANKED)).passages
    found = (await reranked.retrieval.search(scope, QUESTION, MOST_RERANKED)).passages
    assert (reranker.asked, found) == ([QUESTION], plain[::-1])
    await reranked.workspaces.update(scope, embedder=LOCAL)
    assert (await reranked.retrieval.search(scope, QUESTION, MOST_RERANKED)).passages == plain
    assert reranker.asked == [QUESTION]


async def test_without_documents_no_question_is_sent_anywhere(
    remote: Services, server: EmbeddingServer, scope: WorkspaceScope
) -> None:
    await remote.retrieval.search(scope, QUESTION)
    assert server.asked == []


async def test_from_the_wish_on_nothing_is_sent_and_all_is_still_found(
    remote: Services, server: EmbeddingServer, scope: WorkspaceScope
) -> None:
    corpus = Corpus(remote.documents, remote.ingestion)
    await corpus.add(scope, "book.md", BOOK)
    await use(remote, scope)
    assert QUESTION in texts_of(server)
    await remote.workspaces.update(scope, embedder=LOCAL)
    sent = len(server.asked)
    before = await remote.reembedding.model_of(scope)
    assert (before.serving, before.reembedding and before.reembedding.done) == (REMOTE_ID, 0)
    await use(remote, scope)
    await corpus.add(scope, "new.txt", "The pump of chapter 7 is new.")
    assert await remote.reembedding.run(scope) == Reembedded("hash-384", 100)
    await use(remote, scope)
    assert len(server.asked) == sent


async def test_while_the_server_may_not_be_asked_words_and_numbers_find_and_similarity_is_told(
    remote: Services, scope: WorkspaceScope
) -> None:
    corpus = Corpus(remote.documents, remote.ingestion)
    await corpus.add(scope, "book.md", BOOK)
    await corpus.add(scope, "codes.txt", "Fault T3410 means that the pump runs dry.")
    await remote.workspaces.update(scope, embedder=LOCAL)
    passages = (await remote.retrieval.search(scope, "What does T3410 mean?", 32)).passages
    assert passages[0].document_name == "codes.txt"
    assert all(each.arms.vector is None and (each.arms.identifier or each.arms.keyword) for each in passages)
    local = HashEmbedder()
    question, (text,) = await local.embed_query("What does T3410 mean?"), await local.embed_passages([passages[0].text])
    assert passages[0].similarity == pytest.approx(float(text @ question), abs=1e-5)
    assert (await remote.retrieval.search(scope, "Zebras?")).passages == ()


class Leaving(OpenAIEmbedder):
    """A model of the server whose workspace leaves it while the n-th batch is embedded, from 1."""

    batch = 2
    service: Services
    scope: WorkspaceScope
    batches = 0

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        self.batches += 1
        if self.batches == self.batch:
            await self.service.workspaces.update(self.scope, embedder=LOCAL)
        return await super().embed_passages(texts)


@pytest.mark.parametrize("reembeds", [False, True], ids=["while taken in", "while embedded anew"])
async def test_a_wish_in_the_middle_of_work_ends_with_the_batch_that_is_on_its_way(
    services: Services, server: EmbeddingServer, scope: WorkspaceScope, *, reembeds: bool
) -> None:
    client = open_client(KEY, server.url)
    model = Leaving(client, MODEL, 16, EmbeddingLimits())
    service = composed(services, Embedders(HashEmbedder(), model))
    model.service, model.scope = service, scope
    if reembeds:
        await Corpus(services.documents, services.ingestion).add(scope, "book.md", BOOK)
        await service.workspaces.update(scope, embedder=REMOTE)
        assert await service.reembedding.run(scope) is None
    else:
        await Corpus(service.documents, service.ingestion).add(scope, "book.md", BOOK)
    assert model.batches == 2
    assert 0 < len(texts_of(server)) <= 64, "two batches of the 100 passages"
    sent = len(server.asked)
    assert (await service.reembedding.model_of(scope)).serving == "hash-384"
    await use(service, scope)
    assert len(server.asked) == sent
    await client.close()
