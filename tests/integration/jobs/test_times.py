"""When jobs begin: by the database's clock, and at the right one of two times that were wished."""

from datetime import UTC, datetime, timedelta

import procrastinate
import pytest
import sqlalchemy as sa

from app.bootstrap import Services
from app.jobs.fair_share import Lane
from app.jobs.payloads import IngestPayload, ReembedPayload, RemoveOldVectorsPayload
from tests.support.tenants import Tenant

MINUTE = timedelta(minutes=1)
AT_ONCE = timedelta(0)
WAITS = sa.text("SELECT scheduled_at - now() FROM procrastinate_jobs WHERE status = 'todo'")


async def waits(services: Services) -> timedelta | None:
    """Return how long the only job still waits, by the database's clock; None when it waits for a slot only."""
    async with services.database.identity() as session:
        (wait,) = await session.scalars(WAITS)
    assert wait is None or isinstance(wait, timedelta)
    return wait


class Wishes:
    """Wishes of one workspace, each in a transaction of its own."""

    def __init__(self, services: Services, tenant: Tenant) -> None:
        self._services = services
        self._scope = tenant.scope
        of_workspace = {"workspace_id": tenant.workspace.id, "user_id": tenant.owner.id}
        self._reembed = ReembedPayload.model_validate(of_workspace)
        self._remove = RemoveOldVectorsPayload.model_validate(of_workspace)
        self._ingest = IngestPayload.model_validate({**of_workspace, "content_sha256": "a" * 64, "size_bytes": 1_000})

    async def wish(self, task: str, after: timedelta) -> None:
        queue = self._services.queue
        async with self._services.database.workspace(self._scope) as session:
            if task == "ingest":
                await queue.ingest_again(session, self._ingest, tag=1, after=after)
            elif task == "reembed":
                await queue.reembed(session, self._reembed, after=after)
            else:
                await queue.remove_old_vectors(session, self._remove, after=after)


@pytest.fixture
def wishes(services: Services, tenant: Tenant) -> Wishes:
    return Wishes(services, tenant)


@pytest.mark.parametrize("wrong", [timedelta(hours=-2), timedelta(hours=2)])
async def test_a_wrong_clock_of_the_worker_moves_no_job(
    services: Services, wishes: Wishes, monkeypatch: pytest.MonkeyPatch, wrong: timedelta
) -> None:
    monkeypatch.setattr("procrastinate.utils.utcnow", lambda: datetime.now(UTC) + wrong)
    await wishes.wish("ingest", 5 * MINUTE)
    wait = await waits(services)
    assert wait is not None
    assert 4 * MINUTE < wait <= 5 * MINUTE


@pytest.mark.parametrize("task", ["ingest", "reembed"])
@pytest.mark.parametrize(
    ("wished", "earlier"),
    [
        ((5 * MINUTE, AT_ONCE), None),
        ((AT_ONCE, 5 * MINUTE), None),
        ((5 * MINUTE, MINUTE), MINUTE),
        ((MINUTE, 5 * MINUTE), MINUTE),
    ],
)
async def test_of_two_wishes_the_earlier_holds(
    services: Services, wishes: Wishes, task: str, wished: tuple[timedelta, timedelta], earlier: timedelta | None
) -> None:
    for after in wished:
        await wishes.wish(task, after)
    wait = await waits(services)
    assert (wait is None) if earlier is None else (wait is not None and wait <= earlier)


@pytest.mark.parametrize(
    ("first", "second"), [(5 * MINUTE, AT_ONCE), (AT_ONCE, 5 * MINUTE), (5 * MINUTE, MINUTE), (MINUTE, 5 * MINUTE)]
)
async def test_old_vectors_stay_until_the_later_wish(
    services: Services, wishes: Wishes, first: timedelta, second: timedelta
) -> None:
    await wishes.wish("remove_old_vectors", first)
    await wishes.wish("remove_old_vectors", second)
    wait = await waits(services)
    assert wait is not None
    assert 4 * MINUTE < wait <= 5 * MINUTE


async def test_a_job_that_serves_another_wish_does_not_begin_before_its_transaction_ends(
    services: Services, wishes: Wishes, tenant: Tenant, queue_app: procrastinate.App
) -> None:
    await wishes.wish("ingest", AT_ONCE)
    worker_id = await queue_app.job_manager.register_worker()
    async with services.database.workspace(tenant.scope) as session:
        await services.queue.ingest(session, wishes._ingest)
        assert await queue_app.job_manager.fetch_job([Lane.SMALL], worker_id) is None
    assert await queue_app.job_manager.fetch_job([Lane.SMALL], worker_id) is not None
