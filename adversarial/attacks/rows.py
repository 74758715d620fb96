"""Row-level security alone: the application's conditions on the workspace are taken out of every statement."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID, uuid4

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncSession

from adversarial.attacks.ids import every_operation
from adversarial.cases import Family, Sabotage, case
from adversarial.replies import Breach, same
from adversarial.snapshots import tenant_tables
from adversarial.unfiltered import Removed, without_workspace_filters
from adversarial.world import Actor, World
from app.core.ids import UserId, WorkspaceId
from app.db import models


@asynccontextmanager
async def _unfiltered(world: World) -> AsyncIterator[Removed]:
    """Run without the application's filters; a case that met none has shown nothing."""
    with without_workspace_filters(world.service.services.database.engine) as removed:
        yield removed
    if not removed.conditions:
        raise Breach("no condition was taken away: the case shows nothing")


@asynccontextmanager
async def _transaction(world: World, actor: Actor) -> AsyncIterator[AsyncSession]:
    """Open a transaction as the service does for this actor; nothing of it stays."""
    services = world.service.services
    scope = services.workspaces.scope_for_job(
        WorkspaceId(UUID(actor.workspace_id)), UserId(UUID(actor.user_id)), "adversarial"
    )
    async with services.database.workspace(scope) as session:
        yield session
        await session.rollback()


@case(Family.ROWS, "the same 404s as with filters, nothing of the victim changes", falls_to=Sabotage.NO_WALLS)
async def foreign_ids_without_filters(world: World) -> str:
    """Every route and every id again."""
    before = await world.snapshot(world.victim.workspace_id)
    async with _unfiltered(world) as removed:
        tried = await every_operation(world, world.attacker, world.open)
    if await world.snapshot(world.victim.workspace_id) != before:
        raise Breach("rows of the victim changed")
    return f"{tried} ids answered as ids of nothing, {removed.conditions} conditions taken away, 0 foreign rows"


@case(Family.ROWS, "lists, search and answers hold own rows only", falls_to=Sabotage.NO_WALLS)
async def lists_searches_and_answers_without_filters(world: World) -> str:
    """What returns many rows would return those of everybody."""
    attacker, markers = world.attacker, world.open.markers
    queries = (world.open.question, *markers[:2])
    lists = ("/v1/documents", "/v1/workspaces/current/members", "/v1/me", "/v1/workspaces/current")
    async with _unfiltered(world) as removed:
        for path in lists:
            (await attacker.call("GET", path)).expect(200).without(markers)
        for query in queries:
            (await attacker.search(query)).expect(200).without(markers)
            # The question is repeated in its answer: the marks in it are no leak.
            (await attacker.ask(query)).expect(200).without(marker for marker in markers if marker != query)
    requests = len(lists) + 2 * len(queries)
    return f"{requests} requests, {removed.conditions} conditions taken away, 0 foreign rows"


@case(Family.ROWS, "the same 403 as with filters", falls_to=Sabotage.NO_WALLS)
async def a_foreign_workspace_without_filters(world: World) -> str:
    """The decision on entering reads memberships: an own one elsewhere must not count."""
    async with _unfiltered(world) as removed:
        foreign = await world.attacker.inside(world.victim.workspace_id).call("GET", "/v1/documents")
        nothing = await world.attacker.inside(str(uuid4())).call("GET", "/v1/documents")
        same(foreign.expect(403).without(world.open.markers), nothing.expect(403))
    return f"403, {removed.conditions} conditions taken away"


@case(Family.ROWS, "0 foreign rows in every table, though each holds some", falls_to=Sabotage.NO_WALLS)
async def reads_of_every_table(world: World) -> str:
    """Statements that name the victim's workspace outright."""
    victim, counts = UUID(world.victim.workspace_id), {}
    async with _transaction(world, world.attacker) as session:
        for table, column in tenant_tables():
            query = sa.select(sa.func.count()).select_from(table).where(column == victim)
            counts[table.name] = await session.scalar(query)
    held = await world.snapshot(world.victim.workspace_id)
    empty = [table.name for table, _ in tenant_tables() if not held[table.name][0]]
    if any(counts.values()):
        raise Breach(f"foreign rows: { {name: count for name, count in counts.items() if count} }")
    return f"{len(counts)} tables, 0 foreign rows; the victim has rows in {len(counts) - len(empty)} of them"


@case(Family.ROWS, "updates and deletions reach 0 foreign rows", falls_to=Sabotage.NO_WALLS)
async def writes_to_every_table(world: World) -> str:
    """Statements that name the victim's workspace outright."""
    victim, reached = UUID(world.victim.workspace_id), {}
    for table, column in tenant_tables():
        for statement in (sa.update(table).values({column.name: column}), sa.delete(table)):
            try:
                async with _transaction(world, world.attacker) as session:
                    result = await session.execute(statement.where(column == victim).returning(column))
                    reached[table.name, statement.__visit_name__] = len(result.all())
            except DBAPIError as error:
                raise Breach(f"a foreign row of {table.name} was reached: {type(error.orig).__name__}") from error
    if any(reached.values()):
        raise Breach(f"foreign rows were reached: { {name: count for name, count in reached.items() if count} }")
    return f"{len(reached)} statements, 0 rows"


