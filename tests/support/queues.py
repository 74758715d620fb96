"""The queue of the tests' database."""

import sqlalchemy as sa

from app.db.engine import create_engine
from tests.support.databases import DatabaseUrls


async def empty(urls: DatabaseUrls) -> None:
    """Take away what other tests asked for and never ran."""
    engine = create_engine(urls.superuser, pool_size=1)
    async with engine.begin() as connection:
        await connection.execute(sa.text("TRUNCATE procrastinate_jobs, procrastinate_workers CASCADE"))
    await engine.dispose()
