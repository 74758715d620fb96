"""Vectors of large workspaces get cells by themselves: the sweep finds what is due, and a job does it."""

from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta

import procrastinate
import psycopg
import pytest
import sqlalchemy as sa

from app.bootstrap import Services
from app.core.tenancy import Role, WorkspaceScope
from app.db.models import ChunkEmbedding, VectorCell, VectorLayout
from app.ingestion.reembedding import ReembeddingService
from app.jobs import dead_letters
from app.jobs.dead_letters import LetterStatus
from app.jobs.payloads import ReembedPayload
from app.jobs.turns import OthersWait, nobody_waits
from app.llm.embedders import Embedders
from app.retrieval.cells import CellSettings, Maintenance, VectorCells
from app.worker.sweep import sweep
from app.worker.timing import WorkerTiming
from bench.embedder import HashEmbedder
from bench.loading import Loader
from bench.synthetic import MODEL, Library, Tenant as Generated, tenant
from tests.support.documents import Shelf
from tests.support.queues import know_tasks

SETTINGS = CellSettings(least_vectors=300, unplaced_least=40, unplaced_share=0.1, breadth=12.0)
LIBRARY = Library()
CHUNKS = 400


@pytest.fixture
async def queue(services: Services) -> AsyncIterator[procrastinate.App]:
    async with services.queue_app.open_async() as app:
        yield app


@pytest.fixture
def arranging(services: Services) -> Services:
    """Services whose model is that of the generated vectors, and to which a few hundred of them are many."""
    cells = VectorCells(services.database, SETTINGS, seed=1)
    return replace(services, cells=cells, embedders=Embedders(HashEmbedder()))


@pytest.fixture
def large(superuser_url: str, empty_queue: None) -> Iterator[Generated]:
    made = tenant("arranged", CHUNKS, 61)
    Loader(superuser_url, LIBRARY).load([made])
    yield made
    with psycopg.connect(superuser_url) as connection:
        connection.execute("DELETE FROM workspaces WHERE id = %s", [made.workspace_id])
        connection.execute("DELETE FROM users WHERE id = ANY(%s)", [[made.owner, made.guest]])


async def due(services: Services, of: Generated) -> int:
    """Return how often the sweep's look finds a workspace."""
    found = sa.text(
        "SELECT count(*) FROM find_workspaces_to_arrange("
        ":fewest, :growth, :shrinkage, :unplaced_least, :unplaced_breadth, :compare_every) WHERE workspace_id = :id"
    )
    async with services.database.identity() as session:
        return await session.scalar(found, {**services.cells.settings.due(), "id": of.workspace_id}) or 0


async def change(services: Services, of: Generated, **values: object) -> None:
    async with services.database.workspace(of.scope(of.owner)) as session:
        await session.execute(sa.update(VectorLayout).values(**values))


async def take_out(services: Services, of: Generated, count: int) -> None:
    """Put some vectors into no cell, with the sizes."""
    async with services.database.workspace(of.scope(of.owner)) as session:
        placed = ChunkEmbedding.cell.is_not(None)
        ids = list(await session.scalars(sa.select(ChunkEmbedding.chunk_id).where(placed).limit(count)))
        some = ChunkEmbedding.chunk_id.in_(ids)
        counts = (
            await session.execute(
                sa.select(ChunkEmbedding.cell, sa.func.count()).where(some).group_by(ChunkEmbedding.cell)
            )
        ).all()
        for cell, gone in counts:
            mine = sa.update(VectorCell).where(VectorCell.id == cell)
            await session.execute(mine.values(size=VectorCell.size - gone))
        await session.execute(sa.update(ChunkEmbedding).where(some).values(cell=None))


async def cells_of(services: Services, of: Generated) -> tuple[int, int]:
    """Return how many cells a workspace has, and how many vectors are in none."""
    async with services.database.workspace(of.scope(of.owner)) as session:
        cells = await session.scalar(sa.select(sa.func.count()).select_from(VectorCell))
        unplaced = sa.select(sa.func.count()).where(ChunkEmbedding.cell.is_(None))
        return cells or 0, await session.scalar(unplaced) or 0


async def run_all(services: Services, app: procrastinate.App) -> None:
    know_tasks(app)
    context = {"services": services, "timing": WorkerTiming()}
    await app.run_worker_async(
        wait=False, delete_jobs="successful", additional_context=context, install_signal_handlers=False
    )


async def jobs_of(shelf: Shelf, of: Generated) -> Sequence[str]:
    return [job["task_name"] for job in await shelf.jobs(of.scope(of.owner))]


