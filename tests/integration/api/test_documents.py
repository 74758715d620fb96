import asyncio
import json
from collections.abc import AsyncIterator
from urllib.parse import unquote
from uuid import uuid4

import httpx
import pytest
import sqlalchemy as sa

from app.api.main import create_app
from app.bootstrap import Services, compose_services
from app.core.config import Settings
from app.db.engine import create_engine
from app.db.models import Document
from app.db.session import Database
from tests.integration.api.conftest import served
from tests.support.api import Caller
from tests.support.documents import digest, prose
from tests.support.embedder import HashEmbedder
from tests.support.issuer import Issuer

MEBIBYTE = 1024 * 1024
STREAMS = 30


@pytest.fixture
async def owner(caller: Caller) -> Caller:
    return await caller.found()


@pytest.fixture
async def live(services: Services, owner: Caller) -> AsyncIterator[Caller]:
    """The owner, over a real socket, on a service with few database connections."""
    engine = create_engine(services.settings.database_url.get_secret_value(), pool_size=5)
    few = compose_services(services.settings, Database(engine), services.redis, services.keys, HashEmbedder())
    async with served(create_app(few)) as client:
        yield Caller(client, owner.issuer, owner.subject, owner.workspace_id)
    await engine.dispose()


async def upload(caller: Caller, name: str, data: bytes, /, **fields: str) -> httpx.Response:
    return await caller.call("POST", "/v1/documents", files={"file": (name, data)}, data=fields)


async def process(services: Services, caller: Caller, data: bytes) -> None:
    """Run the pipeline over what a caller uploaded."""
    user = await caller.call("GET", "/v1/me")
    assert caller.workspace_id is not None
    workspace_id, user_id = caller.workspace_id, user.json()["user"]["id"]
    scope = services.workspaces.scope_for_job(workspace_id, user_id, "test")  # type: ignore[arg-type]  # ids as text
    await services.ingestion.run(scope, digest(data))


async def join(owner: Caller, issuer: Issuer) -> Caller:
    """Return a new member of an owner's workspace."""
    assert owner.workspace_id is not None
    invited = await owner.call("POST", "/v1/workspaces/current/invitations", json={"role": "member"})
    member = Caller(owner.client, issuer, f"user-{uuid4()}")
    accepted = await member.call("POST", "/v1/invitations/accept", json={"token": invited.json()["token"]})
    assert accepted.is_success, accepted.text
    return member.inside(owner.workspace_id)


async def events(caller: Caller, path: str) -> list[tuple[str, dict[str, object]]]:
    """Read a stream to its end."""
    found = []
    async with caller.client.stream("GET", path, headers=caller.headers()) as response:
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        name = ""
        async for line in response.aiter_lines():
            if line.startswith("event: "):
                name = line.removeprefix("event: ")
            elif line.startswith("data: "):
                found.append((name, json.loads(line.removeprefix("data: "))))
    return found


async def test_an_upload_is_accepted_processed_and_shown(services: Services, owner: Caller) -> None:
    data = prose("the theodolite")
    accepted = await upload(owner, "a.txt", data)
    assert accepted.status_code == 202
    body = accepted.json()
    assert body.keys() == {"document_id", "version_id", "outcome", "status", "warnings"}
    assert (body["outcome"], body["status"]) == ("created", "queued")
    await process(services, owner, data)
    shown = (await owner.call("GET", f"/v1/documents/{body['document_id']}")).json()
    assert shown["status"] == shown["stage"] == "ready"
    assert (shown["name"], shown["version_id"], shown["visibility"]) == ("a.txt", body["version_id"], "workspace")
    assert (shown["page_count"], shown["chunk_count"], shown["size_bytes"]) == (1, 1, len(data))
    page = (await owner.call("GET", f"/v1/documents/{body['document_id']}/pages/1")).json()
    assert (page["number"], page["text"], page["version_id"]) == (1, data.decode(), body["version_id"])


async def test_fifty_clients_at_once_get_one_document(live: Caller, services: Services) -> None:
    data = prose("the crowd", 200)
    answers = await asyncio.gather(*(upload(live, "crowd.txt", data) for _ in range(50)))
    assert {answer.status_code for answer in answers} == {202}
    bodies = [answer.json() for answer in answers]
    assert sorted(body.pop("outcome") for body in bodies) == ["created"] + ["identical"] * 49
    assert all(body == bodies[0] for body in bodies)
    listed = (await live.call("GET", "/v1/documents")).json()["items"]
    assert [document["id"] for document in listed] == [bodies[0]["document_id"]]
    folder = services.settings.blob_path / str(live.workspace_id)
    assert len(list(folder.iterdir())) == 1


async def test_the_name_may_be_given_and_the_type_is_told_by_the_content(owner: Caller) -> None:
    files = {"file": ("scan.exe", prose("a"), "application/x-msdownload")}
    accepted = await owner.call("POST", "/v1/documents", files=files, data={"name": "Handbuch (neu).md"})
    shown = await owner.call("GET", f"/v1/documents/{accepted.json()['document_id']}")
    assert shown.json()["name"] == "Handbuch (neu).md"
    content = await owner.call("GET", f"/v1/documents/{accepted.json()['document_id']}/content")
    assert content.headers["content-type"].startswith("text/markdown")


