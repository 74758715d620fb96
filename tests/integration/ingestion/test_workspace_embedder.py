"""Each workspace chooses its embedder: changes of the wish, midway, at once, and with processes that die."""

import asyncio
import functools
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from app.bootstrap import Services, compose_services
from app.core.errors import UnavailableError
from app.core.tenancy import WorkspaceScope
from app.db.locks import lock_documents
from app.db.models import Chunk, ChunkEmbedding, Workspace
from app.db.session import Database
from app.documents.types import Visibility
from app.ingestion.pipeline import IngestionService
from app.ingestion.reembedding import Reembedded, Reembedding, ReembeddingService
from app.ingestion.types import Away, Finished, Yielded
from app.llm.embedders import EmbedderChoice, Embedders
from app.llm.types import Embedder, Vectors
from app.workspaces.errors import EmbedderNotOfferedError
from tests.support.documents import Shelf, digest, long_text
from tests.support.embedder import HashEmbedder
from tests.support.pipelines import LIMITS, CrashingDatabase, OtherEmbedder, ProcessGoneError, always, models_of
from tests.support.tenants import Tenant, Tenants

BOOK = long_text(100)
NOTE = b"The gyroscope is mounted upside down."
QUESTION = "operator valve pressure"
DEFAULT, LOCAL, REMOTE = EmbedderChoice


class Hooked(OtherEmbedder):
    """A remote model that does something before its n-th batch, from 1."""

    def __init__(self, batch: int, hook: Callable[[], Awaitable[object]]) -> None:
        self._batch = batch
        self._hook = hook
        self.batches = 0

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        self.batches += 1
        if self.batches == self._batch:
            await self._hook()
        return await super().embed_passages(texts)


class BeforeTransaction(Database):
    """Does something before its n-th transaction, from 0; counts those that it began."""

    def __init__(self, database: Database, at: int, hook: Callable[[], Awaitable[object]]) -> None:
        super().__init__(database.engine)
        self._at = at
        self._hook = hook
        self.begun = 0

    @asynccontextmanager
    async def workspace(self, scope: WorkspaceScope) -> AsyncIterator[AsyncSession]:
        """Open a transaction, after the hook if it is its turn."""
        self.begun += 1
        if self.begun == self._at + 1:
            await self._hook()
        async with super().workspace(scope) as session:
            yield session


class ServerOf:
    """A server that still runs the model which no longer is configured."""

    def of(self, model_id: str) -> Embedder | None:
        return OtherEmbedder() if model_id == OtherEmbedder.model_id else None

    async def aclose(self) -> None:
        """Hold nothing."""


def composed(services: Services, embedders: Embedders) -> Services:
    return compose_services(
        services.settings, services.database, services.redis, services.keys, embedders, parser=services.parser
    )


@pytest.fixture
def both(services: Services) -> Services:
    """A service that is configured with a remote model."""
    return composed(services, Embedders(HashEmbedder(), OtherEmbedder()))


async def serving(shelf: Shelf, scope: WorkspaceScope) -> str:
    async with shelf.services.database.workspace(scope) as session:
        query = sa.select(Workspace.embedding_model).where(Workspace.id == scope.workspace_id)
        return (await session.execute(query)).scalar_one()


async def reembeddings(shelf: Shelf, scope: WorkspaceScope) -> int:
    return sum(job["task_name"] == "reembed" for job in await shelf.jobs(scope))


async def assert_ends_in(shelf: Shelf, service: Services, scope: WorkspaceScope, model: str, chunks: int) -> None:
    """Run what is left to do, and check that all of the workspace is found by this model and no other is left."""
    await service.reembedding.run(scope)
    assert await service.reembedding.run(scope) is None
    assert await serving(shelf, scope) == model
    await service.reembedding.remove_old_vectors(scope)
    assert await models_of(shelf, scope) == {model: chunks}
    assert {content.embedding_model for content in await shelf.contents(scope)} == {model}
    assert len((await service.retrieval.search(scope, QUESTION)).passages) == min(8, chunks)


