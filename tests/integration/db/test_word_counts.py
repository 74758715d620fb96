"""The counts of words in a workspace are those of a recount, whatever statement changes what is searched."""

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from app.bootstrap import Services
from app.core.ids import new_id
from app.core.tenancy import WorkspaceScope
from app.db.models import Chunk, ChunkWords, Content, Document, Version, WordCount
from app.documents.types import DocumentChanges, Visibility
from app.ingestion import repository
from app.ingestion.chunking import Chunk as CutChunk
from tests.support.documents import Shelf, digest, long_text, prose
from tests.support.tenants import Tenant, Tenants
from tests.support.word_counts import NOTHING, WordCounts, counted


async def counts(shelf: Shelf, scope: WorkspaceScope) -> WordCounts:
    """Return the counts of a workspace, which must be those of a recount."""
    async with shelf.services.database.workspace(scope) as session:
        return await counted(session, scope.workspace_id)


@asynccontextmanager
async def plain(shelf: Shelf, scope: WorkspaceScope) -> AsyncIterator[AsyncSession]:
    """Open a transaction as the service's role, without the lock that the service takes."""
    async with shelf.services.database.workspace(scope) as session:
        yield session


def _insert(table: type[Any], scope: WorkspaceScope, **values: object) -> sa.Insert:
    return sa.insert(table).values(workspace_id=scope.workspace_id, created_by=scope.user_id, **values)


def _document(scope: WorkspaceScope, document_id: UUID, name: str, version_id: UUID | None = None) -> sa.Insert:
    return _insert(
        Document, scope, id=document_id, name=name, visibility="workspace", named_by=scope.user_id,
        current_version_id=version_id,
    )  # fmt: skip


def _content(scope: WorkspaceScope, sha256: str) -> sa.Insert:
    return _insert(
        Content, scope, sha256=sha256, blob_key=sha256, media_type="text/plain", size_bytes=1, status="ready",
        chunk_count=1,
    )  # fmt: skip


def _chunk(ordinal: int, text: str) -> CutChunk:
    return CutChunk(ordinal, ordinal * 1_000, ordinal * 1_000 + len(text), text, "", 1, 1, 1)


async def put(session: AsyncSession, scope: WorkspaceScope, sha256: str, texts: Sequence[str]) -> None:
    """Store a ready content with chunks of these texts."""
    await session.execute(_content(scope, sha256))
    chunks = [_chunk(ordinal, text) for ordinal, text in enumerate(texts)]
    await repository.insert_chunks(session, scope, sha256, chunks, "english")


async def name_it(session: AsyncSession, scope: WorkspaceScope, sha256: str, name: str, *, current: bool) -> UUID:
    """Store a document with this content; return the id of both document and version."""
    made = new_id()
    await session.execute(_document(scope, made, name))
    await session.execute(_insert(Version, scope, id=made, document_id=made, content_sha256=sha256, number=1))
    if current:
        await session.execute(sa.update(Document).where(Document.id == made).values(current_version_id=made))
    return made


async def test_each_way_of_changing_documents_keeps_them(shelf: Shelf, tenant: Tenant, services: Services) -> None:
    scope, first, second = tenant.scope, prose("one"), prose("two", 5)
    assert await counts(shelf, scope) == NOTHING
    made = await shelf.upload(scope, "a.txt", first)
    assert await counts(shelf, scope) == NOTHING
    await shelf.process(scope, first)
    seen = [await counts(shelf, scope)]
    assert seen[0].chunks == 1
    assert seen[0].length >= len(seen[0].words) > 3
    await shelf.upload(scope, "a.txt", second)
    assert await counts(shelf, scope) == seen[0]
    await shelf.process(scope, second)
    seen.append(await counts(shelf, scope))
    assert seen[1].words.keys() != seen[0].words.keys()
    await shelf.upload(scope, "b.txt", second)
    await shelf.process(scope, second)
    assert await counts(shelf, scope) == seen[1]
    await services.documents.change(scope, made.document_id, DocumentChanges(name="c.txt"))
    await services.documents.change(scope, made.document_id, DocumentChanges(visibility=Visibility.RESTRICTED))
    await shelf.add(scope, "broken.pdf", b"%PDF-1.4\n")
    assert await counts(shelf, scope) == seen[1]
    await services.documents.delete(scope, made.document_id)
    assert await counts(shelf, scope) == seen[1]
    await shelf.add(scope, "book.md", long_text(30))
    assert (await counts(shelf, scope)).chunks > 30
    for view in await shelf.listed(scope):
        await services.documents.delete(scope, view.id)
        await counts(shelf, scope)
    assert await counts(shelf, scope) == NOTHING


async def test_going_back_to_an_old_version_counts_it_again(shelf: Shelf, tenant: Tenant) -> None:
    scope, first, second = tenant.scope, prose("one"), prose("two")
    await shelf.add(scope, "a.txt", first)
    before = await counts(shelf, scope)
    await shelf.add(scope, "a.txt", second)
    assert await counts(shelf, scope) != before
    await shelf.upload(scope, "a.txt", first)
    assert await counts(shelf, scope) == before


