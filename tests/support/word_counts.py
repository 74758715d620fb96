"""What is counted of the words of a workspace, as triggers keep it and as it is counted from nothing."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

# By versions, not by what the triggers note of them.
_SEARCHED = sa.text("""
    SELECT w.length, w.words FROM chunk_words w
    WHERE w.workspace_id = :id AND w.content_sha256 IN (
        SELECT v.content_sha256 FROM documents d
        JOIN versions v ON v.workspace_id = :id AND v.id = d.current_version_id
        JOIN contents c ON c.workspace_id = :id AND c.sha256 = v.content_sha256
        WHERE d.workspace_id = :id)
""")
_KEPT_WORDS = sa.text("SELECT word, chunks FROM word_counts WHERE workspace_id = :id")
_KEPT_TOTALS = sa.text("SELECT searched_chunks, searched_words FROM workspaces WHERE id = :id")


@dataclass(frozen=True, slots=True)
class WordCounts:
    """The counts of one workspace.

    Attributes:
        chunks: How many chunks are searched.
        length: How many words these have.
        words: In how many of them each word stands.
    """

    chunks: int
    length: int
    words: Mapping[int, int]


NOTHING = WordCounts(0, 0, {})


def kept(connection: sa.Connection, workspace_id: UUID) -> WordCounts:
    """Return what the triggers have kept."""
    mine = {"id": workspace_id}
    chunks, length = connection.execute(_KEPT_TOTALS, mine).one()
    return WordCounts(chunks, length, {row.word: row.chunks for row in connection.execute(_KEPT_WORDS, mine)})


def recounted(connection: sa.Connection, workspace_id: UUID) -> WordCounts:
    """Return what is there."""
    rows = connection.execute(_SEARCHED, {"id": workspace_id}).all()
    words = Counter(word for row in rows for word in row.words)
    return WordCounts(len(rows), sum(row.length for row in rows), dict(words))


async def counted(session: AsyncSession, workspace_id: UUID) -> WordCounts:
    """Return the counts of a workspace, which must be those of a recount."""
    connection = await session.connection()
    found = await connection.run_sync(kept, workspace_id)
    assert found == await connection.run_sync(recounted, workspace_id)
    return found
