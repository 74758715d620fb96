"""Cells of vectors in a real database: what is found, whatever happens meanwhile, and how they come and go."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import NamedTuple

import psycopg
import pytest
import sqlalchemy as sa
from psycopg import sql
from structlog.testing import capture_logs

from app.bootstrap import Services
from app.core.ids import ChunkId
from app.core.tenancy import Role, WorkspaceScope
from app.db.models import ChunkEmbedding, VectorCell, VectorLayout
from app.db.session import Database
from app.retrieval import cell_repository
from app.retrieval.cells import CellSettings, Maintenance, VectorCells
from bench.loading import Loader, delete, grant
from bench.questions import Question, questions
from bench.searching import Search, exact, searching
from bench.synthetic import MODEL, Document, Library, Tenant, tenant
from tests.support.databases import DatabaseUrls
from tests.support.pipelines import CrashingDatabase, ProcessGoneError

LIBRARY = Library()
SETTINGS = CellSettings(
    least_vectors=300,
    unplaced_least=40,
    unplaced_share=0.1,
    read_at_once=400,
    moved_at_once=100,
    window=1_000,
    breadth=12.0,
)
LARGE, SMALL = 3_000, 400
ARM = 50


@pytest.fixture
async def search(app_url: str) -> AsyncIterator[Search]:
    async with searching(app_url) as opened:
        yield opened


class Shelf:
    """Loads tenants of generated vectors, and takes them away again."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._made: list[Tenant] = []

    def load(self, name: str, chunks: int, seed: int, *, restricted: bool = False) -> Tenant:
        made = tenant(f"cells: {name}", chunks, seed, restricted=restricted)
        self._made.append(made)
        Loader(self.url, LIBRARY).load([made])
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("ANALYZE contents, documents, chunks, chunk_words, chunk_embeddings, word_counts")
        return made

    def delete(self, of: Tenant, documents: Sequence[Document]) -> None:
        """Delete documents in a session of the workspace: by it, the trigger that keeps sizes knows where it is."""
        delete(f"{self.url}?options=-c%20app.workspace_id%3D{of.workspace_id}", of, documents)

    def close(self) -> None:
        with psycopg.connect(self.url) as connection:
            for made in self._made:
                connection.execute("DELETE FROM workspaces WHERE id = %s", [made.workspace_id])
                connection.execute("DELETE FROM users WHERE id = ANY(%s)", [[made.owner, made.guest]])


@pytest.fixture
def shelf(database_urls: DatabaseUrls, superuser_url: str) -> Iterator[Shelf]:
    opened = Shelf(superuser_url)
    yield opened
    opened.close()


@pytest.fixture
def cells(database: Database) -> VectorCells:
    return VectorCells(database, SETTINGS, seed=1)


def owner(of: Tenant) -> WorkspaceScope:
    return of.scope(of.owner)


def asked(of: Tenant, count: int, seed: int) -> list[Question]:
    return list(questions(LIBRARY, of, count, seed))


class _Layout(NamedTuple):
    generation: int
    made_for: int
    breadth: float


@dataclass(frozen=True, slots=True)
class Stored:
    """What the tables say of the cells of a workspace."""

    placed: int
    unplaced: int
    generations: frozenset[int]
    cells: int
    layout: _Layout | None


async def stored(database: Database, scope: WorkspaceScope) -> Stored:
    """Read the cells, whose sizes must be what is in them."""
    async with database.workspace(scope) as session:
        rows = (await session.execute(sa.select(VectorCell.id, VectorCell.generation, VectorCell.size))).all()
        query = sa.select(ChunkEmbedding.cell, sa.func.count()).group_by(ChunkEmbedding.cell)
        counts = {row[0]: row[1] for row in await session.execute(query)}
        known = sa.select(VectorLayout.generation, VectorLayout.made_for, VectorLayout.breadth)
        layout = (await session.execute(known)).one_or_none()
    unplaced = counts.pop(None, 0)
    assert {row.id: row.size for row in rows if row.size} == counts
    return Stored(
        sum(counts.values()),
        unplaced,
        frozenset(row.generation for row in rows),
        len(rows),
        _Layout(*layout) if layout else None,
    )


async def recall(shelf: Shelf, search: Search, of: Tenant, count: int = 40) -> float:
    """Return which part of the ten nearest passages the vector arm finds."""
    shared = 0
    with psycopg.connect(shelf.url) as connection:
        for question in asked(of, count, 3):
            wanted = exact(connection, owner(of), question.vector, 10)
            shared += len({*wanted} & {*await search.nearest(owner(of), question, 10)})
    return shared / (10 * count)


