from uuid import uuid4

import sqlalchemy as sa

from app.bootstrap import Services
from app.db.models import Document
from tests.support.api import Caller
from tests.support.document_calls import process, upload
from tests.support.documents import prose
from tests.support.issuer import Issuer


async def join(owner: Caller, issuer: Issuer) -> Caller:
    """Return a new member of an owner's workspace."""
    assert owner.workspace_id is not None
    invited = await owner.call("POST", "/v1/workspaces/current/invitations", json={"role": "member"})
    member = Caller(owner.client, issuer, f"user-{uuid4()}")
    accepted = await member.call("POST", "/v1/invitations/accept", json={"token": invited.json()["token"]})
    assert accepted.is_success, accepted.text
    return member.inside(owner.workspace_id)


async def test_the_original_is_an_attachment_that_no_browser_renders(owner: Caller) -> None:
    data = b"# Title\n\n<script>alert(1)</script>"
    accepted = (await upload(owner, "a.md", data)).json()
    path = f"/v1/documents/{accepted['document_id']}/content"
    for query in ("", f"?version_id={accepted['version_id']}"):
        response = await owner.call("GET", path + query)
        assert response.content == data
        assert response.headers["content-length"] == str(len(data))
        assert response.headers["content-disposition"].startswith("attachment")
        assert response.headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in response.headers["content-security-policy"]
        assert response.headers["cache-control"] == "no-store"
    assert (await owner.call("GET", f"{path}?version_id={uuid4()}")).status_code == 404


async def test_bytes_that_are_gone_are_404_and_not_a_broken_download(owner: Caller, services: Services) -> None:
    accepted = (await upload(owner, "a.txt", prose("a"))).json()
    folder = services.settings.blob_path / str(owner.workspace_id)
    for path in list(folder.iterdir()):
        path.unlink()
    response = await owner.call("GET", f"/v1/documents/{accepted['document_id']}/content")
    assert (response.status_code, response.json()["code"]) == (404, "not_found")


async def test_pages_that_do_not_exist_are_404(services: Services, owner: Caller) -> None:
    data = prose("a")
    accepted = (await upload(owner, "a.txt", data)).json()
    pages = f"/v1/documents/{accepted['document_id']}/pages"
    assert (await owner.call("GET", f"{pages}/1")).status_code == 404
    await process(services, owner, data)
    assert (await owner.call("GET", f"{pages}/1")).status_code == 200
    assert (await owner.call("GET", f"{pages}/2")).status_code == 404
    assert (await owner.call("GET", f"{pages}/1000000")).status_code == 404
    assert (await owner.call("GET", f"{pages}/1?version_id={uuid4()}")).status_code == 404
    for number in ("0", "-1", "x", "99999999999999999999"):
        assert (await owner.call("GET", f"{pages}/{number}")).status_code == 422


async def test_lists_page_through_documents_of_the_same_moment(owner: Caller, services: Services) -> None:
    for number in range(7):
        await upload(owner, f"{number}.txt", prose("a"))
    user_id = (await owner.call("GET", "/v1/me")).json()["user"]["id"]
    scope = services.workspaces.scope_for_job(owner.workspace_id, user_id, "test")  # type: ignore[arg-type]  # ids as text
    async with services.database.workspace(scope) as session:
        await session.execute(sa.update(Document).values(created_at=sa.func.date_trunc("day", sa.func.now())))
    seen: list[str] = []
    query, pages = "", 0
    while True:
        body = (await owner.call("GET", f"/v1/documents?limit=2{query}")).json()
        assert len(body["items"]) <= 2
        seen += [item["name"] for item in body["items"]]
        pages += 1
        if body["next_cursor"] is None:
            break
        query = f"&cursor={body['next_cursor']}"
    assert (sorted(seen), pages) == ([f"{n}.txt" for n in range(7)], 4)


