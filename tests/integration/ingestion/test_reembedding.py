import asyncio
from collections.abc import Sequence

import pytest
import sqlalchemy as sa

from app.bootstrap import Services
from app.core.errors import UnavailableError
from app.core.ids import UserId, WorkspaceId
from app.core.tenancy import WorkspaceScope
from app.db.models import Workspace
from app.documents.types import Visibility
from app.ingestion.pipeline import IngestionService
from app.ingestion.reembedding import Reembedded, Reembedding, ReembeddingService, WorkspaceModel
from app.ingestion.types import Finished, Yielded
from app.llm.embedders import EmbedderChoice, Embedders
from app.llm.types import Vectors
from app.retrieval.service import RetrievalService
from tests.support.documents import Shelf, digest, long_text
from tests.support.embedder import HashEmbedder
from tests.support.pipelines import LIMITS, CrashingDatabase, OtherEmbedder, ProcessGoneError, always, models_of
from tests.support.tenants import Tenant, Tenants

BOOK = long_text(100)
QUESTION = "operator valve pressure"


class RefusesOne(OtherEmbedder):
    """Has no vector for one passage."""

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        vectors = (await super().embed_passages(texts)).copy()
        vectors[["chapter 17." in text for text in texts]] = 0
        return vectors


class Moving:
    """A process whose configured model is another one than that of the vectors in store."""

    def __init__(self, services: Services, configured: HashEmbedder) -> None:
        embedders = Embedders(HashEmbedder(), configured)
        self.reembedding = ReembeddingService(services.database, embedders)
        self.ingestion = IngestionService(services.database, services.blobs, embedders, services.parser, LIMITS)
        self.retrieval = RetrievalService(services.database, embedders, max_query_characters=4_000)


@pytest.fixture
def moving(services: Services) -> Moving:
    return Moving(services, OtherEmbedder())


async def model_of(services: Services, scope: WorkspaceScope) -> str | None:
    async with services.database.workspace(scope) as session:
        return await session.scalar(sa.select(Workspace.embedding_model).where(Workspace.id == scope.workspace_id))


async def test_the_first_ready_content_decides_the_model_of_its_workspace(
    shelf: Shelf, tenant: Tenant, services: Services
) -> None:
    await shelf.upload(tenant.scope, "a.txt", b"The pump starts.")
    assert await model_of(services, tenant.scope) == ""
    await shelf.process(tenant.scope, b"The pump starts.")
    assert await model_of(services, tenant.scope) == "hash-384"


async def test_new_uploads_get_vectors_of_the_model_that_serves(
    shelf: Shelf, tenant: Tenant, services: Services, moving: Moving
) -> None:
    await shelf.add(tenant.scope, "a.txt", b"The pump starts by hand.")
    await shelf.upload(tenant.scope, "b.txt", b"The valve is shut.")
    assert isinstance(await moving.ingestion.run(tenant.scope, digest(b"The valve is shut.")), Finished)
    assert await models_of(shelf, tenant.scope) == {"hash-384": 2}
    assert {passage.document_name for passage in (await moving.retrieval.search(tenant.scope, "valve")).passages} >= {
        "b.txt"
    }


async def test_a_workspace_changes_over_at_once_and_loses_the_old_vectors_later(
    shelf: Shelf, tenant: Tenant, tenants: Tenants, services: Services, moving: Moving
) -> None:
    await shelf.add(tenant.scope, "book.md", BOOK)
    other = await tenants.workspace()
    await shelf.add(other.scope, "book.md", BOOK)
    version = await shelf.corpus_version(tenant.scope)
    (before,) = await shelf.contents(tenant.scope)
    assert await moving.reembedding.model_of(tenant.scope) == WorkspaceModel(
        EmbedderChoice.DEFAULT, "hash-384", Reembedding("other-128", 0, 100)
    )
    assert await moving.reembedding.run(tenant.scope) == Reembedded("other-128", 100)
    assert await moving.reembedding.model_of(tenant.scope) == WorkspaceModel(EmbedderChoice.DEFAULT, "other-128")
    (content,) = await shelf.contents(tenant.scope)
    assert (content.embedding_model, content.updated_at) == ("other-128", before.updated_at)
    assert await model_of(services, tenant.scope) == "other-128"
    assert await shelf.corpus_version(tenant.scope) != version
    assert await models_of(shelf, tenant.scope) == {"hash-384": 100, "other-128": 100}
    assert await moving.reembedding.run(tenant.scope) is None
    assert await moving.reembedding.remove_old_vectors(tenant.scope) == 100
    assert await models_of(shelf, tenant.scope) == {"other-128": 100}
    assert len((await moving.retrieval.search(tenant.scope, QUESTION)).passages) == 8
    # The neighbour is as it was.
    assert await models_of(shelf, other.scope) == {"hash-384": 100}
    assert await model_of(services, other.scope) == "hash-384"
    assert len((await moving.retrieval.search(other.scope, QUESTION)).passages) == 8


