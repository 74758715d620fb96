import asyncio
import time
from typing import Any

import pytest
import sqlalchemy as sa

from app.core.ids import DocumentId, new_id
from app.core.tenancy import WorkspaceScope
from app.db.models import Content, Document, Version
from app.documents.types import DocumentChanges, Visibility
from tests.support.documents import Shelf, digest, prose
from tests.support.tenants import Tenant


async def test_it_changes_with_each_swap_and_deletion_and_goes_back_with_the_documents(
    shelf: Shelf, tenant: Tenant
) -> None:
    scope, first, second = tenant.scope, prose("one"), prose("two")
    seen = [await shelf.corpus_version(scope)]
    made = await shelf.upload(scope, "a.txt", first)
    assert await shelf.corpus_version(scope) == seen[0]
    await shelf.process(scope, first)
    seen.append(await shelf.corpus_version(scope))
    await shelf.upload(scope, "a.txt", second)
    assert await shelf.corpus_version(scope) == seen[1]
    await shelf.process(scope, second)
    seen.append(await shelf.corpus_version(scope))
    await shelf.upload(scope, "b.txt", second)
    seen.append(await shelf.corpus_version(scope))
    assert len(set(seen)) == 4
    await shelf.upload(scope, "a.txt", first)
    await shelf.upload(scope, "a.txt", second)
    assert await shelf.corpus_version(scope) == seen[3]
    for view in await shelf.listed(scope):
        await shelf.services.documents.delete(scope, view.id)
    assert await shelf.corpus_version(scope) == seen[0]
    assert made.document_id not in {view.id for view in await shelf.listed(scope)}


async def test_names_readers_failures_and_runs_that_change_nothing_keep_it(shelf: Shelf, tenant: Tenant) -> None:
    scope, data = tenant.scope, prose("one")
    made = await shelf.add(scope, "a.txt", data)
    before = await shelf.corpus_version(scope)
    await shelf.services.documents.change(scope, made.document_id, DocumentChanges(name="b.txt"))
    await shelf.services.documents.change(scope, made.document_id, DocumentChanges(visibility=Visibility.RESTRICTED))
    await shelf.process(scope, data)
    await shelf.upload(scope, "b.txt", data, Visibility.RESTRICTED)
    await shelf.add(scope, "broken.pdf", b"%PDF-1.4\n")
    assert await shelf.corpus_version(scope) == before


async def test_it_changes_by_plain_sql_too(shelf: Shelf, tenant: Tenant) -> None:
    scope, data = tenant.scope, prose("one")
    made = await shelf.add(scope, "a.txt", data)
    await shelf.add(scope, "b.txt", prose("two"))
    statements = [
        sa.update(Content).where(Content.sha256 == digest(data)).values(parser_version="other"),
        sa.update(Content).where(Content.sha256 == digest(data)).values(chunker_version="other"),
        sa.update(Content).where(Content.sha256 == digest(data)).values(embedding_model="other"),
        sa.update(Document).where(Document.id == made.document_id).values(current_version_id=None),
        sa.delete(Document),
    ]
    seen = {await shelf.corpus_version(scope)}
    for statement in statements:
        async with shelf.services.database.workspace(scope) as session:
            await session.execute(statement)
        now = await shelf.corpus_version(scope)
        assert now not in seen, str(statement)
        seen.add(now)


async def test_changes_that_overlap_end_in_the_version_of_both(shelf: Shelf, tenant: Tenant) -> None:
    scope = tenant.scope
    empty = await shelf.corpus_version(scope)
    one, two = [await shelf.add(scope, f"{n}.txt", prose(f"text {n}")) for n in range(2)]
    withdrawn = asyncio.Event()

    async def withdraw(document_id: DocumentId, *, first: bool) -> None:
        async with shelf.services.database.workspace(scope) as session:
            await session.execute(sa.select(sa.func.count()).select_from(Document))
            if not first:
                await withdrawn.wait()
            await session.execute(sa.update(Document).where(Document.id == document_id).values(current_version_id=None))
            if first:
                withdrawn.set()
                await asyncio.sleep(0.2)

    await asyncio.gather(withdraw(one.document_id, first=True), withdraw(two.document_id, first=False))
    assert await shelf.corpus_version(scope) == empty


