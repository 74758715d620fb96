from hashlib import sha256

import pytest

from app.bootstrap import Services
from app.core.tenancy import WorkspaceScope
from app.documents.types import DocumentChanges, Visibility
from app.retrieval.service import RetrievalService
from app.retrieval.types import Passage
from tests.support.corpus import Corpus
from tests.support.tenants import Tenant, Tenants

TEXT = "\n\n".join(f"Paragraph {n} of the lanterns. " * 30 for n in range(9))


@pytest.fixture
async def tenant(tenants: Tenants, corpus: Corpus) -> Tenant:
    made = await tenants.workspace()
    await corpus.add(made.scope, "long.txt", TEXT)
    return made


async def passages(retrieval: RetrievalService, scope: WorkspaceScope) -> dict[int, Passage]:
    """Return the passages of the long text by their places."""
    found = (await retrieval.search(scope, "lanterns", 50)).passages
    return {
        passage.ordinal: passage for passage in found if passage.content_sha256 == sha256(TEXT.encode()).hexdigest()
    }


async def beside(services: Services, scope: WorkspaceScope, *centres: Passage) -> list[int]:
    return [passage.ordinal for passage in await services.retrieval.neighbours(scope, centres)]


async def test_neighbours_are_the_chunks_before_and_after(
    services: Services, retrieval: RetrievalService, tenant: Tenant
) -> None:
    known = await passages(retrieval, tenant.scope)
    last = max(known)
    assert last > 6
    assert await beside(services, tenant.scope, known[2]) == [1, 3]
    assert await beside(services, tenant.scope, known[0], known[last]) == [1, last - 1]
    assert await beside(services, tenant.scope, known[2], known[4]) == [1, 3, 5]
    assert await beside(services, tenant.scope) == []
    (before, after) = await services.retrieval.neighbours(tenant.scope, [known[2]])
    for found in (before, after):
        same = known[found.ordinal]
        for field in ("chunk_id", "document_id", "version_id", "text", "start", "end", "pages", "token_count"):
            assert getattr(found, field) == getattr(same, field)


async def test_neighbours_are_what_this_reader_can_search_now(
    services: Services, retrieval: RetrievalService, tenants: Tenants, corpus: Corpus, tenant: Tenant
) -> None:
    centre = (await passages(retrieval, tenant.scope))[2]
    user, member = await tenants.member(tenant)
    assert await beside(services, member, centre) == [1, 3]
    assert await beside(services, (await tenants.workspace()).scope, centre) == []
    restricted = DocumentChanges(visibility=Visibility.RESTRICTED)
    await services.documents.change(tenant.scope, centre.document_id, restricted)
    assert await beside(services, member, centre) == []
    assert await beside(services, tenant.scope, centre) == [1, 3]
    await services.documents.change(tenant.scope, centre.document_id, DocumentChanges(visibility=Visibility.WORKSPACE))
    assert await beside(services, member, centre) == [1, 3]
    await services.workspaces.remove_member(tenant.scope, user.id)
    assert await beside(services, member, centre) == []
    await corpus.add(tenant.scope, "long.txt", "A new version of the lanterns.")
    assert await beside(services, tenant.scope, centre) == []