async def test_forms_that_are_not_as_described_are_refused(owner: Caller) -> None:
    file = {"file": ("a.txt", prose("a"))}
    for arguments in (
        {"files": file, "data": {"workspace_id": str(uuid4())}},
        {"files": file, "data": {"visibility": "public"}},
        {"files": file, "data": {"name": "x" * 256}},
        {"files": file, "data": {"name": "a\x00b"}},
        {"files": {**file, "second": ("b.txt", b"b")}},
        {"data": {"name": "a.txt"}},
        {"data": {"file": "not a file"}},
        {"files": {"file": (None, b"not a file")}},
        {"json": {"file": "a"}},
        {},
    ):
        response = await owner.call("POST", "/v1/documents", **arguments)
        assert response.status_code == 422, (arguments, response.text)
        assert response.headers["content-type"] == "application/problem+json"
    assert (await owner.call("GET", "/v1/documents")).json()["items"] == []


@pytest.mark.parametrize(
    ("name", "data", "status", "code"),
    [
        ("a.txt", b"", 422, "document_empty"),
        ("a.pdf", b"PK\x03\x04\x14\x00\x06\x00" * 9, 415, "unsupported_media_type"),
        ("a.html", b"<!doctype html><p>text", 415, "unsupported_media_type"),
        ("a.txt", b"\x7fELF\x02\x01\x01\x00" * 9, 415, "unsupported_media_type"),
        ("..", b"text", 422, "invalid_request"),
        ("x" * 300, b"text", 422, "invalid_request"),
    ],
)
async def test_files_that_cannot_be_taken_in_are_refused_in_words(
    owner: Caller, name: str, data: bytes, status: int, code: str
) -> None:
    response = await upload(owner, name, data)
    assert (response.status_code, response.json()["code"]) == (status, code)
    assert response.json()["detail"].endswith(".")


async def test_a_file_over_the_limit_is_refused_with_and_without_a_length(live: Caller, settings: Settings) -> None:
    limit = settings.max_upload_bytes
    over_a_little = await upload(live, "a.txt", b"a" * (limit + 1))
    assert (over_a_little.status_code, over_a_little.json()["code"]) == (413, "document_too_large")
    declared = await upload(live, "a.txt", b"a" * (limit + 2 * MEBIBYTE))
    assert declared.status_code == 413

    async def endless() -> AsyncIterator[bytes]:
        yield b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n'
        for _ in range(limit // 65_536 + 40):
            yield b"a" * 65_536
        yield b"\r\n--b--\r\n"

    headers = {**live.headers(), "Content-Type": "multipart/form-data; boundary=b"}
    chunked = await live.client.post("/v1/documents", content=endless(), headers=headers)
    assert chunked.status_code == 413
    assert (await live.call("GET", "/v1/documents")).json()["items"] == []


@pytest.mark.parametrize("authorization", [{}, {"Authorization": "Bearer x.y.z"}], ids=["none", "bad"])
async def test_no_byte_of_a_file_is_read_without_a_valid_token(owner: Caller, authorization: dict[str, str]) -> None:
    read = 0

    async def body() -> AsyncIterator[bytes]:
        nonlocal read
        for _ in range(10):
            read += 1
            yield b"a" * 65_536

    headers = {**authorization, "X-Workspace-Id": str(owner.workspace_id)}
    headers["Content-Type"] = "multipart/form-data; boundary=b"
    response = await owner.client.post("/v1/documents", content=body(), headers=headers)
    assert (response.status_code, read) == (401, 0)
    assert response.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    ("body", "statuses"),
    [
        (
            b'--b\r\nContent-Disposition: form-data; name="file"\r\n\r\n' + b"a" * (3 * MEBIBYTE) + b"\r\n--b--\r\n",
            {400},
        ),
        (b"no boundary at all", {400, 422}),
        (b"", {400, 422}),
        (b'--b\r\nContent-Disposition: form-data; filename="a.txt"\r\n\r\nx\r\n--b--\r\n', {400, 422}),
        (b"--b\r\n" + b"X-Header: " + b"h" * 100_000 + b"\r\n\r\nx\r\n--b--\r\n", {400, 422}),
        (b'--b\r\nContent-Disposition: form-data; name="n"; filename="f"\r\n\r\nx\r\n' * 1_100 + b"--b--\r\n", {400}),
    ],
    ids=["long field", "no boundary", "empty", "no name", "long header", "many parts"],
)
async def test_broken_forms_are_the_callers_error(owner: Caller, body: bytes, statuses: set[int]) -> None:
    headers = {**owner.headers(), "Content-Type": "multipart/form-data; boundary=b"}
    response = await owner.client.post("/v1/documents", content=body, headers=headers)
    assert response.status_code in statuses, response.text
    assert len(response.content) < 2_000


