"""Bytes that the store has lost come back with an upload of the same file."""

import asyncio
import io
from typing import BinaryIO

import pytest
import sqlalchemy as sa

from app.bootstrap import Services
from app.core.errors import UnavailableError
from app.core.tenancy import WorkspaceScope
from app.db.models import Content, DeadLetter, PendingBlob
from app.documents.storage import BlobStore
from app.documents.types import Outcome, Status
from app.ingestion.types import Claim
from tests.support.documents import Shelf, prose
from tests.support.tenants import Tenant

DATA = prose("the lost theodolite")


async def lose(shelf: Shelf, scope: WorkspaceScope) -> str:
    """Let the store lose the only bytes of a workspace; return their key."""
    (key,) = shelf.stored(scope)
    await shelf.services.blobs.remove([key])
    return key


async def only(shelf: Shelf, scope: WorkspaceScope) -> Content:
    (content,) = await shelf.contents(scope)
    return content


async def noted(shelf: Shelf, scope: WorkspaceScope) -> set[str]:
    async with shelf.services.database.workspace(scope) as session:
        return set(await session.scalars(sa.select(PendingBlob.blob_key)))


async def test_a_ready_document_can_be_downloaded_again(shelf: Shelf, tenant: Tenant) -> None:
    made = await shelf.add(tenant.scope, "a.txt", DATA)
    before, version = await only(shelf, tenant.scope), await shelf.corpus_version(tenant.scope)
    lost = await lose(shelf, tenant.scope)
    again = await shelf.upload(tenant.scope, "a.txt", DATA)
    assert (again.document_id, again.outcome, again.status) == (made.document_id, Outcome.IDENTICAL, Status.READY)
    content = await only(shelf, tenant.scope)
    assert content.blob_key != lost
    assert shelf.stored(tenant.scope) == {content.blob_key}
    assert await shelf.services.blobs.read(content.blob_key) == DATA
    assert (content.status, content.fence, content.attempts) == (Status.READY, before.fence, before.attempts)
    assert await shelf.corpus_version(tenant.scope) == version
    assert await shelf.found(tenant.scope, "theodolite") == {"a.txt"}


async def test_bytes_that_come_back_to_the_store_by_themselves_are_removed(shelf: Shelf, tenant: Tenant) -> None:
    await shelf.add(tenant.scope, "a.txt", DATA)
    lost = await lose(shelf, tenant.scope)
    await shelf.upload(tenant.scope, "a.txt", DATA)
    assert await noted(shelf, tenant.scope) == {lost}
    await shelf.services.blobs.put(lost, io.BytesIO(DATA))
    assert await shelf.services.pending_blobs.sweep(tenant.scope, [lost]) == 1
    assert shelf.stored(tenant.scope) == {(await only(shelf, tenant.scope)).blob_key}
    assert await noted(shelf, tenant.scope) == set()


async def test_a_document_that_failed_without_its_bytes_starts_again(shelf: Shelf, tenant: Tenant) -> None:
    made = await shelf.upload(tenant.scope, "a.txt", DATA)
    await lose(shelf, tenant.scope)
    await shelf.process(tenant.scope, DATA)
    view = await shelf.services.documents.get(tenant.scope, made.document_id)
    assert (view.reason, view.detail) == ("file_missing", "The stored file is gone. Upload the file again.")
    again = await shelf.upload(tenant.scope, "another name.txt", DATA)
    assert again.status is Status.QUEUED
    await shelf.process(tenant.scope, DATA)
    view = await shelf.services.documents.get(tenant.scope, made.document_id)
    assert (view.status, view.reason) == (Status.READY, None)
    async with shelf.services.database.workspace(tenant.scope) as session:
        assert None not in (await session.scalars(sa.select(DeadLetter.requeued_at))).all()


async def test_uploads_at_once_bring_the_bytes_back_once(shelf: Shelf, tenant: Tenant) -> None:
    await shelf.add(tenant.scope, "a.txt", DATA)
    lost = await lose(shelf, tenant.scope)
    await asyncio.gather(*(shelf.upload(tenant.scope, "a.txt", DATA) for _ in range(10)))
    content = await only(shelf, tenant.scope)
    assert shelf.stored(tenant.scope) == {content.blob_key}
    assert await noted(shelf, tenant.scope) == {lost}


class StoreThatWaits(BlobStore):
    """Lets a test act after the bytes were looked for, and before they are stored."""

    def __init__(self, store: BlobStore) -> None:
        super().__init__(store._store)
        self.reached, self.go_on = asyncio.Event(), asyncio.Event()

    async def put(self, key: str, file: BinaryIO) -> None:
        self.reached.set()
        await self.go_on.wait()
        await super().put(key, file)


@pytest.mark.parametrize("brought_again", [False, True])
async def test_a_deletion_in_between_leaves_nothing_out_of_place(
    shelf: Shelf, tenant: Tenant, services: Services, monkeypatch: pytest.MonkeyPatch, *, brought_again: bool
) -> None:
    made = await shelf.add(tenant.scope, "a.txt", DATA)
    await lose(shelf, tenant.scope)
    store = StoreThatWaits(services.blobs)
    with monkeypatch.context() as patched:
        patched.setattr(services.documents._uploads, "_blobs", store)
        again = asyncio.create_task(shelf.upload(tenant.scope, "a.txt", DATA))
        await store.reached.wait()
    await services.documents.delete(tenant.scope, made.document_id)
    if brought_again:
        await shelf.upload(tenant.scope, "a.txt", DATA)
    store.go_on.set()
    assert (await again).outcome is (Outcome.IDENTICAL if brought_again else Outcome.CREATED)
    content = await only(shelf, tenant.scope)
    assert shelf.stored(tenant.scope) == {content.blob_key}
    await shelf.process(tenant.scope, DATA)
    assert await shelf.found(tenant.scope, "theodolite") == {"a.txt"}
    assert await noted(shelf, tenant.scope) == set()


async def test_a_worker_that_misses_the_bytes_takes_those_that_came_meanwhile(
    shelf: Shelf, tenant: Tenant, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    await shelf.upload(tenant.scope, "a.txt", DATA)
    lost = await lose(shelf, tenant.scope)
    ingestion, original = services.ingestion, services.ingestion._read

    async def read_late(held: Claim) -> object:
        if held.blob_key == lost:
            await shelf.upload(tenant.scope, "a.txt", DATA)
            running = await only(shelf, tenant.scope)
            assert (running.status, running.fence, running.attempts) == (Status.PARSING, held.fence, held.attempts)
            assert running.lease_until is not None
        return await original(held)

    monkeypatch.setattr(ingestion, "_read", read_late)
    finished = await shelf.process(tenant.scope, DATA)
    assert finished is not None
    assert (finished.status, finished.reason) == (Status.READY, None)


async def test_a_store_that_does_not_answer_has_lost_nothing(
    shelf: Shelf, tenant: Tenant, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    await shelf.add(tenant.scope, "a.txt", DATA)
    key = (await only(shelf, tenant.scope)).blob_key

    async def away(_: str) -> bool:
        raise UnavailableError("The store of files does not answer.")

    monkeypatch.setattr(services.blobs, "exists", away)
    assert (await shelf.upload(tenant.scope, "a.txt", DATA)).outcome is Outcome.IDENTICAL
    assert (await only(shelf, tenant.scope)).blob_key == key
