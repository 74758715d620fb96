"""Reads what stands beside found passages, for answerers that read more than a sentence."""

from collections.abc import Sequence

from app.core.tenancy import WorkspaceScope
from app.db.session import Database
from app.retrieval import repository
from app.retrieval.types import Passage


async def read_neighbours(
    database: Database, scope: WorkspaceScope, passages: Sequence[Passage]
) -> tuple[Passage, ...]:
    """Return the chunks before and after some passages, as far as this reader can search them now."""
    if not passages:
        return ()
    async with database.workspace(scope) as session:
        return await repository.find_neighbours(session, scope, passages)
