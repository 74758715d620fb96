"""A workspace's choice of an embedder in the worker: it begins at once, and a worker that is killed loses nothing."""

import asyncio
from collections.abc import Awaitable, Callable

import procrastinate
import pytest
import sqlalchemy as sa

from app.bootstrap import Services, compose_services
from app.core.errors import UnavailableError
from app.db.models import Workspace
from app.llm.embedders import EmbedderChoice, Embedders
from app.worker.tasks import remove_old_vectors
from app.worker.timing import WorkerTiming
from tests.integration.worker.conftest import Start
from tests.support.documents import Shelf, long_text
from tests.support.embedder import HashEmbedder
from tests.support.pipelines import OtherEmbedder, models_of
from tests.support.tenants import Tenant

BOOK = long_text(200)
PATIENCE = 60
REMOTE_ID = OtherEmbedder.model_id
REMOTE = {"WITH_REMOTE": "1"}


class Unanswered(OtherEmbedder):
    """A remote model whose length of vectors, and so its id, is not known yet."""

    @property
    def model_id(self) -> str:  # type: ignore[override]  # the seam has a property, the doubles a constant
        raise UnavailableError("not answered yet")


def composed(services: Services, remote: HashEmbedder) -> Services:
    embedders = Embedders(HashEmbedder(), remote)
    return compose_services(
        services.settings, services.database, services.redis, services.keys, embedders, parser=services.parser
    )


@pytest.fixture
def both(services: Services) -> Services:
    """A process beside the worker, configured as it is."""
    return composed(services, OtherEmbedder())


@pytest.fixture
async def shelved(shelf: Shelf, tenant: Tenant, both: Services) -> Tenant:
    """A tenant with a book, embedded by the local embedder of its choice."""
    await both.workspaces.update(tenant.scope, embedder=EmbedderChoice.LOCAL)
    await shelf.add(tenant.scope, "book.md", BOOK)
    return tenant


async def until(is_so: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not await is_so():  # noqa: ASYNC110 - other processes tell only what they store
            await asyncio.sleep(0.05)


async def serving(shelf: Shelf, tenant: Tenant) -> str:
    async with shelf.services.database.workspace(tenant.scope) as session:
        query = sa.select(Workspace.embedding_model).where(Workspace.id == tenant.workspace.id)
        return (await session.execute(query)).scalar_one()


async def test_a_running_worker_follows_each_wish(shelf: Shelf, shelved: Tenant, both: Services, start: Start) -> None:
    await start(0.0, **REMOTE)
    for choice, model in ((EmbedderChoice.REMOTE, REMOTE_ID), (EmbedderChoice.LOCAL, "hash-384")):
        await both.workspaces.update(shelved.scope, embedder=choice)

        async def changed(wanted: str = model) -> bool:
            return await serving(shelf, shelved) == wanted

        await until(changed)


@pytest.mark.parametrize("last", [EmbedderChoice.LOCAL, EmbedderChoice.REMOTE], ids=str)
async def test_a_worker_killed_midway_and_another_wish_end_in_that_wish(
    shelf: Shelf, shelved: Tenant, both: Services, start: Start, last: EmbedderChoice
) -> None:
    slow = await start(0.5, **REMOTE)
    await both.workspaces.update(shelved.scope, embedder=EmbedderChoice.REMOTE)

    async def halfway() -> bool:
        return (await models_of(shelf, shelved.scope)).get(REMOTE_ID, 0) >= 64

    await until(halfway)
    await slow.stop()
    stored = (await models_of(shelf, shelved.scope))[REMOTE_ID]
    assert stored < 200
    assert await serving(shelf, shelved) == "hash-384"
    await both.workspaces.update(shelved.scope, embedder=EmbedderChoice.LOCAL)
    await both.workspaces.update(shelved.scope, embedder=last)
    await start(0.0, **REMOTE)

    async def over() -> bool:
        """The job that was lost, and the one of the last wish, are done; the removal of old vectors waits."""
        return {job["task_name"] for job in await shelf.jobs(shelved.scope)} == {"remove_old_vectors"}

    await until(over)
    model = REMOTE_ID if last is EmbedderChoice.REMOTE else "hash-384"
    assert await serving(shelf, shelved) == model
    await both.reembedding.remove_old_vectors(shelved.scope)
    assert await models_of(shelf, shelved.scope) == {model: 200}
    assert len((await both.retrieval.search(shelved.scope, "operator valve pressure")).passages) == 8


async def test_old_vectors_stay_until_the_chosen_model_is_known(
    shelf: Shelf, shelved: Tenant, services: Services, both: Services
) -> None:
    await both.workspaces.update(shelved.scope, embedder=EmbedderChoice.REMOTE)
    job = procrastinate.jobs.Job(
        id=1, queue="background", lock=None, queueing_lock=None, task_name="remove_old_vectors"
    )
    context = procrastinate.JobContext(
        app=services.queue_app,
        job=job,
        additional_context={"services": composed(services, Unanswered()), "timing": WorkerTiming()},
        abort_reason=lambda: None,
        start_timestamp=0.0,
    )
    ids = {"workspace_id": str(shelved.workspace.id), "user_id": str(shelved.owner.id)}
    await remove_old_vectors(context, **ids)
    assert await models_of(shelf, shelved.scope) == {"hash-384": 200}
    again = [job for job in await shelf.jobs(shelved.scope) if job["task_name"] == "remove_old_vectors"]
    assert [job["args"] for job in again] == [ids]
