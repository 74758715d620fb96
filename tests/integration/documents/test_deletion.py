import asyncio
from collections.abc import Sequence
from uuid import uuid4

import procrastinate
import pytest

from app.answering.claims import Ask
from app.answering.service import AnsweringService
from app.bootstrap import Services
from app.cache.entries import AnswerCacheEntries
from app.core.errors import NotFoundError, UnavailableError
from app.core.tenancy import WorkspaceScope
from app.db.models import (
    AnswerCitation,
    Chunk,
    ChunkEmbedding,
    ChunkWords,
    Content,
    Document,
    DocumentGrant,
    Page,
    Version,
)
from app.documents import deletion, repository
from app.documents.pending_blobs import PendingBlobs
from app.documents.service import DocumentService
from app.documents.storage import BlobStore
from app.documents.types import Outcome, Visibility
from app.ingestion.parsing.types import ParseLimits
from app.ingestion.pipeline import IngestionService
from app.llm.embedders import Embedders
from app.redis import keys
from app.redis.client import connect
from app.retrieval.service import RetrievalService
from app.worker.tasks import remove_blobs
from tests.support.corpus import Corpus, WordEmbedder
from tests.support.documents import Shelf, long_text, prose
from tests.support.tenants import Tenant, Tenants

TABLES = {
    "documents": Document, "versions": Version, "pages": Page, "chunks": Chunk, "word_lists": ChunkWords,
    "embeddings": ChunkEmbedding,
}  # fmt: skip
BRIDGE = "The bridge over the Salm was opened in 1931 by the mayor of the town. It has three arches of stone."


async def run_removals(services: Services, shelf: Shelf, scope: WorkspaceScope) -> int:
    """Run the waiting removals of a workspace as a worker would."""
    jobs = [job for job in await shelf.jobs(scope) if job["task_name"] == "remove_blobs"]
    for row in jobs:
        job = procrastinate.jobs.Job(
            id=row["id"], queue="default", lock=None, queueing_lock=None, task_name="remove_blobs"
        )
        context = procrastinate.JobContext(
            app=services.queue_app,
            job=job,
            additional_context={"services": services},
            abort_reason=lambda: None,
            start_timestamp=0.0,
        )
        await remove_blobs(context, **row["args"])
    return len(jobs)


async def test_a_deletion_tells_what_it_removed_and_removes_it(
    shelf: Shelf, tenant: Tenant, services: Services
) -> None:
    scope = tenant.scope
    made = await shelf.add(scope, "a.md", long_text(6))
    await shelf.add(scope, "a.md", prose("the second version"))
    await shelf.add(scope, "kept.txt", prose("another document"))
    before = {name: await shelf.count(scope, table) for name, table in TABLES.items()}
    stored = shelf.stored(scope)
    receipt = await services.documents.delete(scope, made.document_id)
    after = {name: await shelf.count(scope, table) for name, table in TABLES.items()}
    expected = {name: before[name] - after[name] for name in TABLES}
    assert receipt.document_id == made.document_id
    assert dict(receipt.removed) == {**expected, "citations": 0, "blobs": 2, "cache_entries": 0}
    assert dict(receipt.remaining) == dict.fromkeys(receipt.removed, 0)
    assert receipt.detail == "Deleted. A second look found none of it in the database."
    assert (expected["documents"], expected["versions"]) == (1, 2)
    assert expected["chunks"] == expected["word_lists"] == expected["embeddings"] >= 7
    assert after == dict.fromkeys(TABLES, 1)
    assert await shelf.found(scope, "valve pressure version") <= {"kept.txt"}
    with pytest.raises(NotFoundError):
        await services.documents.get(scope, made.document_id)
    (content,) = await shelf.contents(scope)
    assert shelf.stored(scope) == {content.blob_key} < stored
    assert await run_removals(services, shelf, scope) == 1
    assert shelf.stored(scope) == {content.blob_key}
    await run_removals(services, shelf, scope)


