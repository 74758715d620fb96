"""A part of the service is away: no file is at fault, and none fails."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest
import sqlalchemy as sa
from obstore.store import MemoryStore
from sqlalchemy.ext.asyncio import AsyncSession
from structlog.testing import capture_logs

from app.bootstrap import Services
from app.core.errors import UnavailableError
from app.core.tenancy import WorkspaceScope
from app.db.models import Content, DeadLetter
from app.db.session import Database
from app.documents.storage import BlobStore
from app.documents.types import Status
from app.ingestion.lease import Timing
from app.ingestion.pipeline import MAX_ATTEMPTS, IngestionService
from app.ingestion.types import Away, Finished
from app.llm.embedders import Embedders
from app.llm.types import ModelSetupError, Vectors
from tests.support.documents import Shelf, digest, long_text, prose
from tests.support.embedder import HashEmbedder
from tests.support.pipelines import LIMITS, assert_whole, expire_leases, pipeline
from tests.support.tenants import Tenant

BOOK = long_text(40)
MANY = MAX_ATTEMPTS + 3


class AwayEmbedder(HashEmbedder):
    """Is not there."""

    def __init__(self, error: UnavailableError) -> None:
        self._error = error

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        assert texts
        raise self._error


class AwayStore(BlobStore):
    """Does not answer."""

    async def open(self, key: str) -> AsyncIterator[bytes]:
        raise UnavailableError(f"nothing of {len(key)} letters can be read now")


class AwayDatabase(Database):
    """Does not answer from some transaction on, until so many have failed.

    Args:
        database: The database behind it.
        begin: Number of the first transaction that fails, from 0.
        failures: How many fail.
    """

    def __init__(self, database: Database, begin: int, failures: int) -> None:
        super().__init__(database.engine)
        self._begin = begin
        self._begun = 0
        self.failures_left = failures

    @asynccontextmanager
    async def workspace(self, scope: WorkspaceScope) -> AsyncIterator[AsyncSession]:
        """Open a transaction, if it answers."""
        self._begun += 1
        if self._begun > self._begin and self.failures_left:
            self.failures_left -= 1
            raise UnavailableError("no database")
        async with super().workspace(scope) as session:
            yield session


def without_store(services: Services) -> IngestionService:
    return IngestionService(
        services.database, AwayStore(MemoryStore()), Embedders(HashEmbedder()), services.parser, LIMITS
    )


@pytest.mark.parametrize("error", [UnavailableError("away"), ModelSetupError("wrong key")], ids=["away", "setup"])
async def test_a_file_waits_for_its_model_for_as_long_as_it_takes(
    shelf: Shelf, tenant: Tenant, services: Services, error: UnavailableError
) -> None:
    made = await shelf.upload(tenant.scope, "book.md", BOOK)
    away = pipeline(services, AwayEmbedder(error))
    ends = [await away.run(tenant.scope, digest(BOOK)) for _ in range(MANY)]
    assert ends == [Away(progressed=True), *[Away(progressed=False)] * (MANY - 1)], "the text is made once"
    view = await services.documents.get(tenant.scope, made.document_id)
    assert (view.status, view.reason) == (Status.QUEUED, None)
    assert view.detail is not None
    assert view.detail.startswith("Waiting for the embedding model")
    assert await shelf.count(tenant.scope, DeadLetter) == 0
    (content,) = await shelf.contents(tenant.scope)
    assert (content.attempts, content.lease_until) == (0, None)
    await shelf.process(tenant.scope, BOOK)
    await assert_whole(shelf, tenant.scope, BOOK)
    assert (await services.documents.get(tenant.scope, made.document_id)).detail is None


async def test_a_file_waits_for_the_store(shelf: Shelf, tenant: Tenant, services: Services) -> None:
    made = await shelf.upload(tenant.scope, "book.md", BOOK)
    ends = [await without_store(services).run(tenant.scope, digest(BOOK)) for _ in range(MANY)]
    assert ends == [Away(progressed=False)] * MANY
    view = await services.documents.get(tenant.scope, made.document_id)
    assert view.status is Status.QUEUED
    assert view.detail is not None
    assert view.detail.startswith("Waiting for the store of files")
    assert await shelf.count(tenant.scope, DeadLetter) == 0
    await shelf.process(tenant.scope, BOOK)
    await assert_whole(shelf, tenant.scope, BOOK)


async def test_what_a_file_waits_for_is_not_said_any_more_while_it_is_tried(
    shelf: Shelf, tenant: Tenant, services: Services
) -> None:
    data = prose("a")
    made = await shelf.upload(tenant.scope, "a.txt", data)
    await without_store(services).run(tenant.scope, digest(data))
    seen = []

    class Looking(HashEmbedder):
        async def embed_passages(self, texts: Sequence[str]) -> Vectors:
            seen.append((await services.documents.get(tenant.scope, made.document_id)).detail)
            return await super().embed_passages(texts)

    assert isinstance(await pipeline(services, Looking()).run(tenant.scope, digest(data)), Finished)
    assert seen == [None]


@pytest.mark.parametrize("begin", [1, 3, 5, 7])
async def test_a_claim_is_given_back_when_the_database_answers_again(
    shelf: Shelf, tenant: Tenant, services: Services, begin: int
) -> None:
    """Left to expire it would count as an attempt, and three outages would end the file."""
    await shelf.upload(tenant.scope, "book.md", BOOK)
    database = AwayDatabase(services.database, begin, failures=3)
    timing = Timing(heartbeat=timedelta(seconds=1))
    service = IngestionService(
        database, services.blobs, Embedders(HashEmbedder()), services.parser, LIMITS, timing=timing
    )
    assert isinstance(await service.run(tenant.scope, digest(BOOK)), Away)
    assert database.failures_left == 0
    (content,) = await shelf.contents(tenant.scope)
    assert (content.status, content.attempts, content.lease_until, content.detail) == ("queued", 0, None, None)
    await shelf.process(tenant.scope, BOOK)
    await assert_whole(shelf, tenant.scope, BOOK)


async def test_a_claim_that_was_taken_over_meanwhile_is_not_given_back(
    shelf: Shelf, tenant: Tenant, services: Services
) -> None:
    await shelf.upload(tenant.scope, "book.md", BOOK)

    class Overtaken(AwayEmbedder):
        async def embed_passages(self, texts: Sequence[str]) -> Vectors:
            await expire_leases(services, tenant.scope)
            await shelf.process(tenant.scope, BOOK)
            return await super().embed_passages(texts)

    service = pipeline(services, Overtaken(UnavailableError("away")))
    assert await service.run(tenant.scope, digest(BOOK)) is None
    await assert_whole(shelf, tenant.scope, BOOK)


async def test_an_outage_does_not_forgive_the_workers_that_a_file_has_stopped(
    shelf: Shelf, tenant: Tenant, services: Services
) -> None:
    data = prose("a")
    await shelf.upload(tenant.scope, "a.txt", data)
    async with services.database.workspace(tenant.scope) as session:
        await session.execute(sa.update(Content).values(attempts=MAX_ATTEMPTS - 1))
    for _ in range(MANY):
        assert await without_store(services).run(tenant.scope, digest(data)) == Away(progressed=False)
    (content,) = await shelf.contents(tenant.scope)
    assert content.attempts == MAX_ATTEMPTS - 1


@pytest.mark.parametrize(
    ("error", "level"), [(UnavailableError("away"), "warning"), (ModelSetupError("wrong key"), "error")]
)
async def test_an_outage_is_logged_with_what_the_part_said(
    shelf: Shelf, tenant: Tenant, services: Services, error: UnavailableError, level: str
) -> None:
    await shelf.upload(tenant.scope, "book.md", BOOK)
    with capture_logs() as logs:
        await pipeline(services, AwayEmbedder(error)).run(tenant.scope, digest(BOOK))
    (entry,) = [each for each in logs if each["event"] == "ingestion.waits"]
    assert (entry["log_level"], entry["problem"]) == (level, error.detail)
