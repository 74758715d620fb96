"""Lays the vectors of a large workspace out in cells of near ones, so that a search looks at a small part of them.

This is the inverted file of Jégou, Douze and Schmid (2011, "Product quantization for nearest neighbor search") with
whole vectors, over cells that spherical k-means makes. It is kept in plain tables, for each workspace and model apart:
an index over all of them would lose rows under filters and let one workspace change what another finds.

At every moment every vector is found: it is in one cell or in none, and a search looks at old and new cells alike and
at all vectors in none. So a run can be stopped anywhere, and the next one ends its work.
"""

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

import numpy as np
import structlog
from numpy.typing import NDArray

from app.core.tenancy import WorkspaceScope
from app.db.session import Database
from app.jobs.turns import OthersWait, nobody_waits
from app.llm.types import Vectors
from app.retrieval import cell_repository, repository
from app.retrieval.cell_repository import Cells, Layout
from app.retrieval.clustering import centroids_of, nearest
from app.retrieval.fusion import FusionSettings

log = structlog.get_logger(__name__)

_FIRST, _LAST = UUID(int=0), UUID(int=2**128 - 1)


@dataclass(frozen=True, slots=True)
class CellSettings:
    """When vectors are laid out in cells, in which, and how a search through them is checked.

    The numbers were measured with 10,000 and 100,000 generated vectors of 384 dimensions (docs/decisions/0020).

    Attributes:
        least_vectors: From so many on a workspace has cells: below, an exact scan costs less. It loses them again
            below half of that, so that it does not go to and fro.
        cells_a_root: Cells, as a multiple of the square root of the vectors.
        sample_a_cell: Vectors that k-means looks at for each cell, at most.
        sample_values: Numbers that the sample of a workspace has, at most: it is all in memory, 4 bytes each.
        growth: Cells are made anew when there are so many times as many vectors as they were made for.
        shrinkage: The same when there are so many times fewer.
        unplaced_least: So many vectors may always be in no cell.
        unplaced_share: Beyond that, what is in no cell may be such a part of what a search looks at.
        breadth: What a search looks at, as a multiple of the square root of all vectors.
        most_breadth: The most that a comparison may raise this to.
        raise_below: The recall below which more is looked at.
        lower_above: The recall above which less is.
        compare_every: How long a comparison with an exact scan holds.
        noise: How far from a passage a question of the comparison is.
        read_at_once: Vectors in memory while cells are found for them.
        moved_at_once: Vectors that one transaction moves.
        window: Vectors that are put in the order of their cells before they move; between two such, others may come.
    """

    least_vectors: int = 5_000
    cells_a_root: float = 3.0
    sample_a_cell: int = 32
    sample_values: int = 1 << 25
    growth: float = 2.0
    shrinkage: float = 4.0
    unplaced_least: int = 500
    unplaced_share: float = 0.25
    breadth: float = 12.0
    most_breadth: float = 96.0
    raise_below: float = 0.97
    lower_above: float = 0.995
    compare_every: timedelta = timedelta(days=1)
    noise: float = 0.9
    read_at_once: int = 2_000
    moved_at_once: int = 500
    window: int = 50_000

    def due(self) -> Mapping[str, object]:
        """Return what the search for workspaces with something to do is given; it decides as `maintain` does."""
        return {
            "fewest": self.least_vectors,
            "growth": self.growth,
            "shrinkage": self.shrinkage,
            "unplaced_least": self.unplaced_least,
            "unplaced_breadth": self.unplaced_share * self.breadth,
            "compare_every": self.compare_every,
        }


@dataclass(frozen=True, slots=True)
class Maintenance:
    """What one run did.

    Attributes:
        made: Cells of a new generation; 0 when the present one fits.
        moved: Vectors that went to another cell, or out of cells.
        removed: Empty cells that went.
        finished: Whether nothing was left to others that waited.
    """

    made: int = 0
    moved: int = 0
    removed: int = 0
    finished: bool = True


