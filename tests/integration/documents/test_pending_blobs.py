import asyncio
import io
from datetime import timedelta
from typing import BinaryIO

import pytest
import sqlalchemy as sa

from app.bootstrap import Services
from app.core.errors import UnavailableError
from app.core.ids import new_id
from app.core.tenancy import WorkspaceScope
from app.db.models import Content, PendingBlob
from app.documents.pending_blobs import PendingBlobs
from app.documents.storage import BlobStore, new_key
from tests.support.documents import Shelf, prose
from tests.support.tenants import Tenant, Tenants

FIND = sa.text("SELECT blob_key FROM find_pending_blobs(:older_than)")


async def noted(shelf: Shelf, scope: WorkspaceScope) -> set[str]:
    async with shelf.services.database.workspace(scope) as session:
        return set(await session.scalars(sa.select(PendingBlob.blob_key)))


async def age(shelf: Shelf, scope: WorkspaceScope, by: timedelta) -> None:
    """Let all noted keys of a workspace be older."""
    async with shelf.services.database.workspace(scope) as session:
        await session.execute(sa.update(PendingBlob).values(created_at=PendingBlob.created_at - by))


async def found(shelf: Shelf, older_than: timedelta) -> set[str]:
    """Return what a worker's sweep would be told."""
    async with shelf.services.database.identity() as session:
        return set(await session.scalars(FIND, {"older_than": older_than}))


class Dying(BaseException):
    """A power cut: nothing after it runs, no clean-up either."""


class StoreThatDies(BlobStore):
    """Dies before or after the bytes are there."""

    def __init__(self, store: BlobStore, *, after: bool) -> None:
        super().__init__(store._store)
        self._after = after

    async def put(self, key: str, file: BinaryIO) -> None:
        if self._after:
            await super().put(key, file)
        raise Dying


async def test_an_upload_leaves_no_key_behind(shelf: Shelf, tenant: Tenant) -> None:
    for _ in range(2):
        await shelf.upload(tenant.scope, "a.txt", prose("a"))
    await asyncio.gather(*(shelf.upload(tenant.scope, "b.txt", b"the same bytes") for _ in range(10)))
    assert await noted(shelf, tenant.scope) == set()
    assert shelf.stored(tenant.scope) == {content.blob_key for content in await shelf.contents(tenant.scope)}


@pytest.mark.parametrize("after", [False, True])
async def test_what_a_power_cut_leaves_of_an_upload_is_found_and_removed(
    shelf: Shelf, tenant: Tenant, services: Services, monkeypatch: pytest.MonkeyPatch, *, after: bool
) -> None:
    uploads = services.documents._uploads

    async def nothing(*_: object) -> None:
        return

    monkeypatch.setattr(uploads, "_blobs", StoreThatDies(services.blobs, after=after))
    monkeypatch.setattr(uploads, "_remove_unless_used", nothing)
    with pytest.raises(Dying):
        await shelf.upload(tenant.scope, "a.txt", prose("a"))
    assert len(shelf.stored(tenant.scope)) == after
    (key,) = await noted(shelf, tenant.scope)
    assert key not in await found(shelf, timedelta(hours=1))
    await age(shelf, tenant.scope, timedelta(hours=1))
    assert key in await found(shelf, timedelta(hours=1))
    assert await services.pending_blobs.sweep(tenant.scope, [key]) == 1
    assert shelf.stored(tenant.scope) == await noted(shelf, tenant.scope) == set()
    assert await services.pending_blobs.sweep(tenant.scope, [key]) == 1


async def test_bytes_that_a_content_refers_to_stay_whatever_is_noted(
    shelf: Shelf, tenant: Tenant, services: Services
) -> None:
    await shelf.upload(tenant.scope, "a.txt", prose("a"))
    (key,) = shelf.stored(tenant.scope)
    await services.pending_blobs.expect(tenant.scope, key)
    assert await services.pending_blobs.sweep(tenant.scope, [key]) == 0
    assert shelf.stored(tenant.scope) == {key}
    assert await noted(shelf, tenant.scope) == set()