async def test_a_member_is_told_of_the_change_by_what_they_may_read(
    shelf: Shelf, tenant: Tenant, tenants: Tenants, moving: Moving
) -> None:
    _, member = await tenants.member(tenant)
    await shelf.add(tenant.scope, "a.txt", b"The pump starts by hand.")
    await shelf.add(tenant.scope, "book.md", BOOK, Visibility.RESTRICTED)
    assert (await moving.reembedding.model_of(tenant.scope)).reembedding == Reembedding("other-128", 0, 101)
    assert (await moving.reembedding.model_of(member)).reembedding == Reembedding("other-128", 0, 1)
    assert await moving.reembedding.run(tenant.scope) == Reembedded("other-128", 101)
    assert (await moving.reembedding.model_of(member)).reembedding is None


async def test_questions_during_the_change_are_always_answered_and_never_mix_two_models(
    shelf: Shelf, tenant: Tenant, services: Services, moving: Moving
) -> None:
    """Vectors of two models have different lengths here: comparing them would be an error of the database."""
    await shelf.add(tenant.scope, "book.md", BOOK)
    asked, done = 0, asyncio.Event()

    async def ask() -> None:
        nonlocal asked
        while not done.is_set():
            passages = (await moving.retrieval.search(tenant.scope, QUESTION)).passages
            assert len(passages) == 8
            assert all(passage.document_name == "book.md" for passage in passages)
            asked += 1

    asking = [asyncio.create_task(ask()) for _ in range(3)]
    for number in range(6):
        process = Moving(services, OtherEmbedder() if number % 2 == 0 else HashEmbedder())
        assert isinstance(await process.reembedding.run(tenant.scope), Reembedded)
        await asyncio.sleep(0.2)  # what takes some minutes in the worker: questions of before the change end
        assert await process.reembedding.remove_old_vectors(tenant.scope) == 100
    done.set()
    await asyncio.gather(*asking)
    assert asked > 20


async def test_it_makes_way_for_others_and_embeds_nothing_twice(shelf: Shelf, tenant: Tenant, moving: Moving) -> None:
    await shelf.add(tenant.scope, "book.md", BOOK)
    ends: list[object] = []
    while not ends or isinstance(ends[-1], Yielded):
        ends.append(await moving.reembedding.run(tenant.scope, always))
    assert ends == [Yielded(32, 100), Yielded(64, 100), Yielded(96, 100), Reembedded("other-128", 100)]


@pytest.mark.parametrize("committed", [False, True], ids=["before commit", "after commit"])
async def test_a_crash_at_any_transaction_leaves_a_workspace_that_answers(
    shelf: Shelf, tenants: Tenants, services: Services, moving: Moving, *, committed: bool
) -> None:
    at, ended = 0, False
    while not ended:
        tenant = await tenants.workspace()
        await shelf.add(tenant.scope, "book.md", BOOK)
        database = CrashingDatabase(services.database, at, committed=committed)
        dying = ReembeddingService(database, Embedders(HashEmbedder(), OtherEmbedder()))
        try:
            ended = isinstance(await dying.run(tenant.scope), Reembedded)
        except ProcessGoneError:
            assert len((await moving.retrieval.search(tenant.scope, QUESTION)).passages) == 8
            await moving.reembedding.run(tenant.scope)
        assert await models_of(shelf, tenant.scope) == {"hash-384": 100, "other-128": 100}
        assert await model_of(services, tenant.scope) == "other-128"
        at += 1
    assert at > 6