@case(Family.ROWS, "a row cannot be written into, or moved to, another workspace", falls_to=Sabotage.NO_WALLS)
async def rows_planted_in_another_workspace(world: World) -> str:
    """The direction that is easily forgotten."""
    victim = UUID(world.victim.workspace_id)
    attempts = (
        sa.insert(models.Membership).values(workspace_id=victim, user_id=UUID(world.attacker.user_id), role="owner"),
        sa.update(models.Membership).values(workspace_id=victim),
        sa.update(models.Document).values(workspace_id=victim),
        sa.insert(models.Conversation).values(workspace_id=victim, id=uuid4(), user_id=UUID(world.attacker.user_id)),
        sa.insert(models.Workspace).values(id=uuid4(), name="planted", created_by=UUID(world.attacker.user_id)),
    )
    for statement in attempts:
        try:
            async with _transaction(world, world.attacker) as session:
                await session.execute(statement)
        except DBAPIError as error:
            if "row-level security" not in str(error.orig):
                raise Breach(f"refused for another reason: {type(error.orig).__name__}") from error
        else:
            raise Breach("a row was written into another workspace")
    return f"{len(attempts)} statements, all refused by row-level security"


@case(Family.ROWS, "without a workspace no row of any tenant is seen", falls_to=Sabotage.NO_WALLS)
async def a_transaction_without_a_workspace(world: World) -> str:
    """Forgetting to say which is not a way to see all."""
    seen = {}
    async with world.service.services.database.identity() as session:
        for table, _ in tenant_tables():
            seen[table.name] = await session.scalar(sa.select(sa.func.count()).select_from(table))
    if any(seen.values()):
        raise Breach(f"rows are seen: {seen}")
    return f"{len(seen)} tables, 0 rows"


@case(Family.ROWS, "the service's role cannot step around row-level security", falls_to=Sabotage.NO_WALLS)
async def statements_that_turn_security_off(world: World) -> str:
    """What injected SQL would try."""
    statements = (
        "SET ROLE groundeddocs_owner", "SET ROLE groundeddocs_maintenance", "SET SESSION AUTHORIZATION postgres",
        "ALTER TABLE documents DISABLE ROW LEVEL SECURITY", "ALTER TABLE documents NO FORCE ROW LEVEL SECURITY",
        "DROP POLICY workspace_isolation ON documents", "CREATE POLICY open ON documents USING (true)",
        "ALTER ROLE groundeddocs_app BYPASSRLS", "CREATE TABLE loot AS SELECT * FROM documents",
        "CREATE FUNCTION loot() RETURNS int LANGUAGE sql SECURITY DEFINER AS 'SELECT 1'",
        "COPY documents TO PROGRAM 'cat'", "COPY documents TO '/tmp/loot'", "SELECT pg_read_file('/etc/passwd')",
        "SELECT * FROM pg_authid", "TRUNCATE documents CASCADE", "DROP TABLE documents",
        "SET session_replication_role = replica", "UPDATE alembic_version SET version_num = 'none'",
    )  # fmt: skip
    for statement in statements:
        try:
            async with _transaction(world, world.attacker) as session:
                await session.execute(sa.text(statement))
        except DBAPIError:
            continue
        raise Breach(f"the role of the service may run: {statement}")
    return f"{len(statements)} statements, all refused"


@case(Family.ROWS, "the few looks across workspaces give ids only")
async def functions_that_look_across_workspaces(world: World) -> str:
    """Whatever runs with other rights is listed, and says nothing of contents."""
    query = sa.text(
        "SELECT proname || pg_get_function_result(oid) FROM pg_proc "
        "WHERE prosecdef AND pronamespace = 'public'::regnamespace"
    )
    async with world.admin.connect() as connection:
        found = sorted((await connection.execute(query)).scalars().all())
    expected = [
        "find_invitationTABLE(workspace_id uuid, id uuid)",
        "find_pending_blobsTABLE(workspace_id uuid, blob_key text)",
        "find_unfinished_contentsTABLE(workspace_id uuid, sha256 text, created_by uuid)",
        "find_workspaces_of_other_modelsTABLE(workspace_id uuid, created_by uuid)",
        "find_workspaces_to_arrangeTABLE(workspace_id uuid, created_by uuid)",
    ]
    if found != expected:
        raise Breach(f"other functions than listed: {found}")
    return "2 functions, ids and hashes only"
