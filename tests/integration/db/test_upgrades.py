"""A database with data of an earlier revision, brought to the newest one."""

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
import sqlalchemy as sa
from alembic import command

from app.db.migrate import _config, upgrade, wanted_revision
from tests.support.databases import DatabaseUrls
from tests.support.word_counts import NOTHING, kept, recounted

ROLES = Path(__file__).parents[3] / "migrations" / "roles.sql"
MODEL = "local-model"
# Two workspaces; the first has two names of the same bytes, an old version, a failed file and one that waits.
DATA = """
INSERT INTO users (id, issuer, subject) VALUES (:user_id, 'issuer', 'subject');
INSERT INTO workspaces (id, name, created_by) VALUES (:full, 'Full', :user_id), (:empty, 'Empty', :user_id);
INSERT INTO contents (workspace_id, sha256, blob_key, media_type, size_bytes, created_by, status, chunk_count,
                      parser_version, chunker_version, embedding_model, reason)
SELECT :full, repeat(key, 64), key, 'text/plain', 1, :user_id, status, chunks, 'p', 'c', model, reason
FROM (VALUES ('a', 'ready', 3, :model, NULL), ('b', 'ready', 2, :model, NULL), ('c', 'failed', 0, '', 'corrupt'),
             ('d', 'queued', 0, '', NULL)) made (key, status, chunks, model, reason);
INSERT INTO documents (workspace_id, id, name, visibility, named_by, created_by)
SELECT :full, gen_random_uuid(), name, 'workspace', :user_id, :user_id
FROM unnest(ARRAY['a1', 'a2', 'b1', 'c1', 'd1']) name;
INSERT INTO versions (workspace_id, id, document_id, content_sha256, number, created_by)
SELECT workspace_id, gen_random_uuid(), id, repeat(left(name, 1), 64), 2, :user_id FROM documents;
INSERT INTO versions (workspace_id, id, document_id, content_sha256, number, created_by)
SELECT workspace_id, gen_random_uuid(), id, repeat('a', 64), 1, :user_id FROM documents WHERE name = 'b1';
UPDATE documents d SET latest_version_id = v.id,
    current_version_id = CASE WHEN left(d.name, 1) IN ('a', 'b') THEN v.id END
FROM versions v WHERE v.document_id = d.id AND v.number = 2
"""
# Their chunks as the second revision stored them: one of no word, one of a word more often than is counted.
CHUNKS = """
INSERT INTO chunks (workspace_id, id, content_sha256, ordinal, start_offset, end_offset, page_start, page_end, heading,
                    text, token_count, identifiers, tsv)
SELECT c.workspace_id, gen_random_uuid(), c.sha256, n, n, n + 1, 1, 1, made.heading, made.text, 1, made.identifiers,
       to_tsvector('english', made.heading || E'\\n' || made.text)
FROM contents c
CROSS JOIN LATERAL (
    VALUES (0, '', '', CAST('{}' AS text[])),
           (1, 'Pumps', 'valves of key' || c.blob_key || E'\\n5.1 like 7.2', '{5.1,7.2}'),
           (2, 'Pumps', repeat(' checked daily', 300), '{}')) made (n, heading, text, identifiers)
WHERE c.blob_key <> 'd'
"""
RECOMPUTED = """
SELECT md5(coalesce(bit_xor(('x' || md5(concat_ws(
    ':', d.id, c.sha256, c.parser_version, c.chunker_version, c.embedding_model)))::bit(128)),
    repeat('0', 128)::bit(128))::text)
FROM documents d
JOIN versions v ON v.workspace_id = d.workspace_id AND v.id = d.current_version_id
JOIN contents c ON c.workspace_id = v.workspace_id AND c.sha256 = v.content_sha256
WHERE d.workspace_id = :workspace_id
"""