# Starlette 1.10 leaves the unfinished part to the garbage collector, which says so.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_a_form_that_is_cut_off_is_the_callers_error(owner: Caller) -> None:
    headers = {**owner.headers(), "Content-Type": "multipart/form-data; boundary=b"}
    body = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\ncut off'
    response = await owner.client.post("/v1/documents", content=body, headers=headers)
    assert response.status_code == 422
    assert (await owner.call("GET", "/v1/documents")).json()["items"] == []


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\temp\\report.txt", "report.txt"),
        ("tab\tand\r\nline.txt", "tabandline.txt"),
        ("invoice\u202etxt.exe", "invoicetxt.exe"),
        ("<script>alert(1)</script>.txt", "script>.txt"),
        ('quote".txt', 'quote".txt'),
        ("日本語 ümlaut 😀.txt", "日本語 ümlaut 😀.txt"),
        ("%2e%2e%2f.txt", "%2e%2e%2f.txt"),
        ("' OR 1=1 --.txt", "' OR 1=1 --.txt"),
    ],
)
async def test_hostile_names_are_kept_as_plain_names(owner: Caller, sent: str, kept: str) -> None:
    accepted = await upload(owner, "a.txt", prose("a"), name=sent)
    assert accepted.status_code == 202, accepted.text
    path = f"/v1/documents/{accepted.json()['document_id']}"
    assert (await owner.call("GET", path)).json()["name"] == kept
    disposition = (await owner.call("GET", f"{path}/content")).headers["content-disposition"]
    kind, _, name = disposition.partition("; filename*=UTF-8''")
    assert (kind, unquote(name)) == ("attachment", kept)
    assert disposition.isascii()
    assert not set(name) & set(" \"'<>;\r\n")


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
        "documents": 1, "versions": 1, "citations": 0, "pages": 1, "chunks": 1, "embeddings": 1, "blobs": 1,
    }  # fmt: skip
    for method, target in (("GET", path), ("GET", f"{path}/pages/1"), ("DELETE", path), ("POST", f"{path}/retry")):
        assert (await owner.call(method, target)).status_code == 404


async def test_events_end_with_the_final_state(live: Caller, services: Services) -> None:
    data = prose("a")
    path = f"/v1/documents/{(await upload(live, 'a.txt', data)).json()['document_id']}"
    following = asyncio.create_task(events(live, f"{path}/events"))
    await asyncio.sleep(0.5)
    await process(services, live, data)
    seen = await asyncio.wait_for(following, 10)
    assert {name for name, _ in seen} == {"status"}
    assert seen[0][1]["status"] == "queued"
    assert seen[-1][1] == (await live.call("GET", path)).json()
    assert seen[-1][1]["status"] == "ready"
    assert await events(live, f"{path}/events") == [seen[-1]]


async def test_events_of_a_document_that_is_deleted_end_with_the_problem(live: Caller) -> None:
    path = f"/v1/documents/{(await upload(live, 'a.txt', prose('a'))).json()['document_id']}"
    following = asyncio.create_task(events(live, f"{path}/events"))
    await asyncio.sleep(0.5)
    await live.call("DELETE", path)
    (first, _), (last, problem) = await asyncio.wait_for(following, 10)
    assert (first, last, problem["status"], problem["code"]) == ("status", "error", 404, "not_found")


async def test_events_of_an_unknown_document_are_a_404_and_no_stream(live: Caller) -> None:
    response = await live.call("GET", f"/v1/documents/{uuid4()}/events")
    assert (response.status_code, response.headers["content-type"]) == (404, "application/problem+json")


async def test_open_streams_hold_no_database_connection(live: Caller, services: Services) -> None:
    data = prose("a")
    path = f"/v1/documents/{(await upload(live, 'a.txt', data)).json()['document_id']}"
    following = [asyncio.create_task(events(live, f"{path}/events")) for _ in range(STREAMS)]
    await asyncio.sleep(1)
    async with asyncio.timeout(10):
        for number in range(10):
            assert (await live.call("GET", "/v1/documents")).status_code == 200
            assert (await upload(live, f"{number}.txt", prose("b"))).status_code == 202
    assert not any(stream.done() for stream in following)
    await process(services, live, data)
    for stream in following:
        assert (await asyncio.wait_for(stream, 10))[-1][1]["status"] == "ready"


async def test_clients_that_leave_their_streams_leave_nothing_behind(live: Caller) -> None:
    path = f"/v1/documents/{(await upload(live, 'a.txt', prose('a'))).json()['document_id']}"
    following = [asyncio.create_task(events(live, f"{path}/events")) for _ in range(STREAMS)]
    await asyncio.sleep(1)
    for stream in following:
        stream.cancel()
    await asyncio.wait(following)
    async with asyncio.timeout(15):  # a task for each stream, none of them ours
        # The tasks are the server's and tell nobody of their end.
        while any(getattr(task.get_coro(), "__qualname__", "") == "_pump" for task in asyncio.all_tasks()):  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    assert (await live.call("GET", path)).status_code == 200
