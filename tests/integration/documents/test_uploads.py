import asyncio
import io
from typing import Any

import pytest
import sqlalchemy as sa

from app.bootstrap import Services
from app.core.errors import UnavailableError
from app.core.ids import new_id
from app.db import locks
from app.db.models import Chunk, Content, Document, DocumentGrant, PendingBlob, Version
from app.documents.errors import DocumentTooLargeError, EmptyDocumentError
from app.documents.types import DocumentChanges, Outcome, Status, Upload, Visibility
from tests.support.documents import Shelf, digest, prose
from tests.support.tenants import Tenant, Tenants


async def test_new_bytes_under_a_new_name_create_a_document_that_waits(shelf: Shelf, tenant: Tenant) -> None:
    data = prose("a pump")
    made = await shelf.upload(tenant.scope, "pump.txt", data)
    assert (made.outcome, made.status, made.warnings) == (Outcome.CREATED, Status.QUEUED, ())
    view = await shelf.services.documents.get(tenant.scope, made.document_id)
    assert (view.name, view.version_id, view.size_bytes) == ("pump.txt", made.version_id, len(data))
    (content,) = await shelf.contents(tenant.scope)
    assert shelf.stored(tenant.scope) == {content.blob_key}
    assert await shelf.services.blobs.read(content.blob_key) == data
    (job,) = await shelf.jobs(tenant.scope)
    assert (job["task_name"], job["status"], job["args"]["content_sha256"]) == ("ingest", "todo", digest(data))


async def test_the_same_bytes_and_name_are_identical_and_leave_one_job(shelf: Shelf, tenant: Tenant) -> None:
    data = prose("a pump")
    first = await shelf.upload(tenant.scope, "pump.txt", data)
    second = await shelf.upload(tenant.scope, "pump.txt", data)
    assert second.outcome is Outcome.IDENTICAL
    assert (second.document_id, second.version_id) == (first.document_id, first.version_id)
    assert len(await shelf.jobs(tenant.scope)) == 1
    assert len(shelf.stored(tenant.scope)) == 1
    await shelf.process(tenant.scope, data)
    third = await shelf.upload(tenant.scope, "pump.txt", data)
    assert (third.outcome, third.status, third.version_id) == (Outcome.IDENTICAL, Status.READY, first.version_id)
    assert len(await shelf.jobs(tenant.scope)) == 1


async def test_a_new_version_replaces_the_old_at_the_moment_it_is_ready(shelf: Shelf, tenant: Tenant) -> None:
    old, new = prose("the heliotrope"), prose("the marigold")
    first = await shelf.add(tenant.scope, "plants.txt", old)
    second = await shelf.upload(tenant.scope, "plants.txt", new)
    assert (second.outcome, second.document_id) == (Outcome.NEW_VERSION, first.document_id)
    assert second.version_id != first.version_id

    async def found(word: str) -> list[str]:
        passages = (await shelf.services.retrieval.search(tenant.scope, word)).passages
        return [passage.text for passage in passages if word in passage.text]

    assert len(await found("heliotrope")) == 1
    assert await found("marigold") == []
    await shelf.process(tenant.scope, new)
    assert await found("heliotrope") == []
    assert len(await found("marigold")) == 1
    documents = shelf.services.documents
    old_page = await documents.page(tenant.scope, first.document_id, 1, first.version_id)
    assert (old_page.text, old_page.version_id) == (old.decode(), first.version_id)


async def test_the_page_of_a_document_is_that_of_the_version_that_answers(shelf: Shelf, tenant: Tenant) -> None:
    old, new = prose("the old text"), prose("the new text")
    first = await shelf.add(tenant.scope, "a.txt", old)
    second = await shelf.upload(tenant.scope, "a.txt", new)
    page = await shelf.services.documents.page(tenant.scope, first.document_id, 1, None)
    assert page.version_id == first.version_id
    await shelf.process(tenant.scope, new)
    page = await shelf.services.documents.page(tenant.scope, first.document_id, 1, None)
    assert (page.version_id, page.text) == (second.version_id, new.decode())