async def test_they_are_those_of_the_workspace_alone(shelf: Shelf, tenants: Tenants) -> None:
    data = prose("the same")
    one, two = [await tenants.workspace() for _ in range(2)]
    await shelf.add(one.scope, "a.txt", data)
    alone = await counts(shelf, one.scope)
    await shelf.add(two.scope, "a.txt", data)
    other = await counts(shelf, two.scope)
    assert await counts(shelf, one.scope) == alone
    assert (alone.chunks, alone.length, len(alone.words)) == (other.chunks, other.length, len(other.words))
    assert not alone.words.keys() & other.words.keys()


async def test_a_deleted_workspace_leaves_none(shelf: Shelf, tenant: Tenant, services: Services) -> None:
    for number in range(3):
        await shelf.add(tenant.scope, f"{number}.txt", prose(f"text {number}"))
    assert await shelf.count(tenant.scope, WordCount) > 0
    await services.workspaces.delete(tenant.scope)
    for table in (ChunkWords, WordCount):
        assert await shelf.count(tenant.scope, table) == 0


async def test_plain_sql_on_documents_and_contents_keeps_them(shelf: Shelf, tenant: Tenant) -> None:
    scope, data = tenant.scope, prose("one")
    made = await shelf.add(scope, "a.txt", data)
    await shelf.add(scope, "b.txt", prose("two"))
    await shelf.add(scope, "c.txt", prose("three"))
    here = Document.id == made.document_id
    # Each statement, and whether the counts change.
    statements: list[tuple[Any, bool]] = [
        (sa.update(Content).values(embedding_model="other"), False),
        (sa.update(Content).values(parser_version="other", done=1), False),
        (sa.update(Document).where(here).values(current_content="0" * 64), False),
        (sa.text("UPDATE documents SET corpus_term = ~corpus_term"), False),
        (sa.update(Document).where(here).values(current_version_id=None), True),
        (sa.update(Document).values(current_version_id=None), True),
        (sa.update(Document).values(current_version_id=Document.latest_version_id), True),
        (sa.update(Document).values(name=Document.name + ".old"), False),
        (sa.delete(Document).where(here), True),
        (sa.delete(Document), True),
    ]
    before = await counts(shelf, scope)
    for statement, changes in statements:
        async with plain(shelf, scope) as session:
            await session.execute(statement)
        after = await counts(shelf, scope)
        assert (after != before) == changes, str(statement)
        before = after
    assert before == NOTHING


async def test_words_that_come_and_go_while_their_content_is_searched_are_counted(shelf: Shelf, tenant: Tenant) -> None:
    scope = tenant.scope
    book = long_text(5)
    await shelf.add(scope, "book.md", book)
    before = await counts(shelf, scope)
    one = ChunkWords.chunk_id == sa.select(Chunk.id).where(Chunk.ordinal == 0).scalar_subquery()
    statements: list[Any] = [
        sa.update(ChunkWords).where(one).values(words=[1, 2], counts=[1, 1], length=2),
        sa.update(ChunkWords).values(content_sha256="0" * 64),
        sa.update(ChunkWords).values(content_sha256=digest(book)),
        sa.delete(ChunkWords).where(one),
        sa.delete(Chunk).where(Chunk.ordinal == 1),
        sa.delete(Chunk),
    ]
    for statement in statements:
        async with plain(shelf, scope) as session:
            await session.execute(statement)
        after = await counts(shelf, scope)
        assert after != before, str(statement)
        before = after
    assert before == NOTHING
    async with plain(shelf, scope) as session:
        chunks = [_chunk(0, "The pump is checked."), _chunk(1, "and the"), _chunk(2, "...")]
        await repository.insert_chunks(session, scope, digest(book), chunks, "english")
    after = await counts(shelf, scope)
    # Two words, and that of no letters in each chunk.
    assert (after.chunks, after.length, sorted(after.words.values())) == (3, 2, [1, 1, 3])


async def test_rows_that_come_in_any_order_are_counted(shelf: Shelf, tenant: Tenant) -> None:
    """The keys between these rows are checked at the end: a document may come before what it refers to."""
    scope, made, sha256, other = tenant.scope, new_id(), "0" * 64, "1" * 64
    version = _insert(Version, scope, id=made, document_id=made, content_sha256=sha256, number=1)
    async with plain(shelf, scope) as session:
        await session.execute(_document(scope, made, "a", made))
        await session.execute(version)
        await put(session, scope, sha256, ["one pump", "two pumps"])
    assert (await counts(shelf, scope)).chunks == 2
    async with plain(shelf, scope) as session:
        await session.execute(sa.delete(Content))
        assert (await counted(session, scope.workspace_id)) == NOTHING
        await put(session, scope, sha256, ["three pumps"])
    assert (await counts(shelf, scope)).chunks == 1
    async with plain(shelf, scope) as session:
        await put(session, scope, other, ["valves", "other valves", "more"])
        await session.execute(sa.update(Version).values(content_sha256=other))
    assert (await counts(shelf, scope)).chunks == 3
    async with plain(shelf, scope) as session:
        await session.execute(sa.delete(Version))
        await session.execute(version)
    assert (await counts(shelf, scope)).chunks == 1


