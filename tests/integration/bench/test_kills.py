import asyncio
import signal
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch
from uuid import UUID

import pytest

from app.core.ids import new_id
from app.documents.types import Status
from bench import texts
from bench.kill_points import KillPoint, Order
from bench.kill_rounds import by_content, running_victim
from bench.observing import ContentState, Observer, StoredChunk
from bench.shelf import Draft, Shelved, drafts, new_scope, shelve
from bench.watcher import Watcher
from tests.integration.bench.conftest import Stage

PATIENCE = 90
BOOK = Draft("book.md", "zebrafish", texts.markdown(150, 1, "zebrafish"))
FAR = {
    KillPoint.AFTER_CLAIM: {"parsing"},
    KillPoint.AFTER_READ: {"parsing"},
    KillPoint.AFTER_PARSE: {"parsing"},
    KillPoint.HALF_EMBEDDED: {"embedding"},
    KillPoint.BEFORE_FINAL_COMMIT: {"embedding"},
    KillPoint.AFTER_FINAL_COMMIT: {"ready"},
}


async def state_of(observer: Observer, document: Shelved) -> ContentState:
    workspace_id = UUID(str(document.scope.workspace_id))
    (state,) = [
        each
        for each in await observer.contents()
        if (each.workspace_id, each.sha256) == (workspace_id, document.sha256)
    ]
    return state


async def chunks_of(observer: Observer, document: Shelved) -> list[StoredChunk]:
    return await observer.chunks([UUID(str(document.scope.workspace_id))])


async def ended(observer: Observer, document: Shelved) -> None:
    async with asyncio.timeout(PATIENCE):
        while not (await state_of(observer, document)).ended:  # noqa: ASYNC110
            await asyncio.sleep(0.05)


@pytest.fixture(scope="module")
async def golden(stage: Stage, tmp_path_factory: pytest.TempPathFactory) -> list[StoredChunk]:
    """The passages of an undisturbed run."""
    (document,) = await shelve(stage.services, [await new_scope(stage.services)], [BOOK])
    with running_victim(stage.servers, tmp_path_factory.mktemp("golden") / "order", pace=0.0):
        await ended(stage.observer, document)
    return await chunks_of(stage.observer, document)


@pytest.mark.parametrize("point", list(KillPoint))
async def test_a_worker_dies_where_it_was_ordered_to_and_another_ends_its_work(
    point: KillPoint, stage: Stage, golden: list[StoredChunk], tmp_path: Path
) -> None:
    (document,) = await shelve(stage.services, [await new_scope(stage.services)], [BOOK])
    Order(point, 0, (), {document.sha256: len(golden)}).write(tmp_path / "order")
    with running_victim(stage.servers, tmp_path / "order", pace=0.05) as worker:
        assert await asyncio.to_thread(worker.process.wait, PATIENCE) == -signal.SIGKILL
    assert (await state_of(stage.observer, document)).status in FAR[point]
    vectors = sum(each.vectors for each in await chunks_of(stage.observer, document))
    assert vectors < len(golden) if point is KillPoint.HALF_EMBEDDED else vectors in {0, len(golden)}
    with running_victim(stage.servers, tmp_path / "none", pace=0.0):
        await ended(stage.observer, document)
    assert by_content(await chunks_of(stage.observer, document)) == by_content(golden)


async def test_a_watcher_tells_ready_documents_from_unready_ones_and_what_it_sees_of_these(
    stage: Stage, tmp_path: Path
) -> None:
    services, (small, _, other) = stage.services, drafts(3)
    (ready,) = await shelve(services, [await new_scope(services)], [small])
    with running_victim(stage.servers, tmp_path / "none", pace=0.0):
        await ended(stage.observer, ready)
    (waiting,) = await shelve(services, [ready.scope], [other])
    ids = {ready.sha256: [each.id for each in await chunks_of(stage.observer, ready)], waiting.sha256: [new_id()]}
    watcher = Watcher(services, ids)
    await watcher.look(ready)
    await watcher.look(waiting)
    assert (watcher.looks, watcher.seen, watcher.hidden, watcher.breaches) == (2, 1, 1, [])
    view = await services.documents.get(ready.scope, ready.document_id)
    with patch.object(services.documents, "get", return_value=replace(view, status=Status.EMBEDDING)):
        await watcher.look(ready)
    (breach,) = watcher.breaches
    assert breach.endswith("embedding was seen by search, passage, page, page of the version")
