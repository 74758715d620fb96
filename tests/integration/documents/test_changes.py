import pytest

from app.core.errors import ForbiddenError, InvalidRequestError, NotFoundError
from app.core.ids import UserId, new_id
from app.db.models import DocumentGrant
from app.documents.errors import NameTakenError, NotAMemberError, NotFailedError
from app.documents.types import DocumentChanges, Status, Visibility
from tests.support.documents import Shelf, prose
from tests.support.tenants import Tenant, Tenants

RESTRICT = DocumentChanges(visibility=Visibility.RESTRICTED)


async def test_a_rename_changes_the_name_and_nothing_else(shelf: Shelf, tenant: Tenant) -> None:
    made = await shelf.add(tenant.scope, "a.txt", prose("the lantern"))
    before = await shelf.corpus_version(tenant.scope)
    jobs = len(await shelf.jobs(tenant.scope))
    view = await shelf.services.documents.change(tenant.scope, made.document_id, DocumentChanges(name=" b 7.3.txt "))
    assert (view.name, view.status, view.version_id) == ("b 7.3.txt", Status.READY, made.version_id)
    assert await shelf.found(tenant.scope, "lantern") == {"b 7.3.txt"}
    assert await shelf.corpus_version(tenant.scope) == before
    assert len(await shelf.jobs(tenant.scope)) == jobs


async def test_a_name_that_another_document_has_is_a_conflict(shelf: Shelf, tenant: Tenant) -> None:
    await shelf.upload(tenant.scope, "a.txt", prose("a"))
    made = await shelf.upload(tenant.scope, "b.txt", prose("b"))
    with pytest.raises(NameTakenError):
        await shelf.services.documents.change(tenant.scope, made.document_id, DocumentChanges(name="a.txt"))
    same = await shelf.services.documents.change(tenant.scope, made.document_id, DocumentChanges(name="b.txt"))
    assert same.name == "b.txt"


async def test_a_shared_name_does_not_collide_with_a_hidden_one(shelf: Shelf, tenant: Tenant, tenants: Tenants) -> None:
    _, member = await tenants.member(tenant)
    await shelf.upload(member, "a.txt", prose("a"), Visibility.RESTRICTED)
    made = await shelf.upload(tenant.scope, "b.txt", prose("b"))
    view = await shelf.services.documents.change(tenant.scope, made.document_id, DocumentChanges(name="a.txt"))
    assert view.name == "a.txt"


async def test_restricting_anothers_document_tells_nothing_of_what_they_hide(
    shelf: Shelf, tenant: Tenant, tenants: Tenants
) -> None:
    _, member = await tenants.member(tenant)
    await shelf.upload(member, "plans.txt", prose("a"), Visibility.RESTRICTED)
    shared = await shelf.upload(member, "plans.txt", prose("b"))
    view = await shelf.services.documents.change(tenant.scope, shared.document_id, RESTRICT)
    assert (view.name, view.visibility) == ("plans.txt", Visibility.RESTRICTED)


async def test_restricting_hides_a_document_from_others_at_once_and_everywhere(
    shelf: Shelf, tenant: Tenant, tenants: Tenants
) -> None:
    _, member = await tenants.member(tenant)
    made = await shelf.add(tenant.scope, "a.txt", prose("the lighthouse"))
    (passage, *_) = (await shelf.services.retrieval.search(member, "lighthouse")).passages
    documents, retrieval = shelf.services.documents, shelf.services.retrieval
    view = await documents.change(tenant.scope, made.document_id, RESTRICT)
    assert view.visibility is Visibility.RESTRICTED
    assert await shelf.listed(member) == []
    assert await shelf.found(member, "lighthouse") == set()
    for look in (
        documents.get(member, made.document_id),
        documents.page(member, made.document_id, 1, None),
        documents.page(member, made.document_id, 1, made.version_id),
        documents.content(member, made.document_id, None),
        documents.content(member, made.document_id, made.version_id),
        documents.change(member, made.document_id, DocumentChanges(name="mine.txt")),
        documents.delete(member, made.document_id),
        documents.retry(member, made.document_id),
        retrieval.chunk(member, passage.chunk_id),
    ):
        with pytest.raises(NotFoundError):
            await look
    assert await shelf.found(tenant.scope, "lighthouse") == {"a.txt"}


async def test_grants_let_named_members_read_and_a_new_list_replaces_the_old(
    shelf: Shelf, tenant: Tenant, tenants: Tenants
) -> None:
    (one, one_scope), (two, two_scope) = await tenants.member(tenant), await tenants.member(tenant)
    made = await shelf.add(tenant.scope, "a.txt", prose("the obelisk"))
    documents = shelf.services.documents
    grant_one = DocumentChanges(visibility=Visibility.RESTRICTED, grants=(one.id,))
    await documents.change(tenant.scope, made.document_id, grant_one)
    assert [await shelf.found(scope, "obelisk") for scope in (one_scope, two_scope)] == [{"a.txt"}, set()]
    await documents.change(tenant.scope, made.document_id, DocumentChanges(grants=(two.id, two.id)))
    assert [await shelf.found(scope, "obelisk") for scope in (one_scope, two_scope)] == [set(), {"a.txt"}]
    await documents.change(tenant.scope, made.document_id, DocumentChanges(name="b.txt"))
    assert await shelf.found(two_scope, "obelisk") == {"b.txt"}
    await documents.change(tenant.scope, made.document_id, DocumentChanges(grants=()))
    assert await shelf.found(two_scope, "obelisk") == set()
    assert await shelf.found(tenant.scope, "obelisk") == {"b.txt"}
    await documents.change(tenant.scope, made.document_id, DocumentChanges(visibility=Visibility.WORKSPACE))
    assert await shelf.found(one_scope, "obelisk") == {"b.txt"}
    assert await shelf.count(tenant.scope, DocumentGrant) == 0


