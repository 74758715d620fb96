"""What is loaded past the triggers is what the product would have stored for the same texts."""

import psycopg
import pytest

from app.core.identifiers import extract_identifiers
from bench.loading import Loader, miscounted
from bench.synthetic import DIMENSION, Library, tenant
from tests.support.databases import DatabaseUrls

TENANT = tenant("loaded", 60, 9, restricted=True)
CHECKED = """
    SELECT count(*) FROM chunks c
    JOIN chunk_words w ON w.workspace_id = c.workspace_id AND w.chunk_id = c.id AND w.content_sha256 = c.content_sha256
    JOIN chunk_embeddings e ON e.workspace_id = c.workspace_id AND e.chunk_id = c.id
        AND e.content_sha256 = c.content_sha256
    CROSS JOIN LATERAL words_of(
        c.workspace_id, 'english', c.heading || E'\n' || c.text, c.text,
        ARRAY(SELECT f.form FROM unnest(%(forms)s::text[], %(chunks)s::uuid[]) AS f (form, chunk) WHERE f.chunk = c.id)
    ) AS made
    CROSS JOIN LATERAL (
        SELECT jsonb_object_agg(t.word, t.count) AS stored FROM unnest(w.words, w.counts) AS t (word, count)
    ) AS s
    CROSS JOIN LATERAL (
        SELECT jsonb_object_agg(t.word, t.count) AS wanted FROM unnest(made.words, made.counts) AS t (word, count)
    ) AS m
    WHERE c.workspace_id = %(workspace)s AND w.length = made.length AND s.stored = m.wanted
      AND vector_dims(e.embedding) = %(dimension)s AND abs(l2_norm(e.embedding) - 1) < 0.001
"""


@pytest.fixture(scope="module")
def loaded(database_urls: DatabaseUrls, superuser_url: str) -> str:
    Loader(superuser_url, Library()).load([TENANT])
    return superuser_url


def test_words_identifiers_and_vectors_are_those_of_the_texts(loaded: str) -> None:
    with psycopg.connect(loaded) as connection:
        texts = connection.execute(
            "SELECT id, heading, text FROM chunks WHERE workspace_id = %s", [TENANT.workspace_id]
        ).fetchall()
        forms = [(chunk, form) for chunk, heading, text in texts for form in extract_identifiers(f"{heading}\n{text}")]
        assert len(forms) > TENANT.chunks
        row = connection.execute(
            CHECKED,
            {
                "workspace": TENANT.workspace_id,
                "dimension": DIMENSION,
                "chunks": [chunk for chunk, _ in forms],
                "forms": [form for _, form in forms],
            },
        ).fetchone()
        assert row == (TENANT.chunks,)


def test_counts_are_those_that_the_triggers_set(loaded: str) -> None:
    assert miscounted(loaded, TENANT) == 0
    with psycopg.connect(loaded) as connection:
        connection.execute("UPDATE word_counts SET chunks = chunks + 1 WHERE workspace_id = %s", [TENANT.workspace_id])
    assert miscounted(loaded, TENANT) > 0
    assert miscounted(loaded, TENANT) == 0


def test_foreign_keys_hold_although_they_were_passed_by(loaded: str) -> None:
    with psycopg.connect(loaded) as connection:
        connection.execute("DELETE FROM documents WHERE workspace_id = %s", [TENANT.workspace_id])
        connection.execute("DELETE FROM workspaces WHERE id = %s", [TENANT.workspace_id])
        left = connection.execute("SELECT count(*) FROM chunk_words WHERE workspace_id = %s", [TENANT.workspace_id])
        assert left.fetchone() == (0,)
