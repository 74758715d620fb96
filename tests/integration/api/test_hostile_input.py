from uuid import uuid4

import httpx
import pytest

from app.db import models
from tests.support.api import Caller

JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b'"name"',
        b'{"name": "\xff\xfe"}',
        b"\xff\xfe{\x00}\x00",
        b'{"name": "a\\u0000b"}',
        b'{"name": "\\ud800"}',
        b'{"\\ud800": 1, "name": "a"}',
        b'{"na\\u0000me": 1, "name": "a"}',
        b'{"name": "a\\nb"}',
        b'{"name": ' + b"9" * 5_000 + b"}",
        b'{"name": 1e999}',
        b'{"name": NaN}',
        b'{"name": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"name": ' + b'{"a":' * 20_000 + b"1" + b"}" * 20_000 + b"}",
        b'{"name": ""}',
        b'{"name": "   "}',
        b'{"name": "' + b"a" * 101 + b'"}',
        b'{"name": null}',
        b'{"name": ["a"]}',
        b'{"name": true}',
    ],
)
async def test_a_broken_body_is_the_callers_error_and_is_not_repeated(caller: Caller, body: bytes) -> None:
    response = await caller.client.post("/v1/workspaces", content=body, headers={**caller.headers(), **JSON})
    assert response.status_code in {400, 422}, response.text[:300]
    problem = response.json()
    assert {"type", "title", "status", "code", "detail", "trace_id"} <= problem.keys()
    assert "input" not in str(problem.get("errors", "")).replace("Input should", "")
    assert len(response.content) < 2_000


async def test_no_column_of_any_table_can_be_set_through_a_body(caller: Caller) -> None:
    owner = await caller.found()
    columns = {column.name for table in models.Base.metadata.sorted_tables for column in table.columns}
    assert {"workspace_id", "created_by", "corpus_version"} <= columns
    for method, path, body in (
        ("POST", "/v1/workspaces", {"name": "a"}),
        ("PATCH", "/v1/workspaces/current", {"name": "a", "embedder": "local"}),
        ("POST", "/v1/workspaces/current/invitations", {"role": "member"}),
        ("PATCH", f"/v1/workspaces/current/members/{uuid4()}", {"role": "member"}),
        ("POST", "/v1/invitations/accept", {"token": "t"}),
    ):
        smuggled = columns - body.keys()
        response = await owner.call(method, path, json={**body, **dict.fromkeys(smuggled, str(uuid4()))})
        assert response.status_code == 422, (method, path)
        refused = {error["field"] for error in response.json()["errors"] if error["code"] == "extra_forbidden"}
        assert refused == {f"body.{column}" for column in smuggled}, (method, path)


@pytest.mark.parametrize("depth", [100, 330, 500, 900])
async def test_a_nested_field_that_nobody_asked_for_is_refused(caller: Caller, depth: int) -> None:
    body = b'{"name": "a", "z": ' + b"[" * depth + b"]" * depth + b"}"
    response = await caller.client.post("/v1/workspaces", content=body, headers={**caller.headers(), **JSON})
    assert response.status_code == 422, response.text[:300]


@pytest.mark.parametrize("user", ["x", "%00", "8b7b7a0e-6f0e-4d0f-9c0b", "%F0%9F%92%A9", "'%20OR%201=1"])
async def test_an_id_that_is_none_is_refused(caller: Caller, user: str) -> None:
    owner = await caller.found()
    response = await owner.call("DELETE", f"/v1/workspaces/current/members/{user}")
    assert response.status_code in {404, 405, 422}


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=101", "limit=x", "limit=99999999999999999999", "cursor=x", "cursor=%00", "cursor=%FF"]
)
async def test_a_page_that_cannot_be_is_refused(caller: Caller, query: str) -> None:
    owner = await caller.found()
    response = await owner.call("GET", f"/v1/workspaces/current/members?{query}")
    assert response.status_code == 422, response.text


async def test_an_unknown_query_parameter_is_ignored(caller: Caller) -> None:
    owner = await caller.found()
    assert (await owner.call("GET", "/v1/workspaces/current?workspace_id=x")).status_code == 200


async def test_a_form_is_not_taken_for_json(caller: Caller) -> None:
    response = await caller.client.post("/v1/workspaces", data={"name": "a"}, headers=caller.headers())
    assert response.status_code == 422


@pytest.mark.parametrize(("method", "path", "status"), [("GET", "/v1/nothing", 404), ("PUT", "/v1/me", 405)])
async def test_errors_of_the_framework_are_problems_too(
    client: httpx.AsyncClient, method: str, path: str, status: int
) -> None:
    response = await client.request(method, path)
    assert (response.status_code, response.headers["content-type"]) == (status, "application/problem+json")
    assert response.json()["status"] == status


@pytest.mark.parametrize("path", ["/v1/me/", "/v1/documents/", "/healthz/"])
async def test_no_redirect_leads_to_a_host_that_the_client_names(caller: Caller, path: str) -> None:
    headers = {**caller.headers(), "Host": "evil.example"}
    response = await caller.client.get(path, headers=headers)
    assert response.status_code == 404
    assert "location" not in response.headers


async def test_the_interface_describes_the_upload_as_the_form_that_it_takes(client: httpx.AsyncClient) -> None:
    document = (await client.get("/v1/openapi.json")).json()
    assert list(document["paths"]["/v1/documents"]["post"]["requestBody"]["content"]) == ["multipart/form-data"]