@pytest.mark.parametrize(
    ("choice", "model"), [(DEFAULT, "other-128"), (LOCAL, "hash-384"), (REMOTE, "other-128")], ids=str
)
async def test_a_fresh_workspace_is_embedded_by_its_choice(
    shelf: Shelf, tenant: Tenant, both: Services, choice: EmbedderChoice, model: str
) -> None:
    await both.workspaces.update(tenant.scope, embedder=choice)
    assert await shelf.jobs(tenant.scope) == [], "there is nothing to embed anew"
    await shelf.upload(tenant.scope, "book.md", BOOK)
    assert isinstance(await both.ingestion.run(tenant.scope, digest(BOOK)), Finished)
    assert (await both.reembedding.model_of(tenant.scope)).reembedding is None
    await assert_ends_in(shelf, both, tenant.scope, model, 100)


async def test_workspaces_of_one_service_differ(shelf: Shelf, tenant: Tenant, tenants: Tenants, both: Services) -> None:
    other = await tenants.workspace()
    await both.workspaces.update(tenant.scope, embedder=LOCAL)
    for each in (tenant, other):
        await shelf.upload(each.scope, "book.md", BOOK)
        await both.ingestion.run(each.scope, digest(BOOK))
    await assert_ends_in(shelf, both, tenant.scope, "hash-384", 100)
    await assert_ends_in(shelf, both, other.scope, "other-128", 100)


async def test_a_wish_is_queued_with_its_commit_and_the_old_vectors_serve_until_all_are_there(
    shelf: Shelf, tenant: Tenant, both: Services
) -> None:
    await both.workspaces.update(tenant.scope, embedder=LOCAL)
    await shelf.add(tenant.scope, "book.md", BOOK)
    await shelf.add(tenant.scope, "secret.txt", NOTE, Visibility.RESTRICTED)
    assert await reembeddings(shelf, tenant.scope) == 0
    await both.workspaces.update(tenant.scope, embedder=REMOTE)
    assert await reembeddings(shelf, tenant.scope) == 1
    assert isinstance(await both.reembedding.run(tenant.scope, always), Yielded)
    state = await both.reembedding.model_of(tenant.scope)
    assert (state.choice, state.serving, state.problem) == (REMOTE, "hash-384", None)
    assert state.reembedding == Reembedding("other-128", 32, 101)
    assert len((await both.retrieval.search(tenant.scope, QUESTION)).passages) == 8
    await assert_ends_in(shelf, both, tenant.scope, "other-128", 101)


async def test_the_same_wish_again_lets_a_waiting_job_begin_at_once(
    shelf: Shelf, tenant: Tenant, both: Services
) -> None:
    await shelf.add(tenant.scope, "book.md", BOOK)
    await both.workspaces.update(tenant.scope, embedder=REMOTE)
    async with both.database.workspace(tenant.scope) as session:
        later = "UPDATE procrastinate_jobs SET scheduled_at = now() + interval '5 minutes' WHERE queueing_lock = :lock"
        await session.execute(sa.text(later), {"lock": f"reembed:{tenant.workspace.id}"})
    await both.workspaces.update(tenant.scope, embedder=REMOTE)
    (job,) = [job for job in await shelf.jobs(tenant.scope) if job["task_name"] == "reembed"]
    assert job["waits"] is None


async def test_a_wish_that_is_taken_back_midway_costs_nothing_more(
    shelf: Shelf, tenant: Tenant, services: Services
) -> None:
    await shelf.add(tenant.scope, "book.md", BOOK)

    async def take_back() -> None:
        await process.workspaces.update(tenant.scope, embedder=LOCAL)

    remote = Hooked(2, take_back)
    process = composed(services, Embedders(HashEmbedder(), remote))
    await process.workspaces.update(tenant.scope, embedder=REMOTE)
    assert await process.reembedding.run(tenant.scope) is None
    assert remote.batches == 2, "what was on its way ends, and no other batch begins"
    await assert_ends_in(shelf, process, tenant.scope, "hash-384", 100)


async def test_a_wish_that_changes_twice_midway_ends_in_the_last(
    shelf: Shelf, tenant: Tenant, services: Services
) -> None:
    await shelf.add(tenant.scope, "book.md", BOOK)

    async def there_and_back() -> None:
        for choice in (LOCAL, DEFAULT, LOCAL, REMOTE):
            await process.workspaces.update(tenant.scope, embedder=choice)

    process = composed(services, Embedders(HashEmbedder(), Hooked(2, there_and_back)))
    await process.workspaces.update(tenant.scope, embedder=REMOTE)
    assert await process.reembedding.run(tenant.scope) == Reembedded("other-128", 100)
    await assert_ends_in(shelf, process, tenant.scope, "other-128", 100)