async def test_bytes_that_another_document_has_stay(shelf: Shelf, tenant: Tenant, services: Services) -> None:
    data = prose("the gramophone")
    first = await shelf.add(tenant.scope, "one.txt", data)
    second = await shelf.upload(tenant.scope, "two.txt", data)
    receipt = await services.documents.delete(tenant.scope, first.document_id)
    assert dict(receipt.removed) == {
        "documents": 1, "versions": 1, "citations": 0, "pages": 0, "chunks": 0, "word_lists": 0, "embeddings": 0,
        "blobs": 0, "cache_entries": 0,
    }  # fmt: skip
    assert await shelf.found(tenant.scope, "gramophone") == {"two.txt"}
    assert await run_removals(services, shelf, tenant.scope) == 0
    receipt = await services.documents.delete(tenant.scope, second.document_id)
    assert (receipt.removed["chunks"], receipt.removed["blobs"]) == (1, 1)
    assert await shelf.found(tenant.scope, "gramophone") == set()


async def test_a_hidden_document_keeps_its_bytes_when_a_shared_one_is_deleted(
    shelf: Shelf, tenant: Tenant, services: Services
) -> None:
    data = prose("the gramophone")
    await shelf.add(tenant.scope, "hidden.txt", data, Visibility.RESTRICTED)
    shared = await shelf.upload(tenant.scope, "shared.txt", data)
    await services.documents.delete(tenant.scope, shared.document_id)
    assert await shelf.found(tenant.scope, "gramophone") == {"hidden.txt"}


async def test_quotes_in_stored_answers_go_with_their_document(
    shelf: Shelf, tenant: Tenant, services: Services
) -> None:
    embedders, database = Embedders(WordEmbedder()), services.database
    answering = AnsweringService(
        database,
        RetrievalService(database, embedders, max_query_characters=4_000),
        embedders.local,
        max_question_characters=4_000,
    )
    limits = ParseLimits(
        seconds=30, memory_bytes=512 * 1024 * 1024, max_pages=10, max_characters=10_000, max_unpacked_bytes=2**29
    )
    corpus = Corpus(services.documents, IngestionService(database, services.blobs, embedders, services.parser, limits))
    made = await corpus.add(tenant.scope, "bridge.txt", BRIDGE)
    answer = await answering.answer(tenant.scope, Ask("When was the bridge over the Salm opened?"))
    cited = await shelf.count(tenant.scope, AnswerCitation)
    assert cited == sum(len(claim.citations) for claim in answer.claims) > 0
    receipt = await services.documents.delete(tenant.scope, made.document_id)
    assert receipt.removed["citations"] == cited
    assert await shelf.count(tenant.scope, AnswerCitation) == 0
    assert (await answering.read(tenant.scope, answer.id)).claims == ()


async def test_grants_go_with_their_document(shelf: Shelf, tenant: Tenant, services: Services) -> None:
    made = await shelf.add(tenant.scope, "a.txt", prose("a"), Visibility.RESTRICTED)
    await services.documents.delete(tenant.scope, made.document_id)
    assert await shelf.count(tenant.scope, DocumentGrant) == 0


async def test_a_deleted_document_that_is_uploaded_again_starts_afresh(
    shelf: Shelf, tenant: Tenant, services: Services
) -> None:
    data = prose("the phoenix")
    first = await shelf.add(tenant.scope, "a.txt", data)
    await services.documents.delete(tenant.scope, first.document_id)
    again = await shelf.add(tenant.scope, "a.txt", data)
    assert again.outcome is Outcome.CREATED
    assert again.document_id != first.document_id
    await run_removals(services, shelf, tenant.scope)
    (content,) = await shelf.contents(tenant.scope)
    assert await services.blobs.read(content.blob_key) == data
    assert await shelf.found(tenant.scope, "phoenix") == {"a.txt"}