@dataclass(frozen=True, slots=True)
class Comparison:
    """How much of what an exact scan finds a search through cells found, from 0 to 1, and the breadth from now on."""

    recall: float
    breadth: float


class VectorCells:
    """Makes, fills, checks and removes the cells of workspaces; one run at a time for each, though two do no harm.

    Args:
        database: Where the vectors are.
        settings: All numbers.
        seed: Chooses samples and where k-means begins; comparisons draw new questions each time without it.
    """

    def __init__(self, database: Database, settings: CellSettings | None = None, seed: int | None = None) -> None:
        self._database = database
        self.settings = settings or CellSettings()
        self._arm_limit = FusionSettings().arm_limit
        self._draw = np.random.default_rng(seed)

    async def arrange(self, scope: WorkspaceScope, others_wait: OthersWait = nobody_waits) -> bool:
        """Do all that is due for the model that a workspace is searched by; False when work was left to others.

        Raises:
            UnavailableError: The database is out of reach.
        """
        async with self._database.workspace(scope) as session:
            model = (await repository.read_embedding_state(session, scope)).serving
        if not model:
            return True
        done = await self.maintain(scope, model, others_wait)
        if not done.finished:
            return False
        if (await self._layout(scope, model)).compare:
            await self.compare(scope, model)
        return True

    async def maintain(self, scope: WorkspaceScope, model: str, others_wait: OthersWait = nobody_waits) -> Maintenance:
        """Make cells that fit the number of vectors, and put vectors into them; doing it again does nothing.

        Args:
            scope: The workspace.
            model: The model that made the vectors.
            others_wait: Asked now and then whether to leave the rest to a later run.

        Raises:
            UnavailableError: The database is out of reach.
        """
        layout = await self._layout(scope, model)
        if layout.miscounted:
            await self._recount(scope, model, layout)
        if layout.vectors < self.settings.least_vectors / 2:
            return await self._dissolve(scope, model, layout, others_wait)
        made = await self._make(scope, model, layout) if self._misfits(layout) else 0
        if made:
            layout = await self._layout(scope, model)
        if not made and not layout.outdated and not self._too_many_unplaced(layout):
            return Maintenance()
        moved, finished = await self._place_all(scope, model, others_wait)
        async with self._database.workspace(scope) as session:
            removed = await cell_repository.delete_empty_cells(
                session, scope, model, before_generation=layout.generation
            )
        log.info(
            "retrieval.vectors_placed",
            workspace_id=str(scope.workspace_id),
            moved=moved,
            cells_removed=removed,
            finished=finished,
        )
        return Maintenance(made, moved, removed, finished)

    async def compare(self, scope: WorkspaceScope, model: str, questions: int = 50) -> Comparison | None:
        """Measure what a search through cells finds, by some questions, and look at more or less from then on.

        Questions lie as far from random passages as those of people do.

        Returns:
            None when the workspace has no cells, or other ones meanwhile.

        Raises:
            UnavailableError: The database is out of reach.
        """
        layout = await self._layout(scope, model)
        if not layout.generation:
            return None
        wanted = found = 0
        for vector in await self._questions(scope, model, questions):
            async with self._database.workspace(scope) as session:
                both = await cell_repository.compare_nearest(
                    session, scope, model, vector, nearest=10, arm_limit=self._arm_limit
                )
            wanted, found = wanted + both[0], found + both[1]
        recall = found / wanted if wanted else 1.0
        breadth = self._adapted(layout.breadth, recall)
        async with self._database.workspace(scope) as session:
            noted = await cell_repository.record_comparison(
                session, scope, model, generation=layout.generation, recall=recall, breadth=breadth
            )
        if not noted:
            return None
        tell = log.warning if recall < self.settings.raise_below else log.info
        tell(
            "retrieval.cells_compared",
            workspace_id=str(scope.workspace_id),
            recall=round(recall, 4),
            breadth=round(breadth, 2),
        )
        return Comparison(recall, breadth)

    async def remove_unused(self, scope: WorkspaceScope) -> int:
        """Remove the cells of models of which the workspace has no vector any more; return how many."""
        async with self._database.workspace(scope) as session:
            models = await cell_repository.models_without_vectors(session, scope)
        return sum([await self._remove_all(scope, model) for model in models])

    async def _layout(self, scope: WorkspaceScope, model: str) -> Layout:
        async with self._database.workspace(scope) as session:
            return await cell_repository.read_layout(session, scope, model, self.settings.compare_every)

    async def _recount(self, scope: WorkspaceScope, model: str, layout: Layout) -> None:
        """Set sizes right that rows were changed past the triggers of."""
        async with self._database.workspace(scope) as session:
            await cell_repository.recount_cells(session, scope, model)
        log.warning("retrieval.cells_recounted", workspace_id=str(scope.workspace_id), cells=layout.miscounted)

    def _misfits(self, layout: Layout) -> bool:
        if not layout.generation:
            return layout.vectors >= self.settings.least_vectors
        return not layout.made_for / self.settings.shrinkage <= layout.vectors <= layout.made_for * self.settings.growth

    def _too_many_unplaced(self, layout: Layout) -> bool:
        looked_at = self.settings.breadth * math.sqrt(layout.vectors)
        return layout.cells > 0 and layout.unplaced > max(
            self.settings.unplaced_least, self.settings.unplaced_share * looked_at
        )

    def _adapted(self, breadth: float, recall: float) -> float:
        if recall < self.settings.raise_below:
            return min(breadth * 1.5, self.settings.most_breadth)
        if recall > self.settings.lower_above:
            return max(breadth / 1.25, self.settings.breadth)
        return breadth

    async def _make(self, scope: WorkspaceScope, model: str, layout: Layout) -> int:
        """Make a generation of cells with nothing in them; return how many there are, 0 if another run was faster."""
        count = round(self.settings.cells_a_root * math.sqrt(layout.vectors))
        sample = await self._sample(scope, model, count * self.settings.sample_a_cell)
        if not len(sample):
            return 0
        seed = int(self._draw.integers(2**32))
        centroids = await asyncio.to_thread(centroids_of, sample, count, seed)
        async with self._database.workspace(scope) as session:
            mine = await cell_repository.begin_generation(
                session, scope, model, layout, centroids, breadth=self.settings.breadth
            )
        if not mine:
            return 0
        log.info(
            "retrieval.cells_made",
            workspace_id=str(scope.workspace_id),
            vectors=layout.vectors,
            cells=len(centroids),
            generation=layout.generation + 1,
        )
        return len(centroids)

    async def _sample(self, scope: WorkspaceScope, model: str, wanted: int) -> Vectors:
        """Read so many random vectors, all if there are fewer, as far as the memory for them allows.

        Ids are hashes: those that follow a random id, and then the first ones of all, are as random as any.
        """
        begin = UUID(bytes=self._draw.bytes(16))
        parts = await self._stretch(scope, model, begin, _LAST, wanted)
        parts += await self._stretch(scope, model, _FIRST, begin, wanted - sum(map(len, parts)))
        if not parts:
            return np.empty((0, 0), np.float32)
        return np.concatenate(parts)[: self._most_sampled(parts[0])]

    async def _stretch(self, scope: WorkspaceScope, model: str, after: UUID, until: UUID, wanted: int) -> list[Vectors]:
        parts: list[Vectors] = []
        while wanted > 0:
            async with self._database.workspace(scope) as session:
                vectors, end = await cell_repository.read_stretch(
                    session, scope, model, after=after, until=until, limit=min(wanted, self.settings.read_at_once)
                )
            if end is None:
                break
            if not parts:
                wanted = min(wanted, self._most_sampled(vectors))
            parts.append(vectors)
            wanted, after = wanted - len(vectors), end
        return parts

    def _most_sampled(self, vectors: Vectors) -> int:
        dimension: int = vectors.shape[1]
        return self.settings.sample_values // dimension

    async def _questions(self, scope: WorkspaceScope, model: str, count: int) -> Vectors:
        vectors = await self._sample(scope, model, count)
        noise = self._draw.standard_normal(vectors.shape, np.float32)
        noise /= np.linalg.norm(noise, axis=1, keepdims=True)
        asked: Vectors = vectors + np.float32(self.settings.noise) * noise
        asked /= np.linalg.norm(asked, axis=1, keepdims=True)
        return asked

    async def _place_all(self, scope: WorkspaceScope, model: str, others_wait: OthersWait) -> tuple[int, bool]:
        """Move what is in no cell, or in an older one, to the newest cells; return how many, and whether to the end.

        What somebody else holds at the moment stays for the next run.
        """
        async with self._database.workspace(scope) as session:
            cells = await cell_repository.read_newest_cells(session, scope, model)
        if not len(cells.ids):
            return 0, True  # another run has dissolved them
        first, window, moved = int(cells.ids[0]), self.settings.window, 0
        while True:
            async with self._database.workspace(scope) as session:
                ids = await cell_repository.ids_to_place(session, scope, model, first_cell=first, limit=window)
            just_moved = await self._place(scope, model, cells, ids)
            moved += just_moved
            if len(ids) < window or not just_moved:
                return moved, True
            if await others_wait():
                return moved, False

    async def _place(self, scope: WorkspaceScope, model: str, cells: Cells, ids: Sequence[UUID]) -> int:
        """Move vectors to the nearest of some cells, cell by cell: those of one then lie together on the disk."""
        found: list[UUID] = []
        labels = np.empty(0, np.int64)
        for start in range(0, len(ids), self.settings.read_at_once):
            async with self._database.workspace(scope) as session:
                there, vectors = await cell_repository.read_vectors(
                    session, scope, model, ids[start : start + self.settings.read_at_once]
                )
            if there:
                found += there
                labels = np.concatenate([labels, await asyncio.to_thread(nearest, vectors, cells.centroids)])
        order = np.argsort(labels, kind="stable")
        targets: NDArray[np.int64] = cells.ids[labels[order]]
        return await self._move(
            scope, model, [found[place] for place in order.tolist()], targets.tolist(), first_cell=int(cells.ids[0])
        )

    async def _move(
        self,
        scope: WorkspaceScope,
        model: str,
        ids: Sequence[UUID],
        cells: Sequence[int | None],
        *,
        first_cell: int = 0,
    ) -> int:
        moved = 0
        for start in range(0, len(ids), self.settings.moved_at_once):
            batch = slice(start, start + self.settings.moved_at_once)
            async with self._database.workspace(scope) as session:
                moved += await cell_repository.move_vectors(
                    session, scope, model, ids[batch], cells[batch], first_cell=first_cell
                )
        return moved

    async def _dissolve(
        self,
        scope: WorkspaceScope,
        model: str,
        layout: Layout,
        others_wait: OthersWait,
    ) -> Maintenance:
        """Take all vectors out of their cells and remove these: a small workspace is scanned faster than searched."""
        if not layout.generation:
            return Maintenance()
        moved = 0
        while True:
            async with self._database.workspace(scope) as session:
                ids = await cell_repository.ids_in_cells(session, scope, model, limit=self.settings.window)
            just_moved = await self._move(scope, model, ids, [None] * len(ids))
            moved += just_moved
            if len(ids) < self.settings.window or not just_moved:
                break
            if await others_wait():
                return Maintenance(moved=moved, finished=False)
        removed = await self._remove_all(scope, model)
        log.info("retrieval.cells_dissolved", workspace_id=str(scope.workspace_id), moved=moved, cells_removed=removed)
        return Maintenance(moved=moved, removed=removed)

    async def _remove_all(self, scope: WorkspaceScope, model: str) -> int:
        """Remove all cells that hold nothing, and then the layout if none are left."""
        async with self._database.workspace(scope) as session:
            removed = await cell_repository.delete_empty_cells(session, scope, model)
            await cell_repository.delete_layout(session, scope, model)
        return removed