async def test_a_sweep_waits_for_the_upload_whose_commit_is_on_its_way(
    shelf: Shelf, tenant: Tenant, services: Services
) -> None:
    pending, key = services.pending_blobs, new_key(tenant.workspace.id)
    await pending.expect(tenant.scope, key)
    await services.blobs.put(key, io.BytesIO(b"x"))
    async with services.database.workspace(tenant.scope) as session:
        await pending.attach(session, tenant.scope, key)
        sweeping = asyncio.create_task(pending.sweep(tenant.scope, [key]))
        await asyncio.sleep(0.2)
        assert not sweeping.done()
        session.add(
            Content(
                workspace_id=tenant.workspace.id,
                sha256="0" * 64,
                blob_key=key,
                media_type="text/plain",
                size_bytes=1,
                created_by=tenant.owner.id,
            )
        )
    assert await sweeping == 0
    assert shelf.stored(tenant.scope) == {key}


async def test_an_upload_as_old_as_what_sweeps_remove_is_refused_and_leaves_nothing(
    shelf: Shelf, tenant: Tenant, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    class SlowStore(BlobStore):
        async def put(self, key: str, file: BinaryIO) -> None:
            await super().put(key, file)
            await age(shelf, tenant.scope, timedelta(minutes=31))

    monkeypatch.setattr(services.documents._uploads, "_blobs", SlowStore(services.blobs._store))
    with pytest.raises(UnavailableError, match="too long"):
        await shelf.upload(tenant.scope, "a.txt", prose("a"))
    assert await shelf.listed(tenant.scope) == []
    assert await shelf.jobs(tenant.scope) == []
    assert shelf.stored(tenant.scope) == await noted(shelf, tenant.scope) == set()


async def test_keys_of_another_workspace_are_left_alone(shelf: Shelf, tenants: Tenants, services: Services) -> None:
    one, two = await tenants.workspace(), await tenants.workspace()
    await shelf.upload(two.scope, "a.txt", prose("a"))
    (key,) = shelf.stored(two.scope)
    strange = [key, f"{one.workspace.id}/../{key}", f"{one.workspace.id}/", str(one.workspace.id), "", "/", "../x"]
    assert await services.pending_blobs.sweep(one.scope, strange) == 0
    assert shelf.stored(two.scope) == {key}


async def test_keys_are_kept_until_the_store_has_removed_their_bytes(
    shelf: Shelf, tenant: Tenant, services: Services
) -> None:
    class StoreThatIsDown(BlobStore):
        async def remove(self, _: object) -> None:
            raise UnavailableError("down")

    await shelf.upload(tenant.scope, "a.txt", prose("a"))
    (key,) = shelf.stored(tenant.scope)
    async with services.database.workspace(tenant.scope) as session:
        await session.execute(sa.text("SET CONSTRAINTS ALL DEFERRED"))
        await services.pending_blobs.condemn(session, tenant.scope, [key])
        await session.execute(sa.text("DELETE FROM documents"))
        await session.execute(sa.text("DELETE FROM contents"))
    with pytest.raises(UnavailableError):
        await PendingBlobs(services.database, StoreThatIsDown(services.blobs._store)).sweep(tenant.scope, [key])
    assert await noted(shelf, tenant.scope) == {key}
    assert await services.pending_blobs.sweep(tenant.scope, [key, new_key(tenant.workspace.id)]) == 2
    assert shelf.stored(tenant.scope) == await noted(shelf, tenant.scope) == set()


async def test_a_key_outlives_its_workspace_until_its_bytes_are_gone(
    shelf: Shelf, tenant: Tenant, services: Services
) -> None:
    await shelf.upload(tenant.scope, f"{new_id()}.txt", prose("a"))
    stored = shelf.stored(tenant.scope)
    await services.workspaces.delete(tenant.scope)
    assert shelf.stored(tenant.scope) == stored == await noted(shelf, tenant.scope)
    assert await services.pending_blobs.sweep(tenant.scope, sorted(stored)) == 1
    assert shelf.stored(tenant.scope) == await noted(shelf, tenant.scope) == set()