async def test_two_deletions_at_once_remove_once(shelf: Shelf, tenant: Tenant, services: Services) -> None:
    made = await shelf.add(tenant.scope, "a.txt", prose("a"))
    ended = await asyncio.gather(
        *(services.documents.delete(tenant.scope, made.document_id) for _ in range(5)), return_exceptions=True
    )
    assert sum(not isinstance(end, BaseException) for end in ended) == 1
    assert sum(isinstance(end, NotFoundError) for end in ended) == 4
    assert await run_removals(services, shelf, tenant.scope) == 1


async def test_uploads_and_deletions_at_once_end_in_a_whole_state(
    shelf: Shelf, tenant: Tenant, services: Services
) -> None:
    data = prose("the pendulum")

    async def upload_and_delete(number: int) -> None:
        made = await shelf.upload(tenant.scope, f"{number}.txt", data)
        await services.documents.delete(tenant.scope, made.document_id)

    await asyncio.gather(*(upload_and_delete(number) for number in range(20)))
    for table in (Document, Version, Content):
        assert await shelf.count(tenant.scope, table) == 0
    await run_removals(services, shelf, tenant.scope)
    assert shelf.stored(tenant.scope) == set()
    await shelf.add(tenant.scope, f"{uuid4()}.txt", data)
    assert len(await shelf.found(tenant.scope, "pendulum")) == 1


class StoreThatIsDown(BlobStore):
    """Answers nothing: fails at once, or hangs."""

    def __init__(self, store: BlobStore, *, hangs: bool = False) -> None:
        super().__init__(store._store)
        self._hangs = hangs

    async def remove(self, _: Sequence[str]) -> None:
        await self._fail()

    async def exists(self, _: str) -> bool:
        await self._fail()
        return True

    async def _fail(self) -> None:
        if self._hangs:
            await asyncio.sleep(3_600)
        raise UnavailableError("down")


def with_store(services: Services, store: BlobStore, entries: AnswerCacheEntries | None = None) -> DocumentService:
    """Return the service on another store."""
    return DocumentService(
        services.database,
        store,
        PendingBlobs(services.database, store),
        services.queue,
        entries or AnswerCacheEntries(services.redis.cache),
        max_upload_bytes=1_000_000,
    )


@pytest.mark.parametrize("hangs", [False, True])
async def test_files_that_a_store_out_of_reach_keeps_are_told_and_removed_later(
    shelf: Shelf, tenant: Tenant, services: Services, monkeypatch: pytest.MonkeyPatch, *, hangs: bool
) -> None:
    monkeypatch.setattr(deletion, "_REMOVE_WITHIN_SECONDS", 0.3)
    monkeypatch.setattr(deletion, "_LOOK_WITHIN_SECONDS", 0.3)
    scope = tenant.scope
    made = await shelf.add(scope, "a.txt", prose("the first"))
    await shelf.add(scope, "a.txt", prose("the second"))
    stored = shelf.stored(scope)
    receipt = await with_store(services, StoreThatIsDown(services.blobs, hangs=hangs)).delete(scope, made.document_id)
    assert (receipt.removed["blobs"], receipt.remaining["blobs"]) == (2, 2)
    assert receipt.detail.endswith(
        "2 stored files were not removed yet; that will be done as soon as the store answers."
    )
    assert await shelf.found(scope, "first second") == set()
    assert shelf.stored(scope) == stored
    assert await run_removals(services, shelf, scope) == 1
    assert shelf.stored(scope) == set()


async def test_a_store_out_of_reach_does_not_tell_that_somebody_hides_the_same_bytes(
    shelf: Shelf, tenant: Tenant, tenants: Tenants, services: Services
) -> None:
    _, other = await tenants.member(tenant)
    known, unknown = prose("a merger"), prose("a picnic")
    await shelf.add(tenant.scope, "merger.md", known, Visibility.RESTRICTED)
    for store in (services.blobs, StoreThatIsDown(services.blobs)):
        receipts = []
        for data in (known, unknown):
            made = await shelf.upload(other, "probe.txt", data)
            await shelf.process(other, data)
            receipts.append(await with_store(services, store).delete(other, made.document_id))
        one, two = receipts
        assert (one.removed, one.remaining, one.detail) == (two.removed, two.remaining, two.detail)
    assert await shelf.found(tenant.scope, "merger") == {"merger.md"}