async def test_documents_that_become_ready_together_are_all_in_it(shelf: Shelf, tenant: Tenant) -> None:
    texts = [prose(f"text {n}") for n in range(4)]
    for number, data in enumerate(texts):
        await shelf.upload(tenant.scope, f"{number}.txt", data)
    await asyncio.gather(*(shelf.process(tenant.scope, data) for data in texts))
    together = await shelf.corpus_version(tenant.scope)
    assert together == await _recomputed(shelf, tenant)
    assert {view.chunk_count for view in await shelf.listed(tenant.scope)} == {1}


async def _recomputed(shelf: Shelf, tenant: Tenant) -> str:
    """Return the version of a workspace as it would be without the triggers: from all its documents at once."""
    query = sa.text("""
        SELECT md5(bit_xor(('x' || md5(concat_ws(
            ':', d.id, c.sha256, c.parser_version, c.chunker_version, c.embedding_model)))::bit(128))::text)
        FROM documents d
        JOIN versions v ON v.id = d.current_version_id
        JOIN contents c ON c.workspace_id = v.workspace_id AND c.sha256 = v.content_sha256
        WHERE d.workspace_id = :id
    """)
    async with shelf.services.database.workspace(tenant.scope) as session:
        return str(await session.scalar(query, {"id": tenant.workspace.id}))


def _insert(table: type[Any], scope: WorkspaceScope, **values: object) -> sa.Insert:
    return sa.insert(table).values(workspace_id=scope.workspace_id, created_by=scope.user_id, **values)


async def test_rows_that_come_in_any_order_are_all_in_it(shelf: Shelf, tenant: Tenant) -> None:
    """The keys between these rows are checked at the end: a document may come before what it refers to."""
    scope, document_id, version_id, sha256 = tenant.scope, new_id(), new_id(), "0" * 64
    empty = await shelf.corpus_version(scope)
    document = _insert(
        Document, scope, id=document_id, name="a", visibility="workspace", named_by=scope.user_id,
        current_version_id=version_id,
    )  # fmt: skip
    version = _insert(Version, scope, id=version_id, document_id=document_id, content_sha256=sha256, number=1)
    content = _insert(
        Content, scope, sha256=sha256, blob_key="a", media_type="text/plain", size_bytes=1, status="ready",
        chunk_count=1, parser_version="1",
    )  # fmt: skip
    async with shelf.services.database.workspace(scope) as session:
        for statement in (document, version, content):
            await session.execute(statement)
    made = await shelf.corpus_version(scope)
    assert made == await _recomputed(shelf, tenant) != empty
    async with shelf.services.database.workspace(scope) as session:
        await session.execute(sa.delete(Content))
        await session.execute(content.values(parser_version="2"))
    again = await shelf.corpus_version(scope)
    assert again == await _recomputed(shelf, tenant) != made
    async with shelf.services.database.workspace(scope) as session:
        await session.execute(_insert(Content, scope, sha256="1" * 64, blob_key="b", media_type="", size_bytes=1))
        await session.execute(sa.delete(Version))
        await session.execute(version.values(content_sha256="1" * 64))
    assert await shelf.corpus_version(scope) == await _recomputed(shelf, tenant) != again


async def test_versions_that_are_swapped_or_given_other_contents_change_it(shelf: Shelf, tenant: Tenant) -> None:
    scope, texts = tenant.scope, [prose("one"), prose("two")]
    one, two = [await shelf.add(scope, f"{n}.txt", data) for n, data in enumerate(texts)]
    other = sa.case((Document.id == one.document_id, two.version_id), else_=one.version_id)
    statements: list[sa.Update] = [
        sa.update(Document).values(current_version_id=other),
        sa.update(Version).where(Version.id == one.version_id).values(content_sha256=digest(texts[1])),
        sa.update(Content).values(embedding_model="other"),
    ]
    seen = {await shelf.corpus_version(scope)}
    for statement in statements:
        async with shelf.services.database.workspace(scope) as session:
            await session.execute(statement)
        now = await shelf.corpus_version(scope)
        assert now == await _recomputed(shelf, tenant)
        assert now not in seen
        seen.add(now)


