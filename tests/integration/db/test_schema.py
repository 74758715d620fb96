from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from app.db import models
from app.db.migrate import present_revision, upgrade, wanted_revision
from app.db.session import Database
from tests.support.databases import DatabaseUrls

# Indexes, keys and constraints are written in the migrations only; the models name what Python reads and writes.
_ONLY_IN_MIGRATIONS = {"remove_index", "remove_constraint", "remove_fk"}
_OF_LIBRARIES = ("procrastinate_", "alembic_version")


@pytest.fixture
def connection(database_urls: DatabaseUrls) -> Iterator[sa.Connection]:
    engine = sa.create_engine(database_urls.owner, poolclass=sa.NullPool)
    with engine.connect() as connection:
        yield connection


def test_models_and_migrated_tables_have_the_same_columns_types_and_nullability(connection: sa.Connection) -> None:
    context = MigrationContext.configure(
        connection,
        opts={
            "compare_type": True,
            "include_name": lambda name, kind, _: kind != "table" or not str(name).startswith(_OF_LIBRARIES),
        },
    )
    differences = compare_metadata(context, models.Base.metadata)
    kinds = [entry[0] if isinstance(entry, tuple) else entry[0][0] for entry in differences]
    unexpected = [entry for kind, entry in zip(kinds, differences, strict=True) if kind not in _ONLY_IN_MIGRATIONS]
    assert unexpected == []


def test_primary_keys_of_models_are_those_of_the_tables(connection: sa.Connection) -> None:
    inspector = sa.inspect(connection)
    for table in models.Base.metadata.sorted_tables:
        found = set(inspector.get_pk_constraint(table.name)["constrained_columns"])
        assert found == {column.name for column in table.primary_key}, table.name


def test_migrating_again_changes_nothing(database_urls: DatabaseUrls) -> None:
    assert upgrade(database_urls.owner) == wanted_revision()


async def test_the_service_can_read_which_revision_it_runs_on(database: Database) -> None:
    assert await present_revision(database.engine) == wanted_revision()