async def test_lists_are_newest_first_and_can_be_limited_to_a_state(services: Services, owner: Caller) -> None:
    good, bad = prose("a"), b"%PDF-1.4\n"
    await upload(owner, "good.txt", good)
    await upload(owner, "bad.pdf", bad)
    await upload(owner, "waiting.txt", prose("b"))
    await process(services, owner, good)
    await process(services, owner, bad)

    async def names(query: str) -> list[str]:
        return [item["name"] for item in (await owner.call("GET", f"/v1/documents{query}")).json()["items"]]

    assert await names("") == ["waiting.txt", "bad.pdf", "good.txt"]
    assert await names("?status=ready") == ["good.txt"]
    assert await names("?status=failed") == ["bad.pdf"]
    assert await names("?status=queued") == ["waiting.txt"]
    assert await names("?status=embedding") == []
    for query in ("?status=lost", "?limit=0", "?limit=100000", "?cursor=x"):
        assert (await owner.call("GET", f"/v1/documents{query}")).status_code in {400, 422}


async def test_a_failure_is_told_as_a_code_and_in_words_and_can_be_tried_again(
    services: Services, owner: Caller
) -> None:
    data = b"%PDF-1.4\n"
    path = f"/v1/documents/{(await upload(owner, 'a.pdf', data)).json()['document_id']}"
    early = await owner.call("POST", f"{path}/retry")
    assert (early.status_code, early.json()["code"]) == (409, "not_failed")
    await process(services, owner, data)
    failed = (await owner.call("GET", path)).json()
    assert (failed["status"], failed["reason"]) == ("failed", "corrupt")
    assert "damaged" in failed["detail"]
    again = await owner.call("POST", f"{path}/retry")
    assert (again.status_code, again.json()["status"], again.json()["reason"]) == (202, "queued", None)


async def test_changes_follow_the_rules_of_who_may(owner: Caller, issuer: Issuer) -> None:
    member = await join(owner, issuer)
    path = f"/v1/documents/{(await upload(owner, 'a.txt', prose('a'))).json()['document_id']}"
    await upload(owner, "b.txt", prose("b"))
    member_id = (await member.call("GET", "/v1/me")).json()["user"]["id"]
    assert (await member.call("PATCH", path, json={"name": "mine.txt"})).status_code == 403
    assert (await member.call("DELETE", path)).status_code == 403
    taken = await owner.call("PATCH", path, json={"name": "b.txt"})
    assert (taken.status_code, taken.json()["code"]) == (409, "name_taken")
    strange = await owner.call("PATCH", path, json={"visibility": "restricted", "grants": [str(uuid4())]})
    assert (strange.status_code, strange.json()["code"]) == (422, "not_a_member")
    granted = await owner.call("PATCH", path, json={"visibility": "restricted", "grants": [member_id]})
    assert (granted.status_code, granted.json()["visibility"]) == (200, "restricted")
    assert (await member.call("GET", path)).status_code == 200
    await owner.call("PATCH", path, json={"grants": []})
    for method, target in (("GET", path), ("GET", f"{path}/content"), ("GET", f"{path}/events"), ("DELETE", path)):
        assert (await member.call(method, target)).status_code == 404
    for body in ({"name": ""}, {"name": "  "}, {"size_bytes": 1}, {"visibility": "all"}, {"grants": ["x"]}):
        assert (await owner.call("PATCH", path, json=body)).status_code == 422


async def test_a_deletion_answers_with_a_receipt(services: Services, owner: Caller) -> None:
    data = prose("a")
    path = f"/v1/documents/{(await upload(owner, 'a.txt', data)).json()['document_id']}"
    await process(services, owner, data)
    receipt = (await owner.call("DELETE", path)).json()
    assert path.endswith(receipt["document_id"])
    assert receipt["removed"] == {
        "documents": 1, "versions": 1, "citations": 0, "pages": 1, "chunks": 1, "word_lists": 1, "embeddings": 1,
        "blobs": 1, "cache_entries": 0,
    }  # fmt: skip
    assert receipt["remaining"] == dict.fromkeys(receipt["removed"], 0)
    assert receipt["detail"].startswith("Deleted.")
    for method, target in (("GET", path), ("GET", f"{path}/pages/1"), ("DELETE", path), ("POST", f"{path}/retry")):
        assert (await owner.call(method, target)).status_code == 404