async def everything_found(search: Search, documents: Sequence[Document], scope: WorkspaceScope) -> bool:
    """Tell whether each of some passages is the first one that its own vector finds."""
    for document in documents:
        place = document.number % len(document.lines)
        own = Question("", document.vectors[place], off_topic=False)
        if await search.nearest(scope, own, 1) != [document.chunk_id(place)]:
            return False
    return True


def some_documents(of: Tenant, step: int = 7) -> list[Document]:
    return [LIBRARY.document(of, number) for number in range(0, of.documents, step)]


async def test_a_large_workspace_gets_cells_in_which_the_nearest_are_found(
    shelf: Shelf, search: Search, database: Database, cells: VectorCells
) -> None:
    large = shelf.load("large", LARGE, 31)
    assert (await stored(database, owner(large))).layout is None
    done = await cells.maintain(owner(large), MODEL)
    assert (done.moved, done.removed, done.finished) == (LARGE, 0, True)
    assert 130 < done.made <= 164
    now = await stored(database, owner(large))
    assert (now.placed, now.unplaced, now.cells) == (LARGE, 0, done.made)
    assert now.layout == _Layout(1, LARGE, SETTINGS.breadth)
    assert await recall(shelf, search, large) >= 0.97
    found = await search.find_all(owner(large), asked(large, 20, 5), ARM)
    assert {len(passages) for passages in found} == {ARM}
    assert await cells.maintain(owner(large), MODEL) == Maintenance()
    assert await stored(database, owner(large)) == now


async def test_a_small_workspace_gets_none(shelf: Shelf, database: Database, cells: VectorCells) -> None:
    small = shelf.load("small", SETTINGS.least_vectors - 1, 32)
    assert await cells.maintain(owner(small), MODEL) == Maintenance()
    assert await cells.compare(owner(small), MODEL) is None
    assert (await stored(database, owner(small))).layout is None


async def test_a_reader_of_a_few_documents_finds_as_much_of_them_as_there_is(
    shelf: Shelf, search: Search, cells: VectorCells
) -> None:
    closed = shelf.load("closed", SMALL * 2, 33, restricted=True)
    await cells.maintain(owner(closed), MODEL)
    guest, mine = closed.scope(closed.guest), [LIBRARY.document(closed, number) for number in (3, 11, 19)]
    for readable in range(1, len(mine) + 1):
        grant(shelf.url, closed, [mine[readable - 1].id])
        found = await search.find_all(guest, asked(closed, 10, 2), ARM)
        assert {len(passages) for passages in found} == {min(ARM, 25 * readable)}
        assert {each.content_sha256 for passages in found for each in passages} == {
            document.content_sha256 for document in mine[:readable]
        }
        assert await everything_found(search, mine[:readable], guest)


async def test_after_most_was_deleted_no_result_is_short_and_fewer_cells_are_made(
    shelf: Shelf, search: Search, database: Database, cells: VectorCells
) -> None:
    shrinking = shelf.load("shrinking", LARGE, 34)
    made = (await cells.maintain(owner(shrinking), MODEL)).made
    documents = list(LIBRARY.documents(shrinking))
    kept = documents[::8]
    shelf.delete(shrinking, [each for each in documents if each.number % 8])
    left = sum(len(each.lines) for each in kept)
    assert (await stored(database, owner(shrinking))).placed == left >= SETTINGS.least_vectors
    for _ in range(2):
        found = await search.find_all(owner(shrinking), asked(shrinking, 10, 5), ARM)
        assert {len(passages) for passages in found} == {ARM}
        assert await everything_found(search, kept, owner(shrinking))
        await cells.maintain(owner(shrinking), MODEL)
    now = await stored(database, owner(shrinking))
    assert (now.placed, now.generations, now.layout) == (left, frozenset({2}), _Layout(2, left, SETTINGS.breadth))
    assert now.cells < made / 2


async def test_a_workspace_that_became_small_loses_its_cells(
    shelf: Shelf, search: Search, database: Database, cells: VectorCells
) -> None:
    small = shelf.load("dissolved", SMALL, 35)
    made = (await cells.maintain(owner(small), MODEL)).made
    kept = [LIBRARY.document(small, number) for number in range(5)]
    shelf.delete(small, [LIBRARY.document(small, number) for number in range(5, small.documents)])
    assert await everything_found(search, kept, owner(small))
    assert await cells.maintain(owner(small), MODEL) == Maintenance(moved=125, removed=made)
    assert await stored(database, owner(small)) == Stored(0, 125, frozenset(), 0, None)
    assert await everything_found(search, kept, owner(small))
    assert await cells.maintain(owner(small), MODEL) == Maintenance()


