import asyncio
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from app.core.boxes import Box, pack
from app.core.tenancy import WorkspaceScope
from app.db.models import Content, Page
from app.documents.types import DocumentChanges, Status, Visibility
from tests.support.documents import Shelf, prose
from tests.support.tenants import Tenant, Tenants


async def write(shelf: Shelf, scope: WorkspaceScope, **values: object) -> None:
    """Write the progress of all contents as a worker does."""
    async with shelf.services.database.workspace(scope) as session:
        await session.execute(sa.update(Content).values(**values))


@pytest.mark.parametrize(
    ("progress", "estimate"),
    [
        ({"status": "embedding", "done": 25, "total": 100}, 90),
        ({"status": "embedding", "done": 100, "total": 100}, 0),
        ({"status": "embedding", "done": 75, "total": 100, "stage_started_done": 50}, 30),
        ({"status": "embedding", "done": 50, "total": 100, "stage_started_done": 50}, None),
        ({"status": "chunking", "done": 1, "total": 3}, 60),
        ({"status": "embedding", "done": 0, "total": 100}, None),
        ({"status": "parsing", "done": 0, "total": 0}, None),
        ({"status": "queued", "done": 5, "total": 10}, None),
        ({"status": "failed", "done": 5, "total": 10, "reason": "corrupt"}, None),
        ({"status": "ready", "done": 9, "total": 10, "chunk_count": 10}, None),
    ],
)
async def test_the_rest_of_a_stage_is_estimated_from_its_pace(
    shelf: Shelf, tenant: Tenant, progress: Mapping[str, Any], estimate: int | None
) -> None:
    made = await shelf.upload(tenant.scope, "a.txt", prose("a"))
    began = sa.func.now() - timedelta(seconds=30)
    await write(shelf, tenant.scope, stage_started_at=began, **progress)
    view = await shelf.services.documents.get(tenant.scope, made.document_id)
    if estimate:
        assert view.estimate_seconds is not None
        assert estimate <= view.estimate_seconds <= estimate * 2  # the clock goes on meanwhile
    else:
        assert view.estimate_seconds == estimate


async def test_pages_without_text_are_told(shelf: Shelf, tenant: Tenant) -> None:
    made = await shelf.upload(tenant.scope, "a.txt", prose("a"))
    await write(shelf, tenant.scope, pages_without_text=[4, 9])
    view = await shelf.services.documents.get(tenant.scope, made.document_id)
    assert view.pages_without_text == (4, 9)


async def test_a_watcher_is_told_of_progress_and_not_of_leases_or_time_alone(
    shelf: Shelf, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.documents.service._WATCH_SECONDS", 0.02)
    monkeypatch.setattr("app.documents.service._WATCH_SLOWEST_SECONDS", 0.02)
    scope, documents = tenant.scope, shelf.services.documents
    made = await shelf.upload(scope, "a.txt", prose("a"))
    seen: list[tuple[str, int]] = []

    async def watch() -> None:
        first = await documents.get(scope, made.document_id)
        watched = documents.watch(scope, made.document_id, since=first)
        seen.extend([(view.stage, view.done) async for view in watched])

    watching = asyncio.create_task(watch())
    await asyncio.sleep(0.1)
    await write(shelf, scope, status="embedding", done=1, total=3)
    for _ in range(5):
        await asyncio.sleep(0.06)
        await write(shelf, scope, lease_until=sa.func.now() + timedelta(seconds=30))
    await write(shelf, scope, done=2)
    await asyncio.sleep(0.1)
    await write(shelf, scope, status="ready", done=3, chunk_count=3)
    await asyncio.wait_for(watching, 30)
    assert seen == [("embedding", 1), ("embedding", 2), ("ready", 3)]


async def test_words_of_a_page_are_placed_only_when_that_is_asked_for(shelf: Shelf, tenant: Tenant) -> None:
    scope, page = tenant.scope, shelf.services.documents.page
    made = await shelf.add(scope, "a.txt", prose("a"))
    plain = await page(scope, made.document_id, 1, None, with_boxes=True)
    assert (plain.width, plain.height, plain.boxes) == (None, None, None)
    packed = pack([Box(0, 8, 0.1, 0.2, 0.3, 0.4), Box(9, 10, 0.5, 0.2, 0.6, 0.4)])
    async with shelf.services.database.workspace(scope) as session:
        await session.execute(sa.update(Page).values(width=612, height=792, boxes=packed))
    without = await page(scope, made.document_id, 1, None)
    assert (without.width, without.height, without.boxes) == (612, 792, None)
    placed = await page(scope, made.document_id, 1, None, with_boxes=True)
    assert placed.boxes is not None
    assert [(box.start, box.end, round(box.left, 3), round(box.bottom, 3)) for box in placed.boxes] == [
        (0, 8, 0.1, 0.4),
        (9, 10, 0.5, 0.4),
    ]


async def test_readers_of_a_restricted_document_are_shown_to_those_who_may_change_it(
    shelf: Shelf, tenant: Tenant, tenants: Tenants
) -> None:
    (uploader, mine), (reader, theirs) = await tenants.member(tenant), await tenants.member(tenant)
    documents = shelf.services.documents
    made = await shelf.upload(mine, "a.txt", prose("a"))
    assert (await documents.get(mine, made.document_id)).grants == ()
    assert (await documents.get(tenant.scope, made.document_id)).grants == ()
    assert (await documents.get(theirs, made.document_id)).grants is None
    changes = DocumentChanges(visibility=Visibility.RESTRICTED, grants=(reader.id, tenant.owner.id))
    changed = await documents.change(mine, made.document_id, changes)
    assert changed.grants == tuple(sorted((uploader.id, reader.id, tenant.owner.id)))
    assert (await documents.get(tenant.scope, made.document_id)).grants == changed.grants
    assert (await documents.get(theirs, made.document_id)).grants is None
    assert [view.grants for view in await shelf.listed(theirs)] == [None]
    assert [view.grants for view in await shelf.listed(mine)] == [changed.grants]
    shared = await documents.change(mine, made.document_id, DocumentChanges(visibility=Visibility.WORKSPACE))
    assert (shared.grants, shared.status) == ((), Status.QUEUED)
