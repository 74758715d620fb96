from collections.abc import Iterator
from uuid import UUID

import pytest
import sqlalchemy as sa

from app.core.errors import ConfigurationError
from app.db import models
from app.db.engine import check_role, create_engine
from app.db.session import Database
from tests.support.databases import DatabaseUrls
from tests.support.documents import Shelf
from tests.support.tenants import Tenants

_TABLES = """
    SELECT c.relname AS name, c.relrowsecurity AND c.relforcerowsecurity AS forced,
           (SELECT count(*) FROM pg_policy p WHERE p.polrelid = c.oid) AS policies,
           EXISTS (SELECT 1 FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'workspace_id'
                   AND NOT a.attisdropped) AS of_tenant
    FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
"""
VIEWS = ("searched_names", "searched_words")
_POLICIES = """
    SELECT tablename, permissive, roles, cmd, qual, with_check FROM pg_policies WHERE schemaname = 'public'
"""


@pytest.fixture(scope="module")
def catalogue(database_urls: DatabaseUrls) -> Iterator[sa.Connection]:
    engine = sa.create_engine(database_urls.superuser, poolclass=sa.NullPool)
    with engine.connect() as connection:
        yield connection


def test_tables_of_tenants_are_exactly_those_with_forced_security_and_one_policy(catalogue: sa.Connection) -> None:
    tables = catalogue.execute(sa.text(_TABLES)).all()
    of_tenants = {table.name for table in tables if table.of_tenant} | {"workspaces"}
    protected = {table.name for table in tables if table.forced and table.policies == 1}
    touched = {table.name for table in tables if table.policies or table.forced}
    assert of_tenants == protected == touched
    assert {
        "documents", "chunks", "chunk_embeddings", "chunk_words", "word_counts", "vector_cells", "vector_layouts",
        "answers", "memberships",
    } <= of_tenants  # fmt: skip


def test_every_policy_checks_reads_and_writes_of_everybody_against_the_variable(catalogue: sa.Connection) -> None:
    variable = "NULLIF(current_setting('app.workspace_id'::text, true), ''::text)"
    policies = catalogue.execute(sa.text(_POLICIES)).all()
    assert policies
    for policy in policies:
        assert (policy.permissive, policy.roles, policy.cmd) == ("PERMISSIVE", ["public"], "ALL"), policy.tablename
        assert variable in policy.qual, policy.tablename
        assert variable in policy.with_check, policy.tablename
        mentions_user = "app.user_id" in policy.qual
        assert mentions_user == (policy.tablename in {"memberships", "workspaces"}), policy.tablename
        assert "app.user_id" not in policy.with_check, policy.tablename


def test_functions_that_look_across_tenants_are_the_listed_ones(catalogue: sa.Connection) -> None:
    definers = catalogue.scalars(
        sa.text("SELECT proname FROM pg_proc WHERE prosecdef AND pronamespace = 'public'::regnamespace")
    ).all()
    assert set(definers) == {
        "find_invitation",
        "find_pending_blobs",
        "find_unfinished_contents",
        "find_workspaces_of_other_models",
        "find_workspaces_to_arrange",
    }


async def test_without_a_scope_no_row_of_any_tenant_is_seen(database: Database, tenants: Tenants) -> None:
    await tenants.workspace()
    async with database.identity() as session:
        for table in _tenant_tables():
            assert await session.scalar(sa.select(sa.func.count()).select_from(table)) == 0, table.name


async def test_without_any_filter_only_rows_of_the_scope_are_seen(database: Database, tenants: Tenants) -> None:
    tenant, _other = await tenants.workspace(), await tenants.workspace()
    async with database.workspace(tenant.scope) as session:
        assert (await session.scalars(sa.select(models.Membership.workspace_id))).all() == [tenant.workspace.id]
        assert (await session.scalars(sa.select(models.Workspace.id))).all() == [tenant.workspace.id]


