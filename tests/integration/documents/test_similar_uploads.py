from datetime import timedelta

import pytest
import sqlalchemy as sa

from app.core.ids import VersionId
from app.core.tenancy import WorkspaceScope
from app.db.models import Version
from app.documents.types import Outcome, Visibility
from tests.support.documents import Shelf, prose
from tests.support.tenants import Tenant, Tenants


async def came(shelf: Shelf, scope: WorkspaceScope, version_id: VersionId, before: timedelta) -> None:
    """Let a version have come some time ago, by the database's clock."""
    async with shelf.services.database.workspace(scope) as session:
        moment = sa.func.now() - before
        await session.execute(sa.update(Version).where(Version.id == version_id).values(created_at=moment))


async def test_a_copy_of_what_came_lately_is_taken_in_with_a_hint(shelf: Shelf, tenant: Tenant) -> None:
    first = await shelf.upload(tenant.scope, "report.pdf", prose("one"))
    second = await shelf.upload(tenant.scope, "Report (1).pdf", prose("two"))
    assert (first.outcome, first.warnings, second.outcome) == (Outcome.CREATED, (), Outcome.CREATED)
    words = 'This may be another copy of "report.pdf", uploaded less than a minute ago.'
    assert second.warnings == (f"{words} If it is its new version, upload it under that name.",)
    view = await shelf.services.documents.get(tenant.scope, second.document_id)
    assert view.warnings == ()


@pytest.mark.parametrize(
    ("before", "words"),
    [
        (timedelta(seconds=61), "1 minute ago"),
        (timedelta(minutes=3, seconds=5), "3 minutes ago"),
        (timedelta(minutes=9, seconds=50), "9 minutes ago"),
        (timedelta(minutes=10, seconds=1), None),
    ],
)
async def test_ten_minutes_are_remembered(shelf: Shelf, tenant: Tenant, before: timedelta, words: str | None) -> None:
    first = await shelf.upload(tenant.scope, "report.pdf", prose("one"))
    await came(shelf, tenant.scope, first.version_id, before)
    second = await shelf.upload(tenant.scope, "report final.pdf", prose("two"))
    assert [words in warning for warning in second.warnings if words] == ([True] if words else [])
    assert bool(second.warnings) == bool(words)


async def test_a_new_version_of_an_old_document_came_lately_too(shelf: Shelf, tenant: Tenant) -> None:
    first = await shelf.upload(tenant.scope, "report.pdf", prose("one"))
    await came(shelf, tenant.scope, first.version_id, timedelta(days=1))
    assert (await shelf.upload(tenant.scope, "report v2.pdf", prose("two"))).warnings == ()
    newer = await shelf.upload(tenant.scope, "report.pdf", prose("three"))
    assert (newer.outcome, newer.warnings) == (Outcome.NEW_VERSION, ())
    assert '"report.pdf"' in (await shelf.upload(tenant.scope, "report v3.pdf", prose("four"))).warnings[0]


async def test_bytes_that_are_there_already_get_the_oldest_name_and_repeated_uploads_no_hint(
    shelf: Shelf, tenant: Tenant
) -> None:
    data = prose("one")
    for name in ("report.pdf", "another.pdf"):
        await shelf.upload(tenant.scope, name, data)
    same = await shelf.upload(tenant.scope, "report (1).pdf", data)
    again = await shelf.upload(tenant.scope, "report.pdf", data)
    assert (same.outcome, same.warnings) == (Outcome.SAME_CONTENT, ('The same content is also called "report.pdf".',))
    assert (again.outcome, again.warnings) == (Outcome.IDENTICAL, ())


async def test_what_one_may_not_read_is_never_named(shelf: Shelf, tenant: Tenant, tenants: Tenants) -> None:
    _, member = await tenants.member(tenant)
    hidden = prose("hidden")
    await shelf.upload(tenant.scope, "plan.pdf", hidden, Visibility.RESTRICTED)
    assert (await shelf.upload(member, "plan (1).pdf", prose("two"))).warnings == ()
    # Bytes of a hidden document get the hint that other bytes would get.
    probe, control = [await shelf.upload(member, name, data) for name, data in
                      (("plan v2.pdf", hidden), ("plan v3.pdf", prose("three")))]  # fmt: skip
    assert '"plan (1).pdf"' in probe.warnings[0]
    assert '"plan v2.pdf"' in control.warnings[0]
    mine = await shelf.upload(tenant.scope, "plan final.pdf", prose("four"), Visibility.RESTRICTED)
    assert '"plan v3.pdf"' in mine.warnings[0]


async def test_the_same_bytes_are_called_by_a_name_that_the_member_may_know(
    shelf: Shelf, tenant: Tenant, tenants: Tenants
) -> None:
    _, member = await tenants.member(tenant)
    data = prose("shared")
    await shelf.upload(tenant.scope, "secret plan.pdf", data, Visibility.RESTRICTED)
    await shelf.upload(tenant.scope, "open.pdf", data)
    same = await shelf.upload(member, "mine.pdf", data)
    assert (same.outcome, same.warnings) == (Outcome.SAME_CONTENT, ('The same content is also called "open.pdf".',))


async def test_other_workspaces_and_other_names_give_no_hint(shelf: Shelf, tenants: Tenants) -> None:
    one, two = await tenants.workspace(), await tenants.workspace()
    await shelf.upload(one.scope, "report.pdf", prose("one"))
    assert (await shelf.upload(two.scope, "report (1).pdf", prose("two"))).warnings == ()
    for number in range(20):
        assert (await shelf.upload(one.scope, f"chapter-{number}.pdf", prose("a"))).warnings == ()
