"""What a content is written in, and how its words are taken from there on."""

from collections.abc import Mapping
from typing import Any

import pytest
import sqlalchemy as sa

from app.bootstrap import Services
from app.core.languages import text_search_of
from app.core.tenancy import WorkspaceScope
from app.db.models import ChunkWords, Content
from app.db.session import Database
from app.ingestion import pipeline as ingestion, repository
from tests.support.documents import Shelf, digest, long_text
from tests.support.languages import PROSE
from tests.support.pipelines import ProcessGoneError, assert_whole
from tests.support.tenants import Tenant

ENGLISH, GERMAN, CHINESE = (f"{PROSE[language]} " for language in ("en", "de", "zh"))
_HOLDS = sa.text("""
    SELECT count(*) FROM chunk_words w
    WHERE w.workspace_id = :id AND w.content_sha256 = :sha256
      AND w.words @> ARRAY[word_number(:id, :configuration, :lexeme)]
""")
_AGAIN = sa.text("""
    SELECT count(*) FROM chunk_words w
    JOIN chunks c ON c.workspace_id = w.workspace_id AND c.id = w.chunk_id
    JOIN contents o ON o.workspace_id = w.workspace_id AND o.sha256 = w.content_sha256
    CROSS JOIN LATERAL words_of(
        :id, o.text_search, c.heading || E'\\n' || c.text, c.text, '{}'
    ) AS made
    WHERE w.workspace_id = :id AND w.length = made.length
      AND w.words[1 : cardinality(made.words)] = made.words AND w.counts[1 : cardinality(made.words)] = made.counts
""")


async def holds(database: Database, scope: WorkspaceScope, data: bytes, configuration: str, lexeme: str) -> bool:
    """Tell whether a lexeme is a word of some chunk of a content."""
    async with database.workspace(scope) as session:
        found = {"id": scope.workspace_id, "sha256": digest(data), "configuration": configuration, "lexeme": lexeme}
        return bool(await session.scalar(_HOLDS, found))


@pytest.mark.parametrize(
    ("text", "read_as", "lexemes"),
    [
        (GERMAN, ("de", "german"), {"ventil": True, "pump": True, "pumpe": False, "die": False}),
        (ENGLISH, ("en", "english"), {"valv": True, "pressur": True, "pressure": False, "the": False}),
        (CHINESE, ("zh", "simple"), {"水泵": True, "阀门": True, "水": False, CHINESE[:8]: False}),
        ("12.5;13.5\n14.5;15.5\n", ("", "simple"), {"12.5": True, "13.5": True}),
    ],
)
async def test_words_are_those_of_the_language(
    shelf: Shelf, tenant: Tenant, text: str, read_as: tuple[str, str], lexemes: Mapping[str, bool]
) -> None:
    data = (text * 3).encode()
    await shelf.add(tenant.scope, "a.txt", data)
    (content,) = await shelf.contents(tenant.scope)
    assert (content.status, content.language, content.text_search) == ("ready", *read_as)
    found = {
        lexeme: await holds(shelf.services.database, tenant.scope, data, content.text_search, lexeme)
        for lexeme in lexemes
    }
    assert found == lexemes


async def test_words_their_frequencies_and_lengths_are_those_that_postgres_takes(shelf: Shelf, tenant: Tenant) -> None:
    await shelf.add(tenant.scope, "book.md", long_text(20))
    await shelf.add(tenant.scope, "buch.txt", (GERMAN * 40).encode())
    stored = await shelf.count(tenant.scope, ChunkWords)
    async with shelf.services.database.workspace(tenant.scope) as session:
        assert await session.scalar(_AGAIN, {"id": tenant.workspace.id}) == stored > 20


async def test_each_content_of_a_workspace_has_a_language_of_its_own(shelf: Shelf, tenant: Tenant) -> None:
    await shelf.add(tenant.scope, "en.txt", ENGLISH.encode())
    await shelf.add(tenant.scope, "de.txt", GERMAN.encode())
    assert {content.text_search for content in await shelf.contents(tenant.scope)} == {"english", "german"}


async def test_a_run_that_begins_again_takes_all_words_in_one_way(
    shelf: Shelf, tenant: Tenant, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first run tells another language, as an older program may have; it ends after some of its chunks."""
    data = long_text(150)
    await shelf.upload(tenant.scope, "book.md", data)
    store, batches = repository.insert_chunks, iter([True, False])

    async def store_once(*given: Any) -> None:
        if not next(batches):
            raise ProcessGoneError
        await store(*given)

    with monkeypatch.context() as patch:
        patch.setattr(ingestion, "_CHUNKS_AT_ONCE", 50)
        patch.setattr(ingestion, "detect_language", lambda _: "de")
        patch.setattr(repository, "insert_chunks", store_once)
        with pytest.raises(ProcessGoneError):
            await shelf.process(tenant.scope, data)
    (content,) = await shelf.contents(tenant.scope)
    assert (content.language, content.text_search) == ("de", "german")
    assert await shelf.count(tenant.scope, ChunkWords) == 50
    await shelf.process(tenant.scope, data)
    await assert_whole(shelf, tenant.scope, data)
    (content,) = await shelf.contents(tenant.scope)
    assert (content.language, content.text_search) == ("en", "english")
    async with shelf.services.database.workspace(tenant.scope) as session:
        assert await session.scalar(_AGAIN, {"id": tenant.workspace.id}) == content.chunk_count > 50


async def test_postgres_knows_every_configuration_and_refuses_others(shelf: Shelf, tenant: Tenant) -> None:
    letters = "abcdefghijklmnopqrstuvwxyz"
    ours = {text_search_of(first + second) for first in letters for second in letters}
    async with shelf.services.database.workspace(tenant.scope) as session:
        known = set((await session.scalars(sa.text("SELECT cfgname FROM pg_ts_config"))).all())
    assert ours == known
    await shelf.upload(tenant.scope, "a.txt", b"text")
    with pytest.raises(sa.exc.ProgrammingError, match="does not exist"):
        async with shelf.services.database.workspace(tenant.scope) as session:
            await session.execute(sa.update(Content).values(text_search="klingon"))