async def test_the_same_bytes_under_another_name_are_listed_twice_and_found_once(shelf: Shelf, tenant: Tenant) -> None:
    data = prose("the zeppelin")
    await shelf.add(tenant.scope, "one.txt", data)
    chunks = await shelf.count(tenant.scope, Chunk)
    other = await shelf.upload(tenant.scope, "two.txt", data)
    assert (other.outcome, other.status) == (Outcome.SAME_CONTENT, Status.READY)
    assert {view.name for view in await shelf.listed(tenant.scope)} == {"one.txt", "two.txt"}
    passages = (await shelf.services.retrieval.search(tenant.scope, "zeppelin")).passages
    assert len({passage.chunk_id for passage in passages}) == len(passages) == chunks
    assert {passage.document_name for passage in passages} == {"one.txt"}
    assert await shelf.count(tenant.scope, Chunk) == chunks
    assert len(shelf.stored(tenant.scope)) == 1


async def test_going_back_to_earlier_bytes_goes_back_to_their_version(shelf: Shelf, tenant: Tenant) -> None:
    a, b = prose("version a"), prose("version b")
    first = await shelf.add(tenant.scope, "doc.txt", a)
    await shelf.add(tenant.scope, "doc.txt", b)
    third = await shelf.upload(tenant.scope, "doc.txt", a)
    assert (third.outcome, third.status) == (Outcome.NEW_VERSION, Status.READY)
    assert third.version_id == first.version_id
    assert await shelf.count(tenant.scope, Version) == 2
    passages = (await shelf.services.retrieval.search(tenant.scope, "version a pump")).passages
    assert {passage.version_id for passage in passages} == {first.version_id}


async def test_an_older_version_that_is_ready_late_does_not_replace_a_newer_one(shelf: Shelf, tenant: Tenant) -> None:
    a, b = prose("version a"), prose("version b")
    await shelf.add(tenant.scope, "doc.txt", a)
    await shelf.upload(tenant.scope, "doc.txt", b)
    back = await shelf.upload(tenant.scope, "doc.txt", a)
    await shelf.process(tenant.scope, b)
    passages = (await shelf.services.retrieval.search(tenant.scope, "pump")).passages
    assert {passage.version_id for passage in passages} == {back.version_id}


async def test_a_failed_file_that_is_uploaded_again_starts_again(shelf: Shelf, tenant: Tenant) -> None:
    data = b"%PDF-1.7\nnothing more"
    first = await shelf.upload(tenant.scope, "broken.pdf", data)
    finished = await shelf.process(tenant.scope, data)
    assert finished is not None
    assert finished.status is Status.FAILED
    second = await shelf.upload(tenant.scope, "broken.pdf", data)
    assert (second.outcome, second.status, second.version_id) == (Outcome.IDENTICAL, Status.QUEUED, first.version_id)
    (content,) = await shelf.contents(tenant.scope)
    assert (content.status, content.reason, content.detail, content.attempts) == ("queued", None, None, 0)
    for _ in range(5):
        await shelf.process(tenant.scope, data)
        await shelf.upload(tenant.scope, "broken.pdf", data)
    assert await shelf.count(tenant.scope, Content) == await shelf.count(tenant.scope, Version) == 1
    assert len(await shelf.jobs(tenant.scope)) == 1


async def test_a_failed_new_version_leaves_the_old_one_answering(shelf: Shelf, tenant: Tenant) -> None:
    good, bad = prose("the sextant"), b"%PDF-1.4\n"
    made = await shelf.add(tenant.scope, "a.txt", good)
    await shelf.add(tenant.scope, "a.txt", bad)
    view = await shelf.services.documents.get(tenant.scope, made.document_id)
    assert (view.status, view.reason) == (Status.FAILED, "corrupt")
    assert await shelf.found(tenant.scope, "sextant") == {"a.txt"}
    page = await shelf.services.documents.page(tenant.scope, made.document_id, 1, None)
    assert page.text == good.decode()


