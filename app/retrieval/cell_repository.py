"""Runs the statements about cells of vectors. Private to this package."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import ColumnElement, and_, delete, exists, func, or_, select, update
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncSession

from app.core.tenancy import WorkspaceScope
from app.db.models import ChunkEmbedding, VectorCell, VectorLayout
from app.db.session import in_workspace
from app.db.sql import load_sql
from app.db.vectors import vector_literal
from app.llm.types import Vectors

_QUERIES = "app.retrieval.queries"
_HEAD = 4
"""Bytes before the half floats of a `halfvec` on the wire: its dimension and a zero."""


@dataclass(frozen=True, slots=True)
class Layout:
    """What a workspace's vectors of one model are like at a moment.

    Attributes:
        vectors: How many there are, of old versions too.
        unplaced: How many of them are in no cell.
        cells: How many cells there are.
        outdated: How many of these are of an older generation than the newest.
        miscounted: How many have another size than they say.
        generation: The newest one; 0 when there are no cells.
        made_for: For how many vectors that one was made.
        breadth: A search looks at so many vectors times the square root of all.
        compare: Whether the last comparison with an exact scan is too long ago.
    """

    vectors: int
    unplaced: int
    cells: int
    outdated: int
    miscounted: int
    generation: int
    made_for: int
    breadth: float
    compare: bool


@dataclass(frozen=True, slots=True)
class Cells:
    """The cells of one generation.

    Attributes:
        ids: In ascending order; shape `(k,)`.
        centroids: Shape `(k, dimension)`.
    """

    ids: NDArray[np.int64]
    centroids: Vectors


async def read_layout(session: AsyncSession, scope: WorkspaceScope, model: str, compare_every: timedelta) -> Layout:
    """Count the vectors of a model and their cells."""
    parameters = {**_mine(scope, model), "compare_every": compare_every}
    row = (await session.execute(load_sql(_QUERIES, "vector_counts"), parameters)).one()
    generation, made_for, breadth = row.generation or 0, row.made_for or 0, row.breadth or 0.0
    return Layout(
        vectors=row.vectors,
        unplaced=row.unplaced,
        cells=row.cells,
        outdated=row.outdated,
        miscounted=row.miscounted,
        generation=generation,
        made_for=made_for,
        breadth=breadth,
        compare=row.compare,
    )


async def read_stretch(
    session: AsyncSession, scope: WorkspaceScope, model: str, *, after: UUID, until: UUID, limit: int
) -> tuple[Vectors, UUID | None]:
    """Return vectors with ids after one and up to another, in order, and the last of these ids; None for no vector."""
    query = (
        select(ChunkEmbedding.chunk_id, func.halfvec_send(ChunkEmbedding.embedding))
        .where(_of_model(scope, model), ChunkEmbedding.chunk_id > after, ChunkEmbedding.chunk_id <= until)
        .order_by(ChunkEmbedding.chunk_id)
        .limit(limit)
    )
    rows = (await session.execute(query)).all()
    return _vectors([row[1] for row in rows]), rows[-1][0] if rows else None


async def read_vectors(
    session: AsyncSession, scope: WorkspaceScope, model: str, ids: Sequence[UUID]
) -> tuple[list[UUID], Vectors]:
    """Return those of some vectors that are still there, in any order."""
    query = select(ChunkEmbedding.chunk_id, func.halfvec_send(ChunkEmbedding.embedding)).where(
        _of_model(scope, model), ChunkEmbedding.chunk_id.in_(ids)
    )
    rows = (await session.execute(query)).all()
    return [row[0] for row in rows], _vectors([row[1] for row in rows])


async def ids_to_place(
    session: AsyncSession, scope: WorkspaceScope, model: str, *, first_cell: int, limit: int
) -> list[UUID]:
    """Return vectors that are in no cell, or in an older one than the first of the newest generation."""
    elsewhere = or_(ChunkEmbedding.cell.is_(None), ChunkEmbedding.cell < first_cell)
    query = select(ChunkEmbedding.chunk_id).where(_of_model(scope, model), elsewhere).limit(limit)
    return list(await session.scalars(query))


async def ids_in_cells(session: AsyncSession, scope: WorkspaceScope, model: str, *, limit: int) -> list[UUID]:
    """Return vectors that are in some cell."""
    query = select(ChunkEmbedding.chunk_id).where(_of_model(scope, model), ChunkEmbedding.cell.is_not(None))
    return list(await session.scalars(query.limit(limit)))


async def begin_generation(
    session: AsyncSession, scope: WorkspaceScope, model: str, known: Layout, centroids: Vectors, *, breadth: float
) -> bool:
    """Store the cells of the generation after the known one; False, with nothing done, when another run was faster."""
    generation = known.generation + 1
    layout = upsert(VectorLayout).values(
        workspace_id=scope.workspace_id,
        model=model,
        generation=generation,
        made_for=known.vectors,
        breadth=breadth,
    )
    mine = await session.scalar(
        layout.on_conflict_do_update(
            index_elements=[VectorLayout.workspace_id, VectorLayout.model],
            set_={"generation": generation, "made_for": known.vectors, "recall": None, "compared_at": None},
            where=VectorLayout.generation == known.generation,
        ).returning(VectorLayout.generation)
    )
    if mine is None:
        return False
    given = {"generation": generation, "centroids": [vector_literal(centroid) for centroid in centroids]}
    await session.execute(load_sql(_QUERIES, "insert_cells"), {**_mine(scope, model), **given})
    return True


async def read_newest_cells(session: AsyncSession, scope: WorkspaceScope, model: str) -> Cells:
    """Return the cells of the newest generation, as they are stored."""
    newest = select(func.max(VectorCell.generation)).where(_cell_of(scope, model)).scalar_subquery()
    query = (
        select(VectorCell.id, func.halfvec_send(VectorCell.centroid))
        .where(_cell_of(scope, model), VectorCell.generation == newest)
        .order_by(VectorCell.id)
    )
    rows = (await session.execute(query)).all()
    return Cells(np.array([row[0] for row in rows], np.int64), _vectors([row[1] for row in rows]))


async def move_vectors(
    session: AsyncSession,
    scope: WorkspaceScope,
    model: str,
    ids: Sequence[UUID],
    cells: Sequence[int | None],
    *,
    first_cell: int = 0,
) -> int:
    """Move vectors to cells, or out of them for None, and keep the sizes; return how many could be moved at once.

    Args:
        session: The transaction; it waits for no lock.
        scope: The workspace.
        model: The model.
        ids: Some vectors.
        cells: For each the cell that it goes to.
        first_cell: The first of the newest generation: what is in such a cell stays there.
    """
    given = {"chunk_ids": list(ids), "cells": list(cells), "first_cell": first_cell}
    held = (await session.execute(load_sql(_QUERIES, "hold_vectors"), {**_mine(scope, model), **given})).all()
    if held:
        moves = {
            "chunk_ids": [row.chunk_id for row in held],
            "old_cells": [row.old_cell for row in held],
            "cells": [row.cell for row in held],
        }
        await session.execute(load_sql(_QUERIES, "move_vectors"), {**_mine(scope, model), **moves})
    return len(held)


async def recount_cells(session: AsyncSession, scope: WorkspaceScope, model: str) -> None:
    """Set the sizes of cells to what is in them, except of those that somebody changes at the moment."""
    # Held first: what is deleted by others and not committed yet is still counted, and taken off by them afterwards.
    held = list(
        await session.scalars(
            select(VectorCell.id).where(_cell_of(scope, model)).with_for_update(key_share=True, skip_locked=True)
        )
    )
    await session.execute(load_sql(_QUERIES, "recount_cells"), {**_mine(scope, model), "cells": held})


async def delete_empty_cells(
    session: AsyncSession, scope: WorkspaceScope, model: str, *, before_generation: int | None = None
) -> int:
    """Delete cells that hold nothing, of older generations only if one is given; return how many."""
    candidates = and_(_cell_of(scope, model), ~_holds_vectors(scope, model))
    if before_generation is not None:
        candidates = and_(candidates, VectorCell.generation < before_generation)
    # Held first: nothing can come into them any more when the second statement looks whether something has.
    held = list(await session.scalars(select(VectorCell.id).where(candidates).with_for_update(skip_locked=True)))
    gone = delete(VectorCell).where(_cell_of(scope, model), VectorCell.id.in_(held), ~_holds_vectors(scope, model))
    return len((await session.execute(gone.returning(VectorCell.id))).all()) if held else 0


async def delete_layout(session: AsyncSession, scope: WorkspaceScope, model: str) -> bool:
    """Forget a layout that has no cells any more; False while it has some."""
    cells = exists().where(in_workspace(VectorCell, scope), VectorCell.model == VectorLayout.model)
    mine = in_workspace(VectorLayout, scope), VectorLayout.model == model
    gone = await session.scalar(delete(VectorLayout).where(*mine, ~cells).returning(VectorLayout.model))
    return gone is not None


async def models_without_vectors(session: AsyncSession, scope: WorkspaceScope) -> list[str]:
    """Return the models that have a layout in the workspace, and no vector."""
    vectors = exists().where(in_workspace(ChunkEmbedding, scope), ChunkEmbedding.model == VectorLayout.model)
    return list(await session.scalars(select(VectorLayout.model).where(in_workspace(VectorLayout, scope), ~vectors)))


async def compare_nearest(
    session: AsyncSession, scope: WorkspaceScope, model: str, vector: Vectors, *, nearest: int, arm_limit: int
) -> tuple[int, int]:
    """Return how many passages are the nearest ones to a vector, and how many of them a search finds."""
    given: Mapping[str, object] = {"embedding": vector_literal(vector), "nearest": nearest, "arm_limit": arm_limit}
    row = (await session.execute(load_sql(_QUERIES, "compare_cells"), {**_mine(scope, model), **given})).one()
    return row.wanted, row.found


async def record_comparison(
    session: AsyncSession, scope: WorkspaceScope, model: str, *, generation: int, recall: float, breadth: float
) -> bool:
    """Note what a comparison has found and how many vectors to look at from now on; False for other cells meanwhile."""
    mine = in_workspace(VectorLayout, scope), VectorLayout.model == model, VectorLayout.generation == generation
    noted = await session.scalar(
        update(VectorLayout)
        .where(*mine)
        .values(recall=recall, breadth=breadth, compared_at=func.now())
        .returning(VectorLayout.model)
    )
    return noted is not None


def _mine(scope: WorkspaceScope, model: str) -> dict[str, object]:
    return {"workspace_id": scope.workspace_id, "model": model}


def _of_model(scope: WorkspaceScope, model: str) -> ColumnElement[bool]:
    return and_(in_workspace(ChunkEmbedding, scope), ChunkEmbedding.model == model)


def _cell_of(scope: WorkspaceScope, model: str) -> ColumnElement[bool]:
    return and_(in_workspace(VectorCell, scope), VectorCell.model == model)


def _holds_vectors(scope: WorkspaceScope, model: str) -> ColumnElement[bool]:
    return exists().where(_of_model(scope, model), ChunkEmbedding.cell == VectorCell.id).correlate(VectorCell)


def _vectors(sent: Sequence[bytes]) -> Vectors:
    """Return vectors as they come from `halfvec_send`: half floats in network order behind a head."""
    halves = [np.frombuffer(each, ">f2", offset=_HEAD) for each in sent]
    return np.array(halves, np.float32) if halves else np.empty((0, 0), np.float32)