async def test_vectors_that_come_later_are_found_at_once_and_get_cells_when_they_are_many(
    shelf: Shelf, search: Search, database: Database, cells: VectorCells
) -> None:
    growing = shelf.load("growing", SMALL * 2, 36)
    late = [LIBRARY.document(growing, number) for number in range(3)]
    with withheld(shelf.url, growing, late[1:]) as put_back_others:
        with withheld(shelf.url, growing, late[:1]):
            await cells.maintain(owner(growing), MODEL)
        assert await everything_found(search, late[:1], owner(growing))
        assert await cells.maintain(owner(growing), MODEL) == Maintenance(), "so few may stay in no cell"
        put_back_others()
        assert await everything_found(search, late, owner(growing))
        assert await cells.maintain(owner(growing), MODEL) == Maintenance(moved=75)
    assert (await stored(database, owner(growing))).placed == SMALL * 2
    assert await everything_found(search, late, owner(growing))


async def test_cells_are_made_anew_for_many_more_vectors_and_the_old_ones_go(
    shelf: Shelf, search: Search, database: Database, cells: VectorCells
) -> None:
    growing = shelf.load("anew", LARGE, 37)
    with withheld(shelf.url, growing, list(LIBRARY.documents(growing))[SMALL // 25 :]):
        first = await cells.maintain(owner(growing), MODEL)
    again = await cells.maintain(owner(growing), MODEL)
    assert (again.moved, again.removed) == (LARGE, first.made)
    assert again.made > first.made * 2
    now = await stored(database, owner(growing))
    assert (now.placed, now.cells, now.generations) == (LARGE, again.made, frozenset({2}))
    assert await recall(shelf, search, growing) >= 0.97
    assert await cells.maintain(owner(growing), MODEL) == Maintenance()


@pytest.mark.parametrize("committed", [False, True], ids=["before commit", "after commit"])
@pytest.mark.parametrize("anew", [False, True], ids=["first cells", "new cells"])
async def test_a_run_that_dies_at_any_transaction_loses_nothing_and_the_next_one_ends_its_work(
    shelf: Shelf, search: Search, database: Database, cells: VectorCells, *, anew: bool, committed: bool
) -> None:
    dying = shelf.load(f"dying {anew} {committed}", SMALL, 38)
    scope, documents = owner(dying), some_documents(dying)
    at, ended, made = 0, False, 0
    while not ended:
        empty(shelf.url, dying)
        if anew:
            await cells.maintain(scope, MODEL)
            forget_size(shelf.url, dying)
        crashing = CrashingDatabase(database, at, committed=committed)
        run = VectorCells(crashing, replace(SETTINGS, moved_at_once=200), seed=at)
        try:
            await run.maintain(scope, MODEL)
            ended = True
        except ProcessGoneError:
            now = await stored(database, scope)
            assert now.placed + now.unplaced == SMALL
            assert await everything_found(search, documents, scope)
            made += (await cells.maintain(scope, MODEL)).made > 0
        now = await stored(database, scope)
        assert (now.placed, now.unplaced, now.generations) == (SMALL, 0, frozenset({1 + anew}))
        assert await cells.maintain(scope, MODEL) == Maintenance()
        at += 1
    assert at > 8
    assert 0 < made < at / 2, "cells that were stored are not made again"


async def test_a_dissolution_that_dies_at_any_transaction_loses_nothing(
    shelf: Shelf, search: Search, database: Database, cells: VectorCells
) -> None:
    dying = shelf.load("half dissolved", SMALL, 39)
    scope, documents = owner(dying), some_documents(dying)
    small = replace(SETTINGS, least_vectors=SMALL * 3)
    at, ended = 0, False
    while not ended:
        await cells.maintain(scope, MODEL)
        run = VectorCells(CrashingDatabase(database, at, committed=at % 2 == 0), small)
        try:
            await run.maintain(scope, MODEL)
            ended = True
        except ProcessGoneError:
            assert await everything_found(search, documents, scope)
            await VectorCells(database, small).maintain(scope, MODEL)
        assert await stored(database, scope) == Stored(0, SMALL, frozenset(), 0, None)
        at += 1
    assert at > 5


async def test_others_come_between_two_windows_and_nothing_is_done_twice(shelf: Shelf, database: Database) -> None:
    small = shelf.load("giving way", SMALL, 40)

    async def always() -> bool:
        return True

    runs: list[Maintenance] = []
    while not runs or not runs[-1].finished:
        runs.append(
            await VectorCells(database, replace(SETTINGS, window=150), seed=1).maintain(owner(small), MODEL, always)
        )
    assert [(run.moved, run.made > 0) for run in runs] == [(150, True), (150, False), (100, False)]


async def test_two_runs_at_once_do_no_harm(shelf: Shelf, search: Search, database: Database) -> None:
    small = shelf.load("twice", SMALL * 2, 41)
    runs = [VectorCells(database, replace(SETTINGS, moved_at_once=20), seed=seed) for seed in range(3)]
    await asyncio.gather(*(run.maintain(owner(small), MODEL) for run in runs))
    await runs[0].maintain(owner(small), MODEL)
    now = await stored(database, owner(small))
    assert (now.placed, now.unplaced, now.generations) == (SMALL * 2, 0, frozenset({1}))
    assert await everything_found(search, some_documents(small), owner(small))


@pytest.mark.parametrize("committed", [False, True])
async def test_what_a_deletion_holds_is_not_waited_for_and_moved_by_the_next_run(
    shelf: Shelf, search: Search, database: Database, cells: VectorCells, *, committed: bool
) -> None:
    held = shelf.load(f"held {committed}", SMALL, 52)
    scope, documents = owner(held), list(LIBRARY.documents(held))
    await cells.maintain(scope, MODEL)
    forget_size(shelf.url, held)
    gone = [each.chunk_id(0) for each in documents]
    statement = "DELETE FROM chunk_embeddings WHERE workspace_id = %s AND chunk_id = ANY(%s)"
    with psycopg.connect(shelf.url) as connection:
        connection.execute(statement, [held.workspace_id, gone])
        async with asyncio.timeout(60):
            run = await cells.maintain(scope, MODEL)
        assert 0 < run.moved < SMALL - len(gone), "nor is what is in the same cells"
        assert await everything_found(search, documents, scope)
        if not committed:
            connection.rollback()
    left = SMALL - len(gone) * committed
    last = await cells.maintain(scope, MODEL)
    assert (last.made, run.moved + last.moved) == (0, left)
    now = await stored(database, scope)
    assert (now.placed, now.generations) == (left, frozenset({2}))
    assert await everything_found(search, documents[1:], scope)


async def test_vectors_come_and_go_while_cells_are_made(
    shelf: Shelf, search: Search, database: Database, cells: VectorCells
) -> None:
    busy = shelf.load("busy", LARGE // 2, 42)
    scope, documents = owner(busy), list(LIBRARY.documents(busy))
    gone, back, kept = documents[::4], documents[1::4], documents[2::4]
    await cells.maintain(scope, MODEL)
    run = VectorCells(database, replace(SETTINGS, moved_at_once=15), seed=2)
    running = True

    def remove() -> None:
        for each in gone:
            shelf.delete(busy, [each])

    def return_() -> None:
        while running:
            for start in range(0, len(back), 4):
                with withheld(shelf.url, busy, back[start : start + 4]):
                    pass

    async def make_anew() -> None:
        nonlocal running
        for _ in range(3):
            forget_size(shelf.url, busy)
            await run.maintain(scope, MODEL)
        running = False

    async def ask() -> None:
        while running:
            assert await everything_found(search, kept[:3], scope)

    await asyncio.gather(make_anew(), asyncio.to_thread(remove), asyncio.to_thread(return_), ask())
    await run.maintain(scope, MODEL)
    now = await stored(database, scope)
    assert now.placed + now.unplaced == sum(len(each.lines) for each in documents if each.number % 4)
    assert len(now.generations) == 1
    assert await everything_found(search, [*back, *kept], scope)


async def test_a_comparison_is_noted_and_looks_at_more_when_too_little_is_found(
    shelf: Shelf, database: Database, cells: VectorCells
) -> None:
    large = shelf.load("compared", LARGE, 43)
    await cells.maintain(owner(large), MODEL)
    first = await cells.compare(owner(large), MODEL)
    assert first is not None
    assert first.recall >= 0.97
    set_breadth(shelf.url, large, 1.0)
    with capture_logs() as logs:
        found = await VectorCells(database, replace(SETTINGS, noise=3.0), seed=1).compare(owner(large), MODEL)
    assert found is not None
    assert found.recall < 0.97
    assert found.breadth == 1.5
    (line,) = logs
    assert (line["event"], line["log_level"]) == ("retrieval.cells_compared", "warning")
    assert (line["recall"], line["breadth"]) == (round(found.recall, 4), 1.5)
    async with database.workspace(owner(large)) as session:
        noted = (await session.execute(sa.select(VectorLayout.recall, VectorLayout.breadth))).one()
        compared = await session.scalar(sa.select(sa.func.now() - VectorLayout.compared_at))
    assert (round(noted.recall, 4), noted.breadth) == (line["recall"], 1.5)
    assert compared is not None
    assert compared < timedelta(minutes=1)


@pytest.mark.parametrize(("breadth", "next_one"), [(50.0, 40.0), (12.5, SETTINGS.breadth)])
async def test_where_all_is_found_less_is_looked_at_down_to_the_usual(
    shelf: Shelf, cells: VectorCells, breadth: float, next_one: float
) -> None:
    small = shelf.load(f"all found {breadth}", SMALL, 44)
    await cells.maintain(owner(small), MODEL)
    set_breadth(shelf.url, small, breadth)
    narrow = replace(SETTINGS, lower_above=0.9)
    found = await VectorCells(cells._database, narrow, seed=1).compare(owner(small), MODEL)
    assert found is not None
    assert found.breadth == next_one


async def test_no_more_than_the_most_is_looked_at(shelf: Shelf, database: Database) -> None:
    small = shelf.load("most", SMALL, 45)
    impossible = replace(SETTINGS, raise_below=1.1, most_breadth=20.0)
    cells = VectorCells(database, impossible, seed=1)
    await cells.maintain(owner(small), MODEL)
    raised = [await cells.compare(owner(small), MODEL, questions=3) for _ in range(3)]
    assert [each.breadth for each in raised if each] == [18.0, 20.0, 20.0]


async def test_what_a_comparison_finds_is_what_a_search_finds(
    shelf: Shelf, search: Search, database: Database, cells: VectorCells
) -> None:
    """The statement of comparisons repeats the vector arm: it must not fall behind it."""
    large = shelf.load("as a search", LARGE, 46)
    await cells.maintain(owner(large), MODEL)
    for breadth in (1.0, 3.0, 6.0):
        set_breadth(shelf.url, large, breadth)
        with psycopg.connect(shelf.url) as connection:
            for question in asked(large, 8, 7):
                wanted = exact(connection, owner(large), question.vector, 10)
                shared = {*wanted} & {*await search.nearest(owner(large), question, 10)}
                async with database.workspace(owner(large)) as session:
                    compared = await cell_repository.compare_nearest(
                        session, owner(large), MODEL, question.vector, nearest=10, arm_limit=ARM
                    )
                assert compared == (10, len(shared))


async def test_another_workspace_changes_nothing_and_is_not_changed(
    shelf: Shelf, search: Search, database: Database, cells: VectorCells
) -> None:
    mine, theirs = shelf.load("mine", SMALL, 47), shelf.load("theirs", SMALL, 47)

    async def found() -> list[list[ChunkId]]:
        results = await search.find_all(owner(mine), asked(mine, 20, 4), ARM)
        return [[passage.chunk_id for passage in passages] for passages in results]

    await cells.maintain(owner(mine), MODEL)
    before, state = await found(), await stored(database, owner(mine))
    assert (await stored(database, owner(theirs))).cells == 0
    await cells.maintain(owner(theirs), MODEL)
    assert (await found(), await stored(database, owner(mine))) == (before, state)
    shelf.delete(theirs, list(LIBRARY.documents(theirs)))
    await cells.maintain(owner(theirs), MODEL)
    assert (await found(), await stored(database, owner(mine))) == (before, state)


async def test_cells_of_a_model_go_when_its_vectors_are_gone(
    shelf: Shelf, search: Search, database: Database, cells: VectorCells
) -> None:
    moved = shelf.load("moved", SMALL, 48)
    copy_vectors(shelf.url, moved, "another-model")
    first = await cells.maintain(owner(moved), MODEL)
    second = await cells.maintain(owner(moved), "another-model")
    assert await cells.remove_unused(owner(moved)) == 0
    with psycopg.connect(shelf.url) as connection:
        connection.execute("DELETE FROM chunk_embeddings WHERE model = 'another-model'")
    assert await cells.remove_unused(owner(moved)) == second.made
    now = await stored(database, owner(moved))
    assert (now.placed, now.cells) == (SMALL, first.made)
    assert await everything_found(search, some_documents(moved), owner(moved))


async def test_a_workspace_with_cells_can_be_deleted(
    shelf: Shelf, services: Services, database: Database, cells: VectorCells
) -> None:
    doomed = shelf.load("doomed", SMALL, 49)
    await cells.maintain(owner(doomed), MODEL)
    await services.workspaces.delete(replace(owner(doomed), role=Role.OWNER))
    assert await stored(database, owner(doomed)) == Stored(0, 0, frozenset(), 0, None)
    assert await cells.arrange(owner(doomed))


async def test_sizes_that_are_wrong_are_set_right(
    shelf: Shelf, search: Search, database: Database, cells: VectorCells
) -> None:
    wrong = shelf.load("miscounted", SMALL, 51)
    await cells.maintain(owner(wrong), MODEL)
    with psycopg.connect(shelf.url) as connection:
        connection.execute(
            "UPDATE vector_cells SET size = size + id %% 3 WHERE workspace_id = %s", [wrong.workspace_id]
        )
    with pytest.raises(AssertionError):
        await stored(database, owner(wrong))
    await cells.maintain(owner(wrong), MODEL)
    assert (await stored(database, owner(wrong))).placed == SMALL


@pytest.mark.parametrize("table", ["vector_cells", "vector_layouts"])
async def test_what_a_search_finds_vectors_by_cannot_be_deleted(shelf: Shelf, cells: VectorCells, table: str) -> None:
    small = shelf.load(f"kept {table}", SMALL, 50)
    await cells.maintain(owner(small), MODEL)
    statement = sql.SQL("DELETE FROM {} WHERE workspace_id = %s").format(sql.Identifier(table))
    with psycopg.connect(shelf.url, autocommit=True) as connection, pytest.raises(psycopg.errors.ForeignKeyViolation):
        connection.execute(statement, [small.workspace_id])


@contextlib.contextmanager
def withheld(url: str, of: Tenant, documents: list[Document]) -> Iterator[Callable[[], None]]:
    """Take the vectors of documents away until the block ends or what it gives is called: then they are new ones."""
    contents, back = [each.content_sha256 for each in documents], False
    columns = sql.SQL("workspace_id, model, chunk_id, content_sha256, embedding")
    mine = sql.SQL("WHERE workspace_id = %s AND content_sha256 = ANY(%s)")
    with psycopg.connect(url, autocommit=True) as connection:
        statement = sql.SQL("CREATE TEMPORARY TABLE away AS SELECT {} FROM chunk_embeddings {}").format(columns, mine)
        with connection.transaction():
            connection.execute(statement, [of.workspace_id, contents])
            connection.execute(sql.SQL("DELETE FROM chunk_embeddings {}").format(mine), [of.workspace_id, contents])

        def put_back() -> None:
            nonlocal back
            if not back:
                connection.execute(
                    sql.SQL("INSERT INTO chunk_embeddings ({}) SELECT {} FROM away").format(columns, columns)
                )
            back = True

        yield put_back
        put_back()


def copy_vectors(url: str, of: Tenant, model: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute(
            "INSERT INTO chunk_embeddings (workspace_id, model, chunk_id, content_sha256, embedding) "
            "SELECT workspace_id, %s, chunk_id, content_sha256, embedding FROM chunk_embeddings e "
            "WHERE e.workspace_id = %s",
            [model, of.workspace_id],
        )


def empty(url: str, of: Tenant) -> None:
    """Take all cells away at once."""
    with psycopg.connect(url) as connection:
        for statement in (
            "UPDATE chunk_embeddings SET cell = NULL WHERE workspace_id = %s",
            "DELETE FROM vector_cells WHERE workspace_id = %s",
            "DELETE FROM vector_layouts WHERE workspace_id = %s",
        ):
            connection.execute(statement, [of.workspace_id])


def forget_size(url: str, of: Tenant) -> None:
    """Let the cells be those of far fewer vectors."""
    with psycopg.connect(url) as connection:
        connection.execute("UPDATE vector_layouts SET made_for = 1 WHERE workspace_id = %s", [of.workspace_id])


def set_breadth(url: str, of: Tenant, breadth: float) -> None:
    with psycopg.connect(url) as connection:
        connection.execute("UPDATE vector_layouts SET breadth = %s WHERE workspace_id = %s", [breadth, of.workspace_id])