async def test_terms_that_somebody_writes_are_set_again(shelf: Shelf, tenant: Tenant) -> None:
    scope = tenant.scope
    await shelf.add(scope, "a.txt", prose("one"))
    before = await shelf.corpus_version(scope)
    for term in ("~corpus_term", "repeat('0', 128)::bit(128)", "corpus_term"):
        async with shelf.services.database.workspace(scope) as session:
            await session.execute(sa.text(f"UPDATE documents SET corpus_term = {term}"))  # noqa: S608 - the three above
        assert await shelf.corpus_version(scope) == await _recomputed(shelf, tenant) == before


@pytest.mark.parametrize("document_first", [False, True])
async def test_a_content_that_changes_while_a_document_comes_to_it_is_in_it_as_it_ends(
    shelf: Shelf, tenant: Tenant, *, document_first: bool
) -> None:
    """Neither transaction sees the other's rows, and none of them takes the lock of the document set."""
    scope, data = tenant.scope, prose("one")
    made = await shelf.add(scope, "a.txt", data)
    await _run(shelf, scope, sa.update(Document).values(current_version_id=None))
    come = sa.update(Document).values(current_version_id=made.version_id)
    change = sa.update(Content).values(parser_version="other")
    first, second = (come, change) if document_first else (change, come)
    async with shelf.services.database.workspace(scope) as session:
        await session.execute(first)
        waiting = asyncio.create_task(_run(shelf, scope, second))
        await asyncio.sleep(0.2)
        assert not waiting.done()
    await waiting
    assert await shelf.corpus_version(scope) == await _recomputed(shelf, tenant)


async def _run(shelf: Shelf, scope: WorkspaceScope, statement: sa.Update) -> None:
    async with shelf.services.database.workspace(scope) as session:
        await session.execute(statement)


async def test_a_change_costs_the_same_with_many_documents_and_many_changes_cost_one_of_the_workspace(
    shelf: Shelf, tenant: Tenant
) -> None:
    scope, count = tenant.scope, 3_000
    async with shelf.services.database.workspace(scope) as session:
        for statement in MANY.split(";\n"):
            parameters = {"workspace_id": tenant.workspace.id, "user_id": scope.user_id, "count": count}
            await session.execute(sa.text(statement), parameters)
    assert await shelf.corpus_version(scope) == await _recomputed(shelf, tenant)
    async with shelf.services.database.workspace(scope) as session:
        ids = (await session.scalars(sa.select(Document.id).limit(50))).all()
    began = time.perf_counter()
    for document_id in ids:
        async with shelf.services.database.workspace(scope) as session:
            gone = sa.update(Document).where(Document.id == document_id).values(current_version_id=None)
            await session.execute(gone)
    single = (time.perf_counter() - began) / len(ids)
    assert single < 0.05, f"{single * 1000:.1f} ms for one of {count} documents"
    began = time.perf_counter()
    await _run(shelf, scope, sa.update(Content).values(embedding_model="other"))
    together = time.perf_counter() - began
    assert together < count * 0.003, f"{together:.1f} s for all of {count} documents"
    assert await shelf.corpus_version(scope) == await _recomputed(shelf, tenant)


MANY = """
INSERT INTO contents (workspace_id, sha256, blob_key, media_type, size_bytes, status, chunk_count, created_by)
SELECT :workspace_id, encode(sha256(n::text::bytea), 'hex'), n::text, 'text/plain', 1, 'ready', 1, :user_id
FROM generate_series(1, :count) n;
INSERT INTO documents (workspace_id, id, name, visibility, named_by, created_by)
SELECT :workspace_id, gen_random_uuid(), n::text, 'workspace', :user_id, :user_id FROM generate_series(1, :count) n;
INSERT INTO versions (workspace_id, id, document_id, content_sha256, number, created_by)
SELECT workspace_id, gen_random_uuid(), id, encode(sha256(name::bytea), 'hex'), 1, :user_id
FROM documents WHERE workspace_id = :workspace_id;
UPDATE documents d SET current_version_id = v.id, latest_version_id = v.id
FROM versions v WHERE v.workspace_id = d.workspace_id AND v.document_id = d.id AND d.workspace_id = :workspace_id
"""
