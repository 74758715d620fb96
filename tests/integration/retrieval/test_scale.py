"""What a small corpus does not show: limits of arms, approximation, other tenants, dead rows. The bench measures it."""

from collections.abc import AsyncIterator, Iterator, Sequence

import psycopg
import pytest

from app.core.ids import ChunkId
from app.core.tenancy import WorkspaceScope
from bench.loading import Loader, delete, grant
from bench.questions import Question, fuzzed, questions
from bench.searching import Search, exact, searching
from bench.synthetic import Library, Tenant, tenant
from tests.support.databases import DatabaseUrls

LIBRARY = Library()
ANALYZE = "ANALYZE contents, documents, chunks, chunk_words, chunk_embeddings, word_counts"
OPEN = tenant("scale: open", 2_000, 21)
SHRINKING = tenant("scale: shrinking", 1_000, 22)
CLOSED = tenant("scale: closed", 1_000, 23, restricted=True)
DOUBLE = tenant("scale: double", OPEN.chunks, OPEN.seed)
USUAL, MOST, LONGEST = 8, 50, 4_000


@pytest.fixture(scope="module")
def loaded(database_urls: DatabaseUrls, superuser_url: str) -> Iterator[str]:
    Loader(superuser_url, LIBRARY).load([OPEN, SHRINKING, CLOSED])
    with psycopg.connect(superuser_url, autocommit=True) as connection:
        connection.execute(ANALYZE)
    yield superuser_url
    made = [each.workspace_id for each in (OPEN, SHRINKING, CLOSED, DOUBLE)]
    with psycopg.connect(superuser_url) as connection:
        connection.execute("DELETE FROM documents WHERE workspace_id = ANY(%s)", [made])
        connection.execute("DELETE FROM workspaces WHERE id = ANY(%s)", [made])


@pytest.fixture(scope="module")
async def search(loaded: str, app_url: str) -> AsyncIterator[Search]:
    async with searching(app_url) as opened:
        yield opened


def owner(of: Tenant) -> WorkspaceScope:
    return of.scope(of.owner)


def asked(of: Tenant, count: int, seed: int) -> list[Question]:
    return list(questions(LIBRARY, of, count, seed))


async def lengths(search: Search, scope: WorkspaceScope, questions: Sequence[Question], limit: int) -> set[int]:
    return {len(found) for found in await search.find_all(scope, questions, limit)}


@pytest.mark.parametrize("limit", [USUAL, MOST])
async def test_no_result_is_short(search: Search, limit: int) -> None:
    assert await lengths(search, owner(OPEN), asked(OPEN, 100, 1), limit) == {limit}


async def test_a_reader_of_a_few_restricted_documents_finds_all_of_them_and_nothing_else(
    search: Search, loaded: str
) -> None:
    guest = CLOSED.scope(CLOSED.guest)
    assert await lengths(search, guest, asked(CLOSED, 5, 1), MOST) == {0}
    document = LIBRARY.document(CLOSED, 17)
    grant(loaded, CLOSED, [document.id])
    for limit, there in ((USUAL, USUAL), (MOST, len(document.lines))):
        found = await search.find_all(guest, asked(CLOSED, 50, 2), limit)
        assert {len(passages) for passages in found} == {there}
        assert {passage.content_sha256 for passages in found for passage in passages} == {document.content_sha256}


async def test_the_nearest_passages_are_those_of_an_exact_scan(search: Search, loaded: str) -> None:
    wanted, found = [], []
    with psycopg.connect(loaded) as connection:
        for question in asked(OPEN, 60, 3):
            wanted.append({*exact(connection, owner(OPEN), question.vector, 10)})
            found.append({*await search.nearest(owner(OPEN), question, 10)})
    shared = sum(len(one & other) for one, other in zip(wanted, found, strict=True))
    assert shared >= 0.97 * 10 * 60


async def test_the_same_texts_in_another_workspace_change_no_result(search: Search, loaded: str) -> None:
    async def found() -> list[list[ChunkId]]:
        results = await search.find_all(owner(OPEN), asked(OPEN, 60, 4), MOST)
        return [[passage.chunk_id for passage in passages] for passages in results]

    before = await found()
    Loader(loaded, LIBRARY).load([DOUBLE])
    with psycopg.connect(loaded, autocommit=True) as connection:
        connection.execute(ANALYZE)
    assert await found() == before


async def test_no_result_is_short_after_most_was_deleted_and_nothing_cleaned_up(search: Search, loaded: str) -> None:
    kept = LIBRARY.document(SHRINKING, 0)
    gone = [each for each in LIBRARY.documents(SHRINKING) if each.number % 10]
    delete(loaded, SHRINKING, gone)
    found = await search.find_all(owner(SHRINKING), asked(SHRINKING, 60, 5), MOST)
    assert {len(passages) for passages in found} == {MOST}
    assert {each.content_sha256 for each in gone}.isdisjoint(
        passage.content_sha256 for passages in found for passage in passages
    )
    (first, *_) = await search.nearest(owner(SHRINKING), Question("", kept.vectors[3], off_topic=False), 1)
    assert first == kept.chunk_id(3)


async def test_odd_questions_find_as_much_as_others_without_an_error(search: Search) -> None:
    run = await search.fuzz(owner(OPEN), [text[:LONGEST] for text in fuzzed(200, 1)], USUAL)
    assert (run.errors, run.short) == ((), 0)
    assert max(run.seconds) < 10