@pytest.mark.parametrize("names", [2, 3])
async def test_documents_that_let_go_of_one_content_at_once_take_it_away_once(
    shelf: Shelf, tenant: Tenant, names: int
) -> None:
    scope, sha256 = tenant.scope, "0" * 64
    async with plain(shelf, scope) as session:
        await put(session, scope, sha256, ["a pump", "a valve"])
        made = [await name_it(session, scope, sha256, f"{n}", current=True) for n in range(names)]
    assert (await counts(shelf, scope)).chunks == 2
    together = asyncio.Barrier(names)

    async def let_go(document_id: UUID) -> None:
        async with plain(shelf, scope) as session:
            await session.execute(sa.select(sa.func.count()).select_from(Document))
            await together.wait()
            await session.execute(sa.delete(Document).where(Document.id == document_id))
            await asyncio.sleep(0.05)

    await asyncio.gather(*(let_go(document_id) for document_id in made))
    assert await counts(shelf, scope) == NOTHING


async def test_transactions_that_overlap_end_in_the_counts_of_all_and_wait_for_each_other_in_one_order(
    shelf: Shelf, tenant: Tenant
) -> None:
    """A deadlock would be an error here: each transaction changes one document, without the service's lock."""
    scope, contents = tenant.scope, ["0" * 64, "1" * 64]
    async with plain(shelf, scope) as session:
        for sha256 in contents:
            await put(session, scope, sha256, [f"pump {sha256[0]}", "valve"])
        names = [await name_it(session, scope, contents[n % 2], f"{n}", current=False) for n in range(8)]
    chance = random.Random(7)  # noqa: S311

    async def turn(document_id: UUID, rounds: Sequence[tuple[bool, float]]) -> None:
        for current, pause in rounds:
            async with plain(shelf, scope) as session:
                version = document_id if current else None
                mine = Document.id == document_id
                await session.execute(sa.update(Document).where(mine).values(current_version_id=version))
                await asyncio.sleep(pause)

    rounds = [[(chance.random() < 0.5, chance.random() * 0.01) for _ in range(20)] for _ in names]
    await asyncio.gather(*map(turn, names, rounds))
    expected = {contents[n % 2] for n, each in enumerate(rounds) if each[-1][0]}
    assert (await counts(shelf, scope)).chunks == 2 * len(expected)


async def test_words_that_are_written_while_their_content_becomes_searched_are_counted(
    shelf: Shelf, tenant: Tenant
) -> None:
    scope, sha256 = tenant.scope, "0" * 64
    async with plain(shelf, scope) as session:
        await put(session, scope, sha256, ["a pump"])
        made = await name_it(session, scope, sha256, "a", current=False)
    written, done = asyncio.Event(), asyncio.Event()

    async def write() -> None:
        async with plain(shelf, scope) as session:
            await repository.insert_chunks(session, scope, sha256, [_chunk(1, "a late valve")], "english")
            written.set()
            await asyncio.sleep(0.2)
            assert not done.is_set()

    async def swap() -> None:
        await written.wait()
        async with plain(shelf, scope) as session:
            await session.execute(sa.update(Document).where(Document.id == made).values(current_version_id=made))
        done.set()

    await asyncio.gather(write(), swap())
    assert (await counts(shelf, scope)).chunks == 2


async def test_many_documents_in_one_statement_change_each_count_once(shelf: Shelf, tenant: Tenant) -> None:
    """One by one, the count of a word of all of them would be changed once for each, past all its older versions."""
    scope, many = tenant.scope, 100
    async with plain(shelf, scope) as session:
        for number in range(many):
            await put(session, scope, f"{number:064x}", [f"The pump of house {number} is checked daily."])
            await name_it(session, scope, f"{number:064x}", f"{number}", current=False)
    async with plain(shelf, scope) as session:
        await session.execute(sa.update(Document).values(current_version_id=Document.id))
        words = (await counted(session, scope.workspace_id)).words
        assert max(words.values()) == many
        assert await changes_of_counts(session) == (len(words), 0, 0)
    async with plain(shelf, scope) as session:
        await session.execute(sa.delete(Document))
        assert await counted(session, scope.workspace_id) == NOTHING
        assert await changes_of_counts(session) == (0, 0, len(words))


async def changes_of_counts(session: AsyncSession) -> tuple[int, int, int]:
    """Return how many counts this transaction has inserted, changed and deleted."""
    query = "SELECT n_tup_ins, n_tup_upd, n_tup_del FROM pg_stat_xact_user_tables WHERE relname = 'word_counts'"
    row = (await session.execute(sa.text(query))).one()
    return row[0], row[1], row[2]
