import asyncio
import contextlib
import random

import psycopg
import pytest
import sqlalchemy as sa

from app.core.errors import UnavailableError
from app.db import models
from app.db.engine import create_engine
from app.db.session import Database
from tests.support.databases import DatabaseUrls
from tests.support.tenants import Tenants

_VARIABLES = sa.text(
    "SELECT coalesce(current_setting('app.workspace_id', true), ''), coalesce(current_setting('app.user_id', true), '')"
)


class _DeliberateError(Exception):
    pass


async def test_no_scope_is_left_on_a_connection_after_a_thousand_switches(
    database_urls: DatabaseUrls, tenants: Tenants
) -> None:
    engine = create_engine(database_urls.app, pool_size=1)
    database = Database(engine)
    made = [await tenants.workspace() for _ in range(5)]
    dice = random.Random(7)  # noqa: S311  (a reproducible order, no secret)

    async def switch() -> None:
        tenant = dice.choice(made)
        async with database.workspace(tenant.scope) as session:
            seen = (await session.scalars(sa.select(models.Membership.workspace_id))).all()
            assert seen == [tenant.workspace.id]
            kind = dice.random()
            if kind < 0.2:
                raise _DeliberateError
            if kind < 0.3:
                await session.execute(sa.text("SELECT 1 / 0"))
            await session.execute(sa.text("SELECT pg_sleep(0.0005)"))

    async def interrupted() -> None:
        task = asyncio.create_task(switch())
        await asyncio.sleep(dice.random() * 0.004)
        task.cancel()
        await asyncio.wait([task])

    try:
        for _ in range(1_000):
            if dice.random() < 0.1:
                await interrupted()
            else:
                with contextlib.suppress(_DeliberateError, sa.exc.DataError):
                    await switch()
            async with engine.connect() as connection:
                assert (await connection.execute(_VARIABLES)).one() == ("", "")
                await connection.rollback()
    finally:
        await engine.dispose()


async def test_what_was_acknowledged_is_there_and_what_was_cancelled_is_not(
    database: Database, tenants: Tenants
) -> None:
    tenant = await tenants.workspace()
    started = asyncio.Event()

    async def rename() -> None:
        async with database.workspace(tenant.scope) as session:
            await session.execute(sa.update(models.Workspace).values(name="cancelled"))
            started.set()
            await asyncio.sleep(30)

    task = asyncio.create_task(rename())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    async with database.workspace(tenant.scope) as session:
        assert await session.scalar(sa.select(models.Workspace.name)) == "Field service"


async def test_a_database_out_of_reach_is_unavailable_and_not_a_defect() -> None:
    engine = create_engine("postgresql+psycopg://nobody:x@127.0.0.1:1/none", pool_size=1)
    with pytest.raises(UnavailableError):
        async with Database(engine).identity():
            pass
    await engine.dispose()


async def test_a_statement_beyond_a_limit_is_no_outage(database: Database) -> None:
    """It fails in the same way each time: whoever waits for outages to end would wait for ever."""
    words = "SELECT to_tsvector('simple', string_agg(md5(n::text), ' ')) FROM generate_series(1, 50000) n"
    with pytest.raises(sa.exc.OperationalError, match="too long for tsvector"):
        async with database.identity() as session:
            await session.execute(sa.text(words))


async def test_errors_of_statements_do_not_repeat_their_parameters(database: Database) -> None:
    with pytest.raises(sa.exc.DBAPIError) as error:
        async with database.identity() as session:
            await session.execute(sa.text("SELECT :question / 0"), {"question": 424_242})
    assert "424242" not in str(error.value)


async def test_a_swallowed_failure_is_no_commit(database: Database) -> None:
    async def swallow() -> None:
        async with database.identity() as session:
            raw = await (await session.connection()).get_raw_connection()
            assert isinstance(raw.driver_connection, psycopg.AsyncConnection)
            with contextlib.suppress(psycopg.errors.DivisionByZero):
                await raw.driver_connection.execute("SELECT 1 / 0")

    with pytest.raises(RuntimeError, match="not passed on"):
        await swallow()
    async with database.identity() as session:
        assert await session.scalar(sa.text("SELECT 1")) == 1


async def test_entering_shows_one_membership_even_to_a_statement_without_conditions(
    database: Database, tenants: Tenants
) -> None:
    mine, other = await tenants.workspace(), await tenants.workspace()
    await tenants.member(other)
    every = sa.select(models.Membership.workspace_id, models.Membership.user_id)
    async with database.entering(mine.workspace.id, mine.owner.id) as session:
        assert (await session.execute(every)).all() == [(mine.workspace.id, mine.owner.id)]
    async with database.entering(other.workspace.id, mine.owner.id) as session:
        assert (await session.execute(every)).all() == []
    async with database.identity(mine.owner.id) as session:
        assert (await session.execute(every)).all() == [(mine.workspace.id, mine.owner.id)]