async def test_a_wish_before_any_transaction_of_a_run_holds(shelf: Shelf, tenants: Tenants, both: Services) -> None:
    at, ended, text = 0, False, long_text(3)
    while not ended:
        scope = (await tenants.workspace()).scope
        await shelf.add(scope, "book.md", text)
        await both.workspaces.update(scope, embedder=REMOTE)
        take_back = functools.partial(both.workspaces.update, scope, embedder=LOCAL)
        database = BeforeTransaction(both.database, at, take_back)
        ended = bool(await ReembeddingService(database, both.embedders).run(scope))
        assert ended is (database.begun <= at), "a run that is told of the wish does not change over"
        await assert_ends_in(shelf, both, scope, "other-128" if ended else "hash-384", 3)
        at += 1
    assert at > 5


async def test_a_wish_before_any_transaction_of_a_first_content_holds(
    shelf: Shelf, tenants: Tenants, both: Services
) -> None:
    at, reached = 0, True
    while reached:
        scope = (await tenants.workspace()).scope
        await shelf.upload(scope, "note.txt", NOTE)
        stay_here = functools.partial(both.workspaces.update, scope, embedder=LOCAL)
        database = BeforeTransaction(both.database, at, stay_here)
        service = IngestionService(database, both.blobs, both.embedders, both.parser, LIMITS)
        assert isinstance(await service.run(scope, digest(NOTE)), Finished)
        reached = database.begun > at
        assert await serving(shelf, scope) == ("hash-384" if reached else "other-128")
        at += 1
    assert at > 8


async def test_a_wish_waits_for_a_document_that_is_swapped_in(shelf: Shelf, tenant: Tenant, both: Services) -> None:
    await shelf.add(tenant.scope, "note.txt", NOTE)
    async with both.database.workspace(tenant.scope) as session:
        await lock_documents(session, tenant.scope)
        wishing = asyncio.create_task(both.workspaces.update(tenant.scope, embedder=REMOTE))
        done, _ = await asyncio.wait([wishing], timeout=0.3)
        assert not done
    await wishing
    assert await reembeddings(shelf, tenant.scope) == 1


