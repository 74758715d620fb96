import asyncio

import sqlalchemy as sa

from app.core.ids import DocumentId
from app.db.models import Content, Document
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