@pytest.fixture
def scratch(database_urls: DatabaseUrls) -> Iterator[DatabaseUrls]:
    """An empty database beside the one of the other tests."""
    name = f"upgrade_{uuid4().hex}"

    def inside(url: str) -> str:
        return sa.make_url(url).set(database=name).render_as_string(hide_password=False)

    admin = sa.create_engine(database_urls.superuser, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with admin.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
        urls = DatabaseUrls(
            *(inside(getattr(database_urls, role)) for role in ("superuser", "owner", "app", "auditor"))
        )
        engine = sa.create_engine(urls.superuser, poolclass=sa.NullPool)
        with engine.begin() as prepared:
            prepared.exec_driver_sql(ROLES.read_text().replace("%", "%%"))
        yield urls
        connection.exec_driver_sql(f"DROP DATABASE {name} WITH (FORCE)")


def bring_to(url: str, revision: str) -> None:
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.connect() as connection:
        config = _config()
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
        connection.commit()


def assert_security_is_forced(connection: sa.Connection) -> None:
    forced = connection.scalars(sa.text("SELECT relname FROM pg_class WHERE relrowsecurity > relforcerowsecurity"))
    assert forced.all() == []


def test_what_is_there_gets_the_corpus_version_and_model_that_it_would_have_been_given(scratch: DatabaseUrls) -> None:
    bring_to(scratch.owner, "0001")
    ids = {name: uuid4() for name in ("user_id", "full", "empty")}
    everything = sa.create_engine(scratch.superuser, poolclass=sa.NullPool)
    with everything.begin() as connection:
        for statement in DATA.split(";\n"):
            connection.execute(sa.text(statement), {**ids, "model": MODEL})
    assert upgrade(scratch.owner) == wanted_revision()
    with everything.begin() as connection:
        found = connection.execute(sa.text("SELECT id, corpus_version, embedding_model FROM workspaces")).all()
        kept = {row.id: (row.corpus_version, row.embedding_model) for row in found}
        recomputed = {
            name: connection.scalar(sa.text(RECOMPUTED), {"workspace_id": ids[name]}) for name in ("full", "empty")
        }
        assert kept == {ids["full"]: (recomputed["full"], MODEL), ids["empty"]: (recomputed["empty"], "")}
        assert recomputed["full"] != recomputed["empty"]
        assert_security_is_forced(connection)
    # From here on the triggers go on from what the migration has left.
    with everything.begin() as connection:
        connection.execute(sa.text("DELETE FROM documents WHERE name = 'a1'"))
        after = connection.scalar(sa.text("SELECT corpus_version FROM workspaces WHERE id = :full"), ids)
        assert after == connection.scalar(sa.text(RECOMPUTED), {"workspace_id": ids["full"]}) != recomputed["full"]
        connection.execute(sa.text("DELETE FROM documents"))
        versions = connection.scalars(sa.text("SELECT corpus_version FROM workspaces")).all()
        assert set(versions) == {recomputed["empty"]}


def test_words_that_are_there_are_kept_and_counted(scratch: DatabaseUrls) -> None:
    bring_to(scratch.owner, "0002")
    ids = {name: uuid4() for name in ("user_id", "full", "empty")}
    everything = sa.create_engine(scratch.superuser, poolclass=sa.NullPool)
    with everything.begin() as connection:
        for statement in [*DATA.split(";\n"), *CHUNKS.split(";\n")]:
            connection.execute(sa.text(statement), {**ids, "model": MODEL})
    before = corpus_versions(everything)
    assert upgrade(scratch.owner) == wanted_revision()
    assert corpus_versions(everything) == before
    with everything.begin() as connection:
        assert_security_is_forced(connection)
        found = kept(connection, ids["full"])
        assert found == recounted(connection, ids["full"])
        assert kept(connection, ids["empty"]) == NOTHING
        # Two searched contents of three chunks: none; pump, valv, the key, like and two numbers; pump, check and daili,
        # 255 times at most.
        assert found.chunks == 6
        assert found.length == 2 * (0 + 6 + 511)
        stored = connection.execute(sa.text("SELECT length, counts, words FROM chunk_words ORDER BY length")).all()
        assert [row.length for row in stored] == [0, 0, 0, 6, 6, 6, 511, 511, 511]
        assert [sorted(row.counts) for row in stored[::3]] == [[1], [1, 1, 1, 1, 1, 1, 1, 1, 2], [1, 1, 255, 255]]
        number = connection.scalar(sa.text("SELECT word_number(:full, 'english', 'pump')"), ids)
        assert found.words[number] == 4
        clause = connection.scalar(sa.text("SELECT identifier_number(:full, '5.1')"), ids)
        assert found.words[clause] == 2
        read_as = connection.execute(sa.text("SELECT DISTINCT language, text_search FROM contents")).all()
        assert read_as == [("", "english")]
    # From here on the triggers go on from what the migration has left.
    with everything.begin() as connection:
        connection.execute(sa.text("DELETE FROM documents WHERE name = 'a1'"))
        assert kept(connection, ids["full"]) == recounted(connection, ids["full"]) == found
        connection.execute(sa.text("DELETE FROM documents WHERE name = 'a2'"))
        assert kept(connection, ids["full"]) == recounted(connection, ids["full"])
        assert kept(connection, ids["full"]).chunks == 3
        connection.execute(sa.text("DELETE FROM documents"))
        assert kept(connection, ids["full"]) == NOTHING


def corpus_versions(engine: sa.Engine) -> dict[object, object]:
    with engine.begin() as connection:
        return {row[0]: row[1] for row in connection.execute(sa.text("SELECT id, corpus_version FROM workspaces"))}


def test_workspaces_that_are_there_follow_the_configuration(scratch: DatabaseUrls) -> None:
    bring_to(scratch.owner, "0003")
    ids = {name: uuid4() for name in ("user_id", "full", "empty")}
    everything = sa.create_engine(scratch.superuser, poolclass=sa.NullPool)
    with everything.begin() as connection:
        for statement in DATA.split(";\n"):
            connection.execute(sa.text(statement), {**ids, "model": MODEL})
        connection.execute(sa.text("UPDATE workspaces SET embedding_model = 'other' WHERE id = :full"), ids)
    assert upgrade(scratch.owner) == wanted_revision()
    with everything.begin() as connection:
        assert_security_is_forced(connection)
        assert set(connection.scalars(sa.text("SELECT embedder FROM workspaces"))) == {"default"}
    service = sa.create_engine(scratch.app, poolclass=sa.NullPool)
    find = "SELECT workspace_id FROM find_workspaces_of_other_models"
    with service.begin() as connection:
        # As the version before this one asks, whose workers may still run.
        assert connection.scalars(sa.text(f"{find}('local-model')")).all() == [ids["full"]]
        assert connection.scalars(sa.text(f"{find}('local-model', 'local')")).all() == []
    with everything.begin() as connection, pytest.raises(sa.exc.IntegrityError, match="workspaces_embedder_known"):
        connection.execute(sa.text("UPDATE workspaces SET embedder = 'openai:gone:3'"))