async def test_wishes_at_the_same_time_as_runs_removals_uploads_and_questions_end_in_the_last(
    shelf: Shelf, tenant: Tenant, both: Services
) -> None:
    """Vectors of two models have different lengths here: comparing them would be an error of the database."""
    scope, notes, over = tenant.scope, [NOTE + b" %d" % n for n in range(6)], asyncio.Event()
    await shelf.add(scope, "book.md", BOOK)

    async def again(work: Callable[[], Awaitable[object]]) -> None:
        while not over.is_set():
            await work()
            await asyncio.sleep(0)

    async def ask() -> None:
        assert len((await both.retrieval.search(scope, QUESTION)).passages) == 8

    async def wish() -> None:
        for number in range(18):
            await both.workspaces.update(scope, embedder=(REMOTE, LOCAL, DEFAULT)[number % 3])
            if number % 3 == 0:
                note = notes[number // 3]
                await shelf.upload(scope, f"{number}.txt", note)
                await both.ingestion.run(scope, digest(note))
        over.set()

    run, ask_again = both.reembedding.run, [again(ask) for _ in range(2)]
    await asyncio.gather(wish(), again(lambda: run(scope)), again(lambda: run(scope, always)), *ask_again)
    for choice, model in ((DEFAULT, "other-128"), (LOCAL, "hash-384")):
        await both.workspaces.update(scope, embedder=choice)
        await both.reembedding.run(scope)
        for note in notes:
            await both.ingestion.run(scope, digest(note))
        await assert_ends_in(shelf, both, scope, model, 106)
    assert {view.status for view in await shelf.listed(scope)} == {"ready"}


async def test_of_many_wishes_at_once_one_holds(shelf: Shelf, tenant: Tenant, both: Services) -> None:
    await shelf.add(tenant.scope, "book.md", BOOK)
    choices = [LOCAL, REMOTE] * 5
    await asyncio.gather(*(both.workspaces.update(tenant.scope, embedder=choice) for choice in choices))
    assert await reembeddings(shelf, tenant.scope) == 1
    choice = (await both.reembedding.model_of(tenant.scope)).choice
    assert choice in choices
    await assert_ends_in(shelf, both, tenant.scope, "hash-384" if choice is LOCAL else "other-128", 100)


@pytest.mark.parametrize("committed", [False, True], ids=["before commit", "after commit"])
@pytest.mark.parametrize("last", [LOCAL, REMOTE], ids=str)
async def test_a_crash_at_any_transaction_and_another_wish_end_in_that_wish(
    shelf: Shelf, tenants: Tenants, both: Services, last: EmbedderChoice, *, committed: bool
) -> None:
    at, ended = 0, False
    while not ended:
        scope = (await tenants.workspace()).scope
        await shelf.add(scope, "book.md", BOOK)
        await both.workspaces.update(scope, embedder=REMOTE)
        database = CrashingDatabase(both.database, at, committed=committed)
        try:
            ended = bool(await ReembeddingService(database, both.embedders).run(scope))
        except ProcessGoneError:
            assert len((await both.retrieval.search(scope, QUESTION)).passages) == 8
        await both.workspaces.update(scope, embedder=last)
        await assert_ends_in(shelf, both, scope, "hash-384" if last is LOCAL else "other-128", 100)
        at += 3  # every third: each costs a workspace
    assert at > 6


async def test_a_content_in_work_follows_a_wish(shelf: Shelf, tenant: Tenant, services: Services) -> None:
    await shelf.upload(tenant.scope, "book.md", BOOK)

    async def stay_here() -> None:
        await process.workspaces.update(tenant.scope, embedder=LOCAL)

    remote = Hooked(2, stay_here)
    process = composed(services, Embedders(HashEmbedder(), remote))
    assert isinstance(await process.ingestion.run(tenant.scope, digest(BOOK)), Finished)
    assert remote.batches == 2
    await assert_ends_in(shelf, process, tenant.scope, "hash-384", 100)


async def test_a_new_document_waits_while_its_workspace_leaves_a_server_and_is_then_found(
    shelf: Shelf, tenant: Tenant, both: Services
) -> None:
    await shelf.upload(tenant.scope, "book.md", BOOK)
    await both.ingestion.run(tenant.scope, digest(BOOK))
    await both.workspaces.update(tenant.scope, embedder=LOCAL)
    uploaded = await shelf.upload(tenant.scope, "note.txt", NOTE)
    assert isinstance(await both.ingestion.run(tenant.scope, digest(NOTE)), Away)
    waiting = await both.documents.get(tenant.scope, uploaded.document_id)
    assert (waiting.status, waiting.reason) == ("queued", None)
    assert "embedded by the local embedder" in (waiting.detail or "")
    assert await both.reembedding.run(tenant.scope) == Reembedded("hash-384", 100)
    assert isinstance(await both.ingestion.run(tenant.scope, digest(NOTE)), Finished)
    found = (await both.retrieval.search(tenant.scope, "Where is the gyroscope?")).passages
    assert "note.txt" in {passage.document_name for passage in found}
    await assert_ends_in(shelf, both, tenant.scope, "hash-384", 101)


async def test_a_document_that_waits_is_taken_in_when_its_workspace_stays(
    shelf: Shelf, tenant: Tenant, both: Services
) -> None:
    await shelf.upload(tenant.scope, "book.md", BOOK)
    await both.ingestion.run(tenant.scope, digest(BOOK))
    await both.workspaces.update(tenant.scope, embedder=LOCAL)
    await shelf.upload(tenant.scope, "note.txt", NOTE)
    await both.ingestion.run(tenant.scope, digest(NOTE))
    await both.workspaces.update(tenant.scope, embedder=DEFAULT)
    assert isinstance(await both.ingestion.run(tenant.scope, digest(NOTE)), Finished)
    await assert_ends_in(shelf, both, tenant.scope, "other-128", 101)


async def test_a_workspace_whose_documents_are_deleted_changes_at_once(
    shelf: Shelf, tenant: Tenant, both: Services
) -> None:
    uploaded = await shelf.upload(tenant.scope, "book.md", BOOK)
    await both.ingestion.run(tenant.scope, digest(BOOK))
    await both.documents.delete(tenant.scope, uploaded.document_id)
    await both.workspaces.update(tenant.scope, embedder=LOCAL)
    assert await reembeddings(shelf, tenant.scope) == 0
    assert (await both.reembedding.model_of(tenant.scope)).serving == ""
    await shelf.upload(tenant.scope, "note.txt", NOTE)
    assert isinstance(await both.ingestion.run(tenant.scope, digest(NOTE)), Finished)
    await assert_ends_in(shelf, both, tenant.scope, "hash-384", 1)


async def test_what_the_service_does_not_offer_is_refused_and_changes_nothing(
    shelf: Shelf, tenant: Tenant, services: Services
) -> None:
    await shelf.add(tenant.scope, "note.txt", NOTE)
    with pytest.raises(EmbedderNotOfferedError, match="EMBEDDING_MODEL") as refused:
        await services.workspaces.update(tenant.scope, name="Renamed", embedder=REMOTE)
    assert refused.value.extra == {"offered": ["default", "local"]}
    assert (await services.workspaces.current(tenant.scope)).name == tenant.workspace.name
    assert (await services.reembedding.model_of(tenant.scope)).choice is DEFAULT


async def test_a_choice_that_the_operator_removed_leaves_documents_searchable_and_says_what_to_do(
    shelf: Shelf, tenant: Tenant, services: Services, both: Services
) -> None:
    await both.workspaces.update(tenant.scope, embedder=REMOTE)
    await shelf.upload(tenant.scope, "book.md", BOOK)
    await both.ingestion.run(tenant.scope, digest(BOOK))
    without = composed(services, Embedders(HashEmbedder(), server=ServerOf()))
    state = await without.reembedding.model_of(tenant.scope)
    assert (state.choice, state.serving, state.reembedding) == (REMOTE, "other-128", None)
    assert "`local` or `default`" in (state.problem or "")
    assert await without.reembedding.run(tenant.scope) is None
    assert await without.reembedding.remove_old_vectors(tenant.scope) == 0
    assert len((await without.retrieval.search(tenant.scope, QUESTION)).passages) == 8
    await shelf.upload(tenant.scope, "note.txt", NOTE)
    assert isinstance(await without.ingestion.run(tenant.scope, digest(NOTE)), Finished)
    # Without the server too, only another choice helps: words find passages at once, and the rest follows.
    nothing = composed(services, Embedders(HashEmbedder()))
    assert "other-128" in ((await nothing.reembedding.model_of(tenant.scope)).problem or "")
    with pytest.raises(UnavailableError, match="choose another embedder"):
        await nothing.retrieval.search(tenant.scope, QUESTION)
    await nothing.workspaces.update(tenant.scope, embedder=LOCAL)
    assert len((await nothing.retrieval.search(tenant.scope, QUESTION)).passages) == 8
    await assert_ends_in(shelf, nothing, tenant.scope, "hash-384", 101)


async def test_a_first_document_of_a_removed_choice_waits_and_says_for_what(
    shelf: Shelf, tenant: Tenant, services: Services, both: Services
) -> None:
    await both.workspaces.update(tenant.scope, embedder=REMOTE)
    uploaded = await shelf.upload(tenant.scope, "note.txt", NOTE)
    assert isinstance(await services.ingestion.run(tenant.scope, digest(NOTE)), Away)
    assert "`local` or `default`" in ((await services.documents.get(tenant.scope, uploaded.document_id)).detail or "")
    assert (await services.retrieval.search(tenant.scope, QUESTION)).passages == ()
    await services.workspaces.update(tenant.scope, embedder=DEFAULT)
    assert isinstance(await services.ingestion.run(tenant.scope, digest(NOTE)), Finished)


async def test_old_vectors_are_not_removed_while_a_model_is_changed_over_or_chosen(
    shelf: Shelf, tenant: Tenant, both: Services
) -> None:
    await shelf.add(tenant.scope, "book.md", BOOK)
    await both.reembedding.run(tenant.scope)
    async with both.database.workspace(tenant.scope) as session:
        await lock_documents(session, tenant.scope)
        removing = asyncio.create_task(both.reembedding.remove_old_vectors(tenant.scope))
        done, _ = await asyncio.wait([removing], timeout=0.3)
        assert not done
        await session.execute(sa.update(Workspace).where(Workspace.id == tenant.workspace.id).values(embedder=LOCAL))
    assert await removing == 0, "the model that is chosen now has its vectors"
    assert await shelf.count(tenant.scope, ChunkEmbedding) == 2 * await shelf.count(tenant.scope, Chunk)