async def test_a_content_that_becomes_ready_meanwhile_is_not_left_without_vectors(
    shelf: Shelf, tenant: Tenant, services: Services
) -> None:
    await shelf.add(tenant.scope, "book.md", BOOK)
    late = b"The gyroscope is mounted upside down."
    await shelf.upload(tenant.scope, "late.txt", late)

    class Slow(OtherEmbedder):
        batches = 0

        async def embed_passages(self, texts: Sequence[str]) -> Vectors:
            self.batches += 1
            if self.batches == 2:
                await shelf.process(tenant.scope, late)
            return await super().embed_passages(texts)

    process = Moving(services, Slow())
    assert await process.reembedding.run(tenant.scope) == Reembedded("other-128", 101)
    found = (await process.retrieval.search(tenant.scope, late.decode())).passages
    assert "late.txt" in {passage.document_name for passage in found}


async def test_a_content_in_work_during_the_change_gets_vectors_of_the_new_model(
    shelf: Shelf, tenant: Tenant, services: Services, moving: Moving
) -> None:
    await shelf.add(tenant.scope, "a.txt", b"The pump starts by hand.")
    await shelf.upload(tenant.scope, "book.md", BOOK)

    class ChangesTheModel(HashEmbedder):
        batches = 0

        async def embed_passages(self, texts: Sequence[str]) -> Vectors:
            self.batches += 1
            if self.batches == 3:
                await moving.reembedding.run(tenant.scope)
            return await super().embed_passages(texts)

    embedders = Embedders(ChangesTheModel(), OtherEmbedder())
    service = IngestionService(services.database, services.blobs, embedders, services.parser, LIMITS)
    assert isinstance(await service.run(tenant.scope, digest(BOOK)), Finished)
    assert (await models_of(shelf, tenant.scope))["other-128"] == 101
    contents = await shelf.contents(tenant.scope)
    assert {content.embedding_model for content in contents} == {"other-128"}
    await moving.reembedding.remove_old_vectors(tenant.scope)
    assert await models_of(shelf, tenant.scope) == {"other-128": 101}


async def test_a_passage_without_a_vector_of_the_new_model_keeps_the_old_one_serving(
    shelf: Shelf, tenant: Tenant, services: Services
) -> None:
    await shelf.add(tenant.scope, "book.md", BOOK)
    process = Moving(services, RefusesOne())
    with pytest.raises(UnavailableError, match="page 1 "):
        await process.reembedding.run(tenant.scope)
    assert await model_of(services, tenant.scope) == "hash-384"
    assert len((await process.retrieval.search(tenant.scope, QUESTION)).passages) == 8


async def test_a_document_that_is_deleted_meanwhile_stops_nothing(
    shelf: Shelf, tenant: Tenant, services: Services
) -> None:
    book = await shelf.upload(tenant.scope, "book.md", BOOK)
    await shelf.process(tenant.scope, BOOK)
    await shelf.add(tenant.scope, "a.txt", b"The pump starts by hand.")

    class Deletes(OtherEmbedder):
        batches = 0

        async def embed_passages(self, texts: Sequence[str]) -> Vectors:
            self.batches += 1
            if self.batches == 2:
                await services.documents.delete(tenant.scope, book.document_id)
            return await super().embed_passages(texts)

    assert await Moving(services, Deletes()).reembedding.run(tenant.scope) == Reembedded("other-128", 1)


async def test_a_question_for_a_model_that_cannot_run_here_says_so(
    shelf: Shelf, tenant: Tenant, services: Services, moving: Moving
) -> None:
    await shelf.add(tenant.scope, "book.md", BOOK)
    await moving.reembedding.run(tenant.scope)
    with pytest.raises(UnavailableError, match="other-128"):
        await services.retrieval.search(tenant.scope, QUESTION)


async def test_a_workspace_without_documents_or_that_is_gone_has_nothing_to_do(tenant: Tenant, moving: Moving) -> None:
    assert await moving.reembedding.run(tenant.scope) is None
    gone = WorkspaceScope(WorkspaceId(tenant.owner.id), UserId(tenant.owner.id), tenant.scope.role, "t", "r")
    assert await moving.reembedding.run(gone) is None
    assert await moving.reembedding.model_of(gone) == WorkspaceModel(EmbedderChoice.DEFAULT, "")
