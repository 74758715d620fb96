"""All rows of a workspace as they are, seen past row-level security: what an attack must leave alone."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import aggregate_order_by
from sqlalchemy.ext.asyncio import AsyncEngine

from app.db import models


def tenant_tables() -> Iterator[tuple[sa.Table, sa.Column[Any]]]:
    """Yield each table of tenants with the column that names the workspace."""
    for table in models.Base.metadata.sorted_tables:
        if table.name == "workspaces":
            yield table, table.columns["id"]
        elif "workspace_id" in table.columns:
            yield table, table.columns["workspace_id"]


async def snapshot(admin: AsyncEngine, workspace_id: str) -> dict[str, tuple[int, str]]:
    """Return the number and a digest of the rows of a workspace, by table.

    Args:
        admin: Connections of a role that nothing binds.
        workspace_id: The tenant to look at.
    """
    found = {}
    async with admin.connect() as connection:
        for table, column in tenant_tables():
            row = sa.cast(sa.literal_column(f"{table.name}.*"), sa.Text)
            rows = sa.func.md5(sa.func.string_agg(row, aggregate_order_by(sa.literal("|"), row)))
            query = sa.select(sa.func.count(), rows).select_from(table).where(column == UUID(workspace_id))
            count, digest = (await connection.execute(query)).one()
            found[table.name] = (count, digest or "")
    return found
