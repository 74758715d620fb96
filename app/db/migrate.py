"""Brings the schema to the version that this code needs, and tells which version a database has."""

from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy.ext.asyncio import AsyncEngine

import app

_MIGRATIONS = Path(app.__file__).resolve().parent.parent / "migrations"
# Two processes may start at once; the second waits and finds nothing to do.
_LOCK = sa.text("SELECT pg_advisory_xact_lock(hashtext('groundeddocs.migrations'))")


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS))
    return config


def wanted_revision() -> str:
    """Return the newest revision that this code knows."""
    return str(ScriptDirectory.from_config(_config()).get_current_head())


def upgrade(owner_url: str) -> str:
    """Run every missing migration as the owner role and return the revision reached.

    Args:
        owner_url: `postgresql+psycopg://` address of the owner role.
    """
    engine = sa.create_engine(owner_url, poolclass=sa.NullPool)
    with engine.connect() as guard, guard.begin():
        guard.execute(_LOCK)
        with engine.connect() as connection:
            config = _config()
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
            connection.commit()
    return wanted_revision()


async def present_revision(engine: AsyncEngine) -> str | None:
    """Return the revision of the database, or None when it was never migrated."""
    async with engine.connect() as connection:
        known = await connection.scalar(sa.text("SELECT to_regclass('public.alembic_version') IS NOT NULL"))
        if not known:
            return None
        revision: str | None = await connection.scalar(sa.text("SELECT version_num FROM alembic_version"))
        return revision