async def test_a_large_workspace_is_found_arranged_and_left_alone_until_it_changes(
    shelf: Shelf, arranging: Services, queue: procrastinate.App, large: Generated
) -> None:
    assert await due(arranging, large) == 1
    for _ in range(2):
        await sweep(arranging, queue, WorkerTiming())
        assert await jobs_of(shelf, large) == ["arrange_vectors"]
    await run_all(arranging, queue)
    cells, unplaced = await cells_of(arranging, large)
    assert 40 < cells <= 60
    assert unplaced == 0
    assert await due(arranging, large) == 0
    await sweep(arranging, queue, WorkerTiming())
    assert await jobs_of(shelf, large) == []
    # Each reason to look at it again, and that it is none any more afterwards.
    await take_out(arranging, large, SETTINGS.unplaced_least)
    assert await due(arranging, large) == 0
    await take_out(arranging, large, 1)
    await assert_done(arranging, large)
    assert (await cells_of(arranging, large))[1] == 0
    await change(arranging, large, compared_at=sa.func.now() - timedelta(hours=25))
    await assert_done(arranging, large)
    for made_for in (CHUNKS // 2 - 1, CHUNKS * 4 + 4):
        await change(arranging, large, made_for=made_for)
        await assert_done(arranging, large)
    for made_for in (CHUNKS // 2, CHUNKS * 4):
        await change(arranging, large, made_for=made_for)
        assert await due(arranging, large) == 0
    dissolving = replace(arranging, cells=VectorCells(arranging.database, replace(SETTINGS, least_vectors=801)))
    await assert_done(dissolving, large)
    assert await cells_of(arranging, large) == (0, CHUNKS)


async def assert_done(services: Services, of: Generated) -> None:
    assert await due(services, of) == 1
    assert await services.cells.arrange(of.scope(of.owner))
    assert await due(services, of) == 0


async def test_a_run_that_died_is_found_again(arranging: Services, large: Generated) -> None:
    await arranging.cells.arrange(large.scope(large.owner))
    async with arranging.database.workspace(large.scope(large.owner)) as session:
        await session.execute(sa.update(VectorLayout).values(generation=VectorLayout.generation + 1))
        newer = sa.text(
            "INSERT INTO vector_cells (workspace_id, model, generation, centroid) SELECT workspace_id, model, "
            "generation + 1, centroid FROM vector_cells WHERE workspace_id = :id"
        )
        await session.execute(newer, {"id": large.workspace_id})
    await assert_done(arranging, large)


async def test_a_small_workspace_is_not_found(services: Services, large: Generated) -> None:
    assert services.cells.settings.least_vectors > CHUNKS
    assert await due(services, large) == 0


async def test_a_workspace_whose_arranging_was_given_up_waits_for_its_owner(
    shelf: Shelf, arranging: Services, queue: procrastinate.App, large: Generated
) -> None:
    scope = large.scope(large.owner)
    payload = {"workspace_id": str(large.workspace_id), "user_id": str(large.owner)}
    async with arranging.database.workspace(scope) as session:
        await dead_letters.bury(
            session,
            scope,
            task="arrange_vectors",
            payload=payload,
            content_sha256=None,
            reason="worker_lost",
            detail="It was given up.",
            attempts=10,
        )
    await sweep(arranging, queue, WorkerTiming())
    assert await jobs_of(shelf, large) == []
    owner = replace(scope, role=Role.OWNER)
    (letter,) = await arranging.dead_letters.page_of(owner, status=LetterStatus.OPEN, limit=10, before=None)
    await arranging.dead_letters.requeue(owner, letter.id)
    assert await jobs_of(shelf, large) == ["arrange_vectors"]


async def test_what_fails_is_tried_again_later(
    shelf: Shelf, arranging: Services, queue: procrastinate.App, large: Generated, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> bool:
        raise RuntimeError("no")

    await sweep(arranging, queue, WorkerTiming())
    monkeypatch.setattr(arranging.cells, "maintain", fail)
    await run_all(arranging, queue)
    (job,) = await shelf.jobs(large.scope(large.owner))
    assert (job["task_name"], job["status"]) == ("arrange_vectors", "todo")
    assert timedelta(minutes=4) < job["waits"] <= timedelta(minutes=5)


async def test_work_that_gave_way_to_others_goes_on(
    shelf: Shelf, arranging: Services, queue: procrastinate.App, large: Generated
) -> None:
    windows = replace(SETTINGS, window=100)
    runs = 0

    class GivesWay(VectorCells):
        async def maintain(
            self, scope: WorkspaceScope, model: str, others_wait: OthersWait = nobody_waits
        ) -> Maintenance:
            nonlocal runs
            runs += 1
            assert not await others_wait()
            return await super().maintain(scope, model, always)

    await sweep(arranging, queue, WorkerTiming())
    await run_all(replace(arranging, cells=GivesWay(arranging.database, windows)), queue)
    assert runs == CHUNKS // 100 + 1
    assert (await cells_of(arranging, large))[1] == 0
    assert await due(arranging, large) == 0


async def always() -> bool:
    return True


async def test_a_change_of_models_asks_for_cells_and_removes_those_of_the_old_vectors(
    shelf: Shelf, arranging: Services, queue: procrastinate.App, large: Generated
) -> None:
    scope = large.scope(large.owner)
    await arranging.cells.arrange(scope)
    moving = replace(arranging, reembedding=ReembeddingService(arranging.database, Embedders(HashEmbedder(), Other())))
    async with arranging.database.workspace(scope) as session:
        await arranging.queue.reembed(session, ReembedPayload(workspace_id=large.workspace_id, user_id=large.owner))
    await run_all(moving, queue)
    assert await jobs_of(shelf, large) == ["remove_old_vectors"], "which waits a while for questions under way"
    assert await models_with_cells(arranging, large) == {MODEL, Other.model_id}
    async with arranging.database.workspace(scope) as session:
        await session.execute(sa.text("UPDATE procrastinate_jobs SET scheduled_at = NULL"))
    await run_all(moving, queue)
    assert await models_with_cells(arranging, large) == {Other.model_id}
    assert (await cells_of(arranging, large))[1] == 0


class Other(HashEmbedder):
    model_id = "bench-other"


async def models_with_cells(services: Services, of: Generated) -> set[str]:
    async with services.database.workspace(of.scope(of.owner)) as session:
        return {*await session.scalars(sa.select(VectorCell.model).distinct())}