async def test_a_restricted_document_is_not_noticed_by_its_name_or_its_bytes(
    shelf: Shelf, tenant: Tenant, tenants: Tenants
) -> None:
    _, other = await tenants.member(tenant)
    data = prose("a secret")
    hidden = await shelf.upload(tenant.scope, "plan.txt", data, Visibility.RESTRICTED)
    for visibility in Visibility:
        theirs = await shelf.upload(other, "plan.txt", data, visibility)
        assert theirs.document_id != hidden.document_id
    first, second = await shelf.listed(other)
    assert {first.visibility, second.visibility} == set(Visibility)
    shared = await shelf.upload(tenant.scope, "plan.txt", data)
    assert shared.document_id in {first.id, second.id}
    assert len(await shelf.listed(tenant.scope)) == 2
    assert await shelf.count(tenant.scope, Content) == 1


async def test_bytes_of_a_hidden_document_look_like_any_others(shelf: Shelf, tenant: Tenant, tenants: Tenants) -> None:
    _, other = await tenants.member(tenant)
    known, unknown = prose("a merger"), prose("a picnic")
    await shelf.add(tenant.scope, "merger.md", known, Visibility.RESTRICTED)
    probe = await shelf.upload(other, "probe.txt", known)
    control = await shelf.upload(other, "control.txt", unknown)
    assert (probe.outcome, probe.status) == (control.outcome, control.status) == (Outcome.CREATED, Status.QUEUED)
    await shelf.process(other, unknown)
    documents = shelf.services.documents
    contents = [await documents.content(other, made.document_id, None) for made in (probe, control)]
    assert contents[0].media_type == contents[1].media_type
    receipts = [dict((await documents.delete(other, made.document_id)).removed) for made in (probe, control)]
    assert receipts[0] == receipts[1]
    assert await shelf.found(tenant.scope, "merger") == {"merger.md"}


async def test_bytes_that_only_a_hidden_document_has_are_a_new_document(
    shelf: Shelf, tenant: Tenant, tenants: Tenants
) -> None:
    _, other = await tenants.member(tenant)
    data = prose("a secret")
    await shelf.upload(tenant.scope, "plan.txt", data, Visibility.RESTRICTED)
    assert (await shelf.upload(other, "mine.txt", data)).outcome is Outcome.CREATED


async def test_a_name_whose_document_one_may_not_read_any_more_is_free(
    shelf: Shelf, tenant: Tenant, tenants: Tenants
) -> None:
    _, member = await tenants.member(tenant)
    made = await shelf.upload(member, "plan.txt", prose("a plan"))
    changes = DocumentChanges(visibility=Visibility.RESTRICTED)
    await shelf.services.documents.change(tenant.scope, made.document_id, changes)
    again = await shelf.upload(member, "plan.txt", prose("another"), Visibility.RESTRICTED)
    assert again.outcome is Outcome.CREATED
    assert [view.id for view in await shelf.listed(member)] == [again.document_id]


async def test_the_same_bytes_in_two_workspaces_have_nothing_in_common(shelf: Shelf, tenants: Tenants) -> None:
    one, two = await tenants.workspace(), await tenants.workspace()
    data = prose("the quasar")
    first = await shelf.add(one.scope, "a.txt", data)
    second = await shelf.upload(two.scope, "a.txt", data)
    assert (second.outcome, second.status) == (Outcome.CREATED, Status.QUEUED)
    assert await shelf.found(two.scope, "quasar") == set()
    assert shelf.stored(one.scope).isdisjoint(shelf.stored(two.scope))
    await shelf.services.documents.delete(one.scope, first.document_id)
    await shelf.process(two.scope, data)
    assert await shelf.found(two.scope, "quasar") == {"a.txt"}