async def test_a_row_cannot_be_written_into_another_workspace(database: Database, tenants: Tenants) -> None:
    tenant, other = await tenants.workspace(), await tenants.workspace()
    with pytest.raises(sa.exc.ProgrammingError, match="row-level security"):
        async with database.workspace(tenant.scope) as session:
            session.add(models.Membership(workspace_id=other.workspace.id, user_id=tenant.owner.id, role="owner"))
    with pytest.raises(sa.exc.ProgrammingError, match="row-level security"):
        async with database.workspace(tenant.scope) as session:
            await session.execute(sa.update(models.Membership).values(workspace_id=other.workspace.id))


@pytest.mark.parametrize("role", ["superuser", "owner"])
async def test_a_connection_that_security_does_not_bind_is_refused(database_urls: DatabaseUrls, role: str) -> None:
    engine = create_engine(getattr(database_urls, role), pool_size=1)
    try:
        with pytest.raises(ConfigurationError, match="not bound by row-level security"):
            await check_role(engine)
    finally:
        await engine.dispose()


@pytest.mark.parametrize("grant", ["ALTER ROLE {0} BYPASSRLS", "GRANT groundeddocs_owner TO {0} WITH INHERIT FALSE"])
async def test_a_role_that_could_step_around_security_is_refused(database_urls: DatabaseUrls, grant: str) -> None:
    name = "test_unbound"
    admin = sa.create_engine(database_urls.superuser, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    url = sa.make_url(database_urls.superuser).set(username=name, password="test")
    engine = create_engine(url.render_as_string(hide_password=False), pool_size=1)
    with admin.connect() as connection:
        connection.exec_driver_sql(f"CREATE ROLE {name} LOGIN PASSWORD 'test'")
        try:
            await check_role(engine)
            connection.exec_driver_sql(grant.format(name))
            with pytest.raises(ConfigurationError):
                await check_role(engine)
        finally:
            await engine.dispose()
            connection.exec_driver_sql(f"DROP ROLE {name}")


async def test_the_role_of_the_service_is_accepted(database: Database) -> None:
    await check_role(database.engine)


@pytest.mark.parametrize("view", VIEWS)
async def test_views_that_security_does_not_bind_show_the_own_workspace_only(
    database: Database, shelf: Shelf, tenants: Tenants, view: str
) -> None:
    tenant, other = await tenants.workspace(), await tenants.workspace()
    for each in (tenant, other):
        await shelf.add(each.scope, "3.0.1 Pumps.txt", b"2.13 The pump starts.")
    rows: sa.Select[tuple[UUID]] = sa.select(sa.column("workspace_id")).select_from(sa.table(view))
    async with database.workspace(tenant.scope) as session:
        assert {*await session.scalars(rows)} == {tenant.workspace.id}
        foreign = rows.where(sa.column("workspace_id") == other.workspace.id)
        assert (await session.scalars(foreign)).all() == []
    async with database.identity() as session:
        assert (await session.scalars(rows)).all() == []
        await session.execute(sa.text("SELECT set_config('app.workspace_id', '', true)"))
        assert (await session.scalars(rows)).all() == []


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO {view} SELECT * FROM {view}",
        "UPDATE {view} SET workspace_id = workspace_id",
        "DELETE FROM {view}",
        "TRUNCATE {view}",
    ],
)
async def test_nobody_writes_through_these_views(
    database: Database, tenants: Tenants, view: str, statement: str
) -> None:
    tenant = await tenants.workspace()
    with pytest.raises(sa.exc.ProgrammingError, match=r"permission denied|is not a table"):
        async with database.workspace(tenant.scope) as session:
            await session.execute(sa.text(statement.format(view=view)))


def test_the_views_that_security_does_not_bind_are_the_listed_ones(catalogue: sa.Connection) -> None:
    views = sa.text("SELECT relname FROM pg_class WHERE relkind = 'v' AND relnamespace = 'public'::regnamespace")
    assert {*catalogue.scalars(views)} == {*VIEWS}


def _tenant_tables() -> list[sa.Table]:
    tables = models.Base.metadata.sorted_tables
    return [table for table in tables if "workspace_id" in table.columns or table.name == "workspaces"]