async def test_the_same_bytes_that_come_again_meanwhile_are_not_taken_for_what_is_left(
    shelf: Shelf, tenant: Tenant, services: Services
) -> None:
    """The second look comes after the bytes were removed: there the bytes come again and are made searchable."""
    data = prose("the phoenix")

    class StoreThatWaits(BlobStore):
        async def remove(self, keys: Sequence[str]) -> None:
            await shelf.add(tenant.scope, "b.txt", data)
            await super().remove(keys)

    made = await shelf.add(tenant.scope, "a.txt", data)
    receipt = await with_store(services, StoreThatWaits(services.blobs._store)).delete(tenant.scope, made.document_id)
    assert receipt.removed["chunks"] == 1
    assert dict(receipt.remaining) == dict.fromkeys(receipt.removed, 0)
    assert await shelf.found(tenant.scope, "phoenix") == {"b.txt"}
    (content,) = await shelf.contents(tenant.scope)
    assert await services.blobs.read(content.blob_key) == data


async def test_rows_that_a_deletion_forgot_would_be_told(
    shelf: Shelf, tenant: Tenant, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the zeros above would show nothing."""
    made = await shelf.add(tenant.scope, "a.txt", prose("a"))

    async def nothing(*_: object) -> None:
        return

    monkeypatch.setattr(repository, "delete_document", nothing)
    receipt = await services.documents.delete(tenant.scope, made.document_id)
    rows = {name: receipt.remaining[name] for name in TABLES}
    assert rows == dict.fromkeys(rows, 1)
    assert "still found rows" in receipt.detail


async def test_cached_answers_go_and_a_cache_out_of_reach_stops_nothing(
    shelf: Shelf, tenant: Tenant, services: Services
) -> None:
    await services.redis.cache.set("an-entry", "an answer", ex=60)
    await services.redis.cache.sadd(keys.cache_entries(tenant.workspace.id), "an-entry")
    made = await shelf.add(tenant.scope, "a.txt", prose("a"))
    receipt = await services.documents.delete(tenant.scope, made.document_id)
    assert (receipt.removed["cache_entries"], receipt.remaining["cache_entries"]) == (1, 0)
    assert await services.redis.cache.exists("an-entry") == 0

    away = connect("redis://127.0.0.1:1", "redis://127.0.0.1:1")
    made = await shelf.add(tenant.scope, "a.txt", prose("a"))
    service = with_store(services, services.blobs, AnswerCacheEntries(away.cache))
    receipt = await service.delete(tenant.scope, made.document_id)
    await away.aclose()
    assert (receipt.removed["cache_entries"], receipt.remaining["cache_entries"]) == (None, None)
    assert receipt.removed["chunks"] == 1
    assert "cached is unknown" in receipt.detail


async def test_both_names_of_the_same_bytes_are_listed_and_the_last_one_takes_them_along(
    shelf: Shelf, tenant: Tenant, services: Services
) -> None:
    data = prose("the zeppelin")
    made = [await shelf.add(tenant.scope, name, data) for name in ("one.txt", "two.txt", "three.txt")]
    for number, each in enumerate(made):
        assert len(await shelf.listed(tenant.scope)) == 3 - number
        assert len((await services.retrieval.search(tenant.scope, "zeppelin")).passages) == 1
        receipt = await services.documents.delete(tenant.scope, each.document_id)
        assert (receipt.removed["chunks"], receipt.removed["blobs"]) == ((1, 1) if number == 2 else (0, 0))
        assert dict(receipt.remaining) == dict.fromkeys(receipt.removed, 0)
    for table in (*TABLES.values(), Content):
        assert await shelf.count(tenant.scope, table) == 0
    assert shelf.stored(tenant.scope) == set()
