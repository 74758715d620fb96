"""Keeps a claim while its work is done, and stops the work once the claim is lost."""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

import structlog

from app.core.errors import UnavailableError
from app.core.tenancy import WorkspaceScope
from app.db.session import Database
from app.documents.storage import finish_though_cancelled
from app.ingestion import repository
from app.ingestion.types import Claim

log = structlog.get_logger(__name__)

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Timing:
    """The times of a claim, by the database's clock.

    Attributes:
        lease: How long a worker that says nothing keeps its claim.
        heartbeat: How often it says that it lives; a few fit into one lease.
    """

    lease: timedelta = timedelta(seconds=30)
    heartbeat: timedelta = timedelta(seconds=10)


async def while_held(
    database: Database, scope: WorkspaceScope, held: Claim, timing: Timing, work: Coroutine[Any, Any, _Result]
) -> _Result:
    """Return the result of work that is done under a claim. It has stopped when this ends, however it ends.

    Raises:
        ClaimLostError: The claim was lost, or the content was deleted, at most one heartbeat ago.
    """
    working = asyncio.create_task(work)
    beating = asyncio.create_task(_renew(database, scope, held, timing))
    try:
        await asyncio.wait((working, beating), return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else beating.result()
    finally:
        working.cancel()
        beating.cancel()
        await finish_though_cancelled(asyncio.gather(working, beating, return_exceptions=True))


async def _renew(database: Database, scope: WorkspaceScope, held: Claim, timing: Timing) -> Any:
    """Renew the lease for ever; raises `ClaimLostError` once there is nothing to renew."""
    while True:
        await asyncio.sleep(timing.heartbeat.total_seconds())
        try:
            async with database.workspace(scope) as session:
                await repository.renew(session, scope, held, timing.lease)
        except UnavailableError:
            # The next beat may come through. If another worker claims meanwhile, the fencing number stops this one.
            log.warning("ingestion.lease_not_renewed", workspace_id=str(scope.workspace_id), content=held.sha256)