async def test_grants_go_to_members_only_and_a_refusal_changes_nothing(
    shelf: Shelf, tenant: Tenant, tenants: Tenants
) -> None:
    stranger = await tenants.user()
    made = await shelf.upload(tenant.scope, "a.txt", prose("a"))
    for user_id in (stranger.id, UserId(new_id())):
        changes = DocumentChanges(name="b.txt", visibility=Visibility.RESTRICTED, grants=(user_id,))
        with pytest.raises(NotAMemberError):
            await shelf.services.documents.change(tenant.scope, made.document_id, changes)
    view = await shelf.services.documents.get(tenant.scope, made.document_id)
    assert (view.name, view.visibility) == ("a.txt", Visibility.WORKSPACE)


async def test_a_shared_document_has_no_grants(shelf: Shelf, tenant: Tenant) -> None:
    made = await shelf.upload(tenant.scope, "a.txt", prose("a"))
    changes = DocumentChanges(grants=(tenant.owner.id,))
    with pytest.raises(InvalidRequestError):
        await shelf.services.documents.change(tenant.scope, made.document_id, changes)


async def test_a_member_who_leaves_loses_the_grant(shelf: Shelf, tenant: Tenant, tenants: Tenants) -> None:
    user, member = await tenants.member(tenant)
    made = await shelf.add(tenant.scope, "a.txt", prose("the obelisk"))
    changes = DocumentChanges(visibility=Visibility.RESTRICTED, grants=(user.id,))
    await shelf.services.documents.change(tenant.scope, made.document_id, changes)
    await shelf.services.workspaces.remove_member(tenant.scope, user.id)
    assert await shelf.found(member, "obelisk") == set()


async def test_what_nobody_may_read_any_more_falls_to_the_owners(
    shelf: Shelf, tenant: Tenant, tenants: Tenants
) -> None:
    user, member = await tenants.member(tenant)
    _, bystander = await tenants.member(tenant)
    made = await shelf.add(member, "notes.txt", prose("the barometer"), Visibility.RESTRICTED)
    assert await shelf.listed(tenant.scope) == []
    await shelf.services.workspaces.remove_member(member, user.id)
    assert [view.id for view in await shelf.listed(tenant.scope)] == [made.document_id]
    assert await shelf.found(tenant.scope, "barometer") == {"notes.txt"}
    assert await shelf.listed(bystander) == []
    assert await shelf.found(bystander, "barometer") == set()
    await shelf.services.documents.delete(tenant.scope, made.document_id)


async def test_a_removed_member_is_told_no_more_of_what_they_were_watching(
    shelf: Shelf, tenant: Tenant, tenants: Tenants
) -> None:
    user, member = await tenants.member(tenant)
    made = await shelf.upload(tenant.scope, "a.txt", prose("a"))
    documents = shelf.services.documents
    seen = documents.watch(member, made.document_id, since=await documents.get(member, made.document_id))
    await shelf.services.workspaces.remove_member(tenant.scope, user.id)
    with pytest.raises(NotFoundError):
        await anext(seen)


async def test_members_change_their_own_documents_and_owners_change_all(
    shelf: Shelf, tenant: Tenant, tenants: Tenants
) -> None:
    _, one = await tenants.member(tenant)
    _, two = await tenants.member(tenant)
    documents = shelf.services.documents
    data = b"%PDF-1.4\n"
    made = await shelf.add(one, "a.pdf", data)
    for refused in (
        documents.change(two, made.document_id, DocumentChanges(name="b.pdf")),
        documents.change(two, made.document_id, RESTRICT),
        documents.retry(two, made.document_id),
        documents.delete(two, made.document_id),
    ):
        with pytest.raises(ForbiddenError):
            await refused
    assert (await documents.change(one, made.document_id, DocumentChanges(name="c.pdf"))).name == "c.pdf"
    assert (await documents.change(tenant.scope, made.document_id, DocumentChanges(name="d.pdf"))).name == "d.pdf"
    assert (await documents.retry(one, made.document_id)).status is Status.QUEUED
    await documents.delete(tenant.scope, made.document_id)
    assert await shelf.listed(one) == []


async def test_only_a_failed_document_is_tried_again(shelf: Shelf, tenant: Tenant) -> None:
    data = b"%PDF-1.4\n"
    documents = shelf.services.documents
    made = await shelf.upload(tenant.scope, "a.pdf", data)
    with pytest.raises(NotFailedError, match="queued"):
        await documents.retry(tenant.scope, made.document_id)
    await shelf.process(tenant.scope, data)
    failed = await documents.get(tenant.scope, made.document_id)
    assert (failed.status, failed.reason) == (Status.FAILED, "corrupt")
    again = await documents.retry(tenant.scope, made.document_id)
    assert (again.status, again.reason, again.detail) == (Status.QUEUED, None, None)
    assert len(await shelf.jobs(tenant.scope)) == 1