async def test_fifty_uploads_at_once_are_one_document_with_one_blob(shelf: Shelf, tenant: Tenant) -> None:
    data = prose("the crowd", 50)
    results = await asyncio.gather(*(shelf.upload(tenant.scope, "crowd.txt", data) for _ in range(50)))
    assert sorted(result.outcome for result in results) == [Outcome.CREATED] + [Outcome.IDENTICAL] * 49
    assert len({(result.document_id, result.version_id, result.status) for result in results}) == 1
    for table in (Document, Version, Content):
        assert await shelf.count(tenant.scope, table) == 1
    assert len(shelf.stored(tenant.scope)) == len(await shelf.jobs(tenant.scope)) == 1


async def test_an_upload_that_is_rolled_back_leaves_no_job_and_no_bytes(
    shelf: Shelf, tenant: Tenant, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    uploads = services.documents._uploads
    original = uploads._record

    async def record_then_fail(*arguments: Any) -> None:
        await original(*arguments)
        raise UnavailableError("the database went away")

    monkeypatch.setattr(uploads, "_record", record_then_fail)
    with pytest.raises(UnavailableError, match="went away"):
        await shelf.upload(tenant.scope, "a.txt", prose("a"))
    assert await shelf.jobs(tenant.scope) == []
    assert shelf.stored(tenant.scope) == set()
    assert await shelf.listed(tenant.scope) == []


@pytest.mark.parametrize("delay", [0.0005, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05])
async def test_a_cancelled_upload_leaves_all_or_nothing(shelf: Shelf, tenant: Tenant, delay: float) -> None:
    for attempt in range(4):
        task = asyncio.create_task(shelf.upload(tenant.scope, f"{attempt}.txt", prose("a cancelled upload", 2_000)))
        await asyncio.sleep(delay)
        task.cancel()
        await asyncio.wait([task])
    await asyncio.sleep(0.2)
    contents = await shelf.contents(tenant.scope)
    assert shelf.stored(tenant.scope) == {content.blob_key for content in contents}
    assert len(await shelf.listed(tenant.scope)) == len(await shelf.jobs(tenant.scope)) == len(contents)


async def test_an_upload_whose_bytes_are_deleted_meanwhile_stores_them_itself(shelf: Shelf, tenant: Tenant) -> None:
    data = prose("the phoenix")
    made = await shelf.upload(tenant.scope, "a.txt", data)
    async with shelf.services.database.workspace(tenant.scope) as session:
        await locks.lock_documents(session, tenant.scope)
        again = asyncio.create_task(shelf.upload(tenant.scope, "b.txt", data))
        await asyncio.sleep(0.1)
        await session.execute(sa.delete(Document).where(Document.id == made.document_id))
        await session.execute(sa.delete(Content).where(Content.sha256 == digest(data)))
    assert (await again).outcome is Outcome.CREATED
    assert (await shelf.process(tenant.scope, data)) is not None
    assert await shelf.found(tenant.scope, "phoenix") == {"b.txt"}


async def test_a_restricted_upload_can_be_read_by_its_maker_alone(
    shelf: Shelf, tenant: Tenant, tenants: Tenants
) -> None:
    _, member = await tenants.member(tenant)
    await shelf.add(member, "diary.txt", prose("the diary"), Visibility.RESTRICTED)
    assert await shelf.found(member, "diary") == {"diary.txt"}
    assert await shelf.found(tenant.scope, "diary") == set()
    assert await shelf.count(tenant.scope, DocumentGrant) == 1


async def test_empty_and_too_large_files_are_refused_before_anything_is_stored(shelf: Shelf, tenant: Tenant) -> None:
    limit = shelf.services.settings.max_upload_bytes
    with pytest.raises(EmptyDocumentError):
        await shelf.upload(tenant.scope, "a.txt", b"")
    with pytest.raises(DocumentTooLargeError, match="4 MiB"):
        await shelf.upload(tenant.scope, "a.txt", b"a" * (limit + 1))
    made = await shelf.upload(tenant.scope, "a.txt", b"a " * (limit // 2))
    assert made.status is Status.QUEUED
    assert len(shelf.stored(tenant.scope)) == 1


async def test_an_upload_into_a_deleted_workspace_is_refused_like_any_other(
    shelf: Shelf, tenant: Tenant, services: Services
) -> None:
    await services.workspaces.delete(tenant.scope)
    with pytest.raises(Exception, match="not a member") as caught:
        await services.documents.upload(
            tenant.scope, Upload(f"{new_id()}.txt", io.BytesIO(prose("a")), Visibility.WORKSPACE)
        )
    assert getattr(caught.value, "status", None) == 403
    assert shelf.stored(tenant.scope) == set()


async def test_fifty_names_of_the_same_bytes_at_once_are_one_content_and_one_job(shelf: Shelf, tenant: Tenant) -> None:
    data = prose("the crowd", 50)
    results = await asyncio.gather(*(shelf.upload(tenant.scope, f"name {n}.txt", data) for n in range(50)))
    assert sorted(result.outcome for result in results) == [Outcome.CREATED] + [Outcome.SAME_CONTENT] * 49
    assert len({result.document_id for result in results}) == len({result.version_id for result in results}) == 50
    assert (await shelf.count(tenant.scope, Document), await shelf.count(tenant.scope, Content)) == (50, 1)
    assert len(shelf.stored(tenant.scope)) == len(await shelf.jobs(tenant.scope)) == 1
    assert await shelf.count(tenant.scope, PendingBlob) == 0
    await shelf.process(tenant.scope, data)
    assert {view.status for view in await shelf.listed(tenant.scope)} == {Status.READY}
    assert len(
        {passage.chunk_id for passage in (await shelf.services.retrieval.search(tenant.scope, "crowd")).passages}
    ) == (await shelf.count(tenant.scope, Chunk))


async def test_many_uploads_of_a_file_that_fails_leave_one_of_each(shelf: Shelf, tenant: Tenant) -> None:
    data, scope = b"%PDF-1.7\nnothing more", tenant.scope
    first = await shelf.upload(scope, "broken.pdf", data)
    for number in range(200):
        if number % 40 == 0:  # a worker comes by now and then
            await shelf.process(scope, data)
        again = await shelf.upload(scope, "broken.pdf", data)
        assert (again.document_id, again.version_id) == (first.document_id, first.version_id)
        assert (again.outcome, again.status) == (Outcome.IDENTICAL, Status.QUEUED)
    for table in (Document, Version, Content):
        assert await shelf.count(scope, table) == 1
    assert len(await shelf.jobs(scope)) == len(shelf.stored(scope)) == 1
    assert await shelf.count(scope, PendingBlob) == 0
    (content,) = await shelf.contents(scope)
    assert content.attempts <= 1


async def test_an_old_version_stays_readable_behind_old_citations(shelf: Shelf, tenant: Tenant) -> None:
    old, new = prose("the heliotrope"), prose("the marigold")
    first = await shelf.add(tenant.scope, "plants.txt", old)
    (cited, *_) = (await shelf.services.retrieval.search(tenant.scope, "heliotrope")).passages
    await shelf.add(tenant.scope, "plants.txt", new)
    documents = shelf.services.documents
    content = await documents.content(tenant.scope, first.document_id, first.version_id)
    assert b"".join([part async for part in await documents.open(content)]) == old
    page = await documents.page(tenant.scope, first.document_id, 1, first.version_id)
    assert page.text == old.decode()
    chunk = await shelf.services.retrieval.chunk(tenant.scope, cited.chunk_id)
    assert chunk.text == cited.text
