"""Runs the statements of retrieval. Private to this package."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, select, text
from sqlalchemy.ext.asyncio import AsyncSession

from app.core.ids import ChunkId
from app.core.tenancy import WorkspaceScope
from app.db.models import Workspace
from app.db.sql import load_sql
from app.db.vectors import vector_literal
from app.llm.embedders import EmbedderChoice, EmbeddingState
from app.llm.types import Vectors
from app.retrieval.fusion import FusionSettings
from app.retrieval.types import ArmRanks, CorpusState, PageStart, Passage

_QUERIES = "app.retrieval.queries"
_LONGEST_PREFIX = 16
# For this transaction: the statement is long, and to plan it anew for each question takes longer than to run it.
_ONE_PLAN = text("SET LOCAL plan_cache_mode = force_generic_plan")


@dataclass(frozen=True, slots=True)
class HybridQuery:
    """A question in the forms that the three arms read.

    Attributes:
        words: Its text as the words of chunks were taken from theirs.
        identifiers: Every form of every identifier.
        vector: Its unit vector, made by the model; shape `(dimension,)`. None when that model may not see the question:
            it is looked for by its words and identifiers alone.
        model: The model that all searched passages have vectors of.
    """

    words: str
    identifiers: Sequence[str]
    vector: Vectors | None
    model: str


async def find_passages(
    session: AsyncSession, scope: WorkspaceScope, query: HybridQuery, settings: FusionSettings, limit: int
) -> tuple[Passage, ...]:
    """Return the best passages, best first."""
    await session.execute(_ONE_PLAN)
    rows = await session.execute(
        load_sql(_QUERIES, "hybrid"),
        {
            **_reader(scope),
            **settings.parameters(),
            "question": query.words,
            **_identifiers(query.identifiers),
            "embedding": None if query.vector is None else vector_literal(query.vector),
            "model": query.model,
            "result_limit": limit,
        },
    )
    return tuple(_found(row) for row in rows)


async def absent_identifiers(
    session: AsyncSession, scope: WorkspaceScope, identifiers: Sequence[str], settings: FusionSettings
) -> tuple[str, ...]:
    """Return those identifiers, of each its first form, that no document of this reader holds in any form."""
    if not identifiers:
        return ()
    asked = {**_identifiers(identifiers), "max_identifiers": settings.max_identifiers}
    found = await session.scalars(load_sql(_QUERIES, "absent"), {**_reader(scope), **asked})
    return tuple(identifiers[number] for number in found)


async def find_chunk(session: AsyncSession, scope: WorkspaceScope, chunk_id: ChunkId) -> Passage | None:
    """Return one chunk that this user may read through any version, or None."""
    rows = await session.execute(load_sql(_QUERIES, "chunk"), {**_reader(scope), "chunk_id": chunk_id})
    row = rows.one_or_none()
    return _passage(row) if row else None


async def find_neighbours(
    session: AsyncSession, scope: WorkspaceScope, passages: Sequence[Passage]
) -> tuple[Passage, ...]:
    """Return the chunks before and after some passages, in the order of their texts, that this user can search now."""
    places = {
        "contents": [passage.content_sha256 for passage in passages],
        "ordinals": [passage.ordinal for passage in passages],
    }
    rows = await session.execute(load_sql(_QUERIES, "neighbours"), {**_reader(scope), **places})
    return tuple(_passage(row) for row in rows)


async def read_corpus_state(session: AsyncSession, scope: WorkspaceScope) -> CorpusState:
    """Return what this user can search now."""
    row = (await session.execute(load_sql(_QUERIES, "corpus_state"), _reader(scope))).one()
    return CorpusState(row.documents_readable, row.documents_ready, row.documents_in_progress, row.corpus_version)


async def read_embedding_state(session: AsyncSession, scope: WorkspaceScope) -> EmbeddingState:
    """Return the embedder that the workspace wishes for, and the model that serves; none when it is gone."""
    query = select(Workspace.embedder, Workspace.embedding_model).where(Workspace.id == scope.workspace_id)
    row = (await session.execute(query)).one_or_none()
    return EmbeddingState(EmbedderChoice(row[0]), row[1]) if row else EmbeddingState(EmbedderChoice.DEFAULT, "")


def _reader(scope: WorkspaceScope) -> dict[str, object]:
    return {"workspace_id": scope.workspace_id, "user_id": scope.user_id}


def _identifiers(identifiers: Sequence[str]) -> dict[str, object]:
    return {"identifiers": list(identifiers), "identifier_numbers": _numbers(identifiers)}


def _numbers(identifiers: Sequence[str]) -> list[int]:
    """Number identifiers so that the forms of one share a number: "rfc4960" is "4960" with its prefix."""
    known: dict[str, int] = {}
    numbers: list[int] = []
    for at, form in enumerate(identifiers):
        bare = min((known[rest] for rest in _without_prefix(form) if rest in known), default=at)
        known.setdefault(form, at)
        numbers.append(bare)
    return numbers


def _without_prefix(form: str) -> Iterator[str]:
    """Yield what is left of an identifier without its first letters, for each number of them."""
    for length, character in enumerate(form[:_LONGEST_PREFIX], start=1):
        if not character.isalpha():
            return
        yield form[length:]


def _passage(row: Row[Any], score: float = 0.0, arms: ArmRanks | None = None, similarity: float = 0.0) -> Passage:
    return Passage(
        chunk_id=row.chunk_id,
        document_id=row.document_id,
        document_name=row.document_name,
        version_id=row.version_id,
        content_sha256=row.content_sha256,
        ordinal=row.ordinal,
        page_start=row.page_start,
        page_end=row.page_end,
        start=row.start_offset,
        end=row.end_offset,
        text=row.text,
        heading=row.heading,
        pages=tuple(PageStart(row.page_start + n, offset) for n, offset in enumerate(row.page_offsets)),
        token_count=row.token_count,
        score=score,
        arms=arms or ArmRanks(),
        similarity=similarity,
    )


def _found(row: Row[Any]) -> Passage:
    arms = ArmRanks(row.identifier_rank, row.keyword_rank, row.vector_rank)
    return _passage(row, float(row.score), arms, float(row.similarity or 0.0))
