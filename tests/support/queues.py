"""The queue of the tests' database."""

import procrastinate
import sqlalchemy as sa

from app.db.engine import create_engine
from app.jobs.payloads import TaskName
from app.worker.tasks import register
from tests.support.databases import DatabaseUrls


async def empty(urls: DatabaseUrls) -> None:
    """Take away what other tests asked for and never ran, and all that a sweep would find left behind by them."""
    engine = create_engine(urls.superuser, pool_size=1)
    async with engine.begin() as connection:
        await connection.execute(sa.text("TRUNCATE procrastinate_jobs, procrastinate_workers CASCADE"))
        await connection.execute(sa.text("UPDATE workspaces SET embedding_model = '' WHERE embedding_model <> ''"))
        await connection.execute(
            sa.text(
                "UPDATE contents SET status = 'failed', reason = 'internal', lease_until = NULL "
                "WHERE status NOT IN ('ready', 'failed')"
            )
        )
    await engine.dispose()


def know_tasks(app: procrastinate.App) -> None:
    """Register the tasks once, whichever test of this process comes first: a queue's client takes each name once."""
    if TaskName.INGEST.value not in app.tasks:
        register(app)
