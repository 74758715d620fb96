"""Every operation of the interface against every id of another tenant, made from the OpenAPI document.

A route that is added is tried without a change here; one whose parameters nobody can fill yet fails these tests.
"""

import dataclasses
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from uuid import UUID, uuid4

import httpx
import pytest
from fastapi import FastAPI
from starlette.routing import BaseRoute

from adversarial.operations import (
    ID_KINDS,
    OF_THE_USER,
    PUBLIC,
    WORKSPACE_HEADER,
    Ids,
    UnknownParameterError,
    operations,
    prepare,
    swapped,
)
from app.bootstrap import Services
from app.cli.openapi import document
from app.core.ids import UserId, WorkspaceId
from app.core.tenancy import WorkspaceScope
from app.jobs import dead_letters
from app.jobs.payloads import TaskName
from tests.support.api import Caller
from tests.support.issuer import Issuer

TEXT = "2.12 Verify that logs are kept.\n2.13 Verify that keys are kept in a safe.\n"
QUESTION = "What does requirement 2.13 say?"
# What a valid request of a member may end in: done, or refused for a reason that has nothing to do with rights.
ALLOWED = {200, 201, 202, 204, 409}
NOT_DESCRIBED = {"/v1/openapi.json"}


@dataclass(frozen=True, slots=True)
class Tenant:
    """An owner inside of a workspace that holds one of each thing."""

    owner: Caller
    ids: Ids


async def made(caller: Caller, services: Services) -> Tenant:
    """Return a new tenant, made through the interface and processed as by the worker."""
    owner = await caller.found(f"Workspace of {caller.subject}")
    text = f"{TEXT}{owner.workspace_id}\n".encode()
    sent = await owner.call("POST", "/v1/documents", files={"file": (f"{caller.subject}.txt", text, "text/plain")})
    uploaded = sent.json()
    user = (await owner.call("GET", "/v1/me")).json()["user"]["id"]
    job = services.workspaces.scope_for_job(WorkspaceId(UUID(owner.workspace_id)), UserId(UUID(user)), "job")
    await services.ingestion.run(job, sha256(text).hexdigest())
    conversation = str(uuid4())
    asked = await owner.call("POST", "/v1/ask", json={"question": QUESTION, "conversation_id": conversation})
    answer = asked.json()
    await given_up(services, job)
    (letter,) = (await owner.call("GET", "/v1/dead-letters")).json()["items"]
    return Tenant(
        owner,
        Ids(
            document=uploaded["document_id"],
            version=uploaded["version_id"],
            chunk=answer["claims"][0]["citations"][0]["chunk_id"],
            answer=answer["id"],
            conversation=conversation,
            member=await joined(owner),
            letter=letter["id"],
        ),
    )


async def given_up(services: Services, scope: WorkspaceScope) -> None:
    """Give up a job of a workspace that can be asked for again."""
    payload = {"workspace_id": str(scope.workspace_id), "keys": [f"{scope.workspace_id}/none"]}
    async with services.database.workspace(scope) as session:
        await dead_letters.bury(
            session,
            scope,
            task=TaskName.REMOVE_BLOBS,
            payload=payload,
            content_sha256=None,
            reason="blobs_not_removed",
            detail="It was given up.",
            attempts=10,
        )


async def joined(owner: Caller) -> str:
    """Return the id of a new member of a workspace."""
    invitation = await owner.call("POST", "/v1/workspaces/current/invitations", json={"role": "member"})
    guest = Caller(owner.client, owner.issuer, f"guest-{uuid4()}")
    await guest.call("POST", "/v1/invitations/accept", json={"token": invitation.json()["token"]})
    return str((await guest.call("GET", "/v1/me")).json()["user"]["id"])


OPERATIONS = operations(json.loads(document()))
BY_NAME = {operation.name: operation for operation in OPERATIONS}
OF_WORKSPACES = [operation.name for operation in OPERATIONS if operation.of_workspace]
ID_CASES = [
    (operation.name, name, place)
    for operation in OPERATIONS
    if operation.of_workspace
    for name, place in operation.id_parameters()
]


async def call(caller: Caller, name: str, ids: Ids, invitation: str = "") -> httpx.Response:
    """Call an operation with these ids."""
    request = prepare(BY_NAME[name], ids, invitation=invitation)
    return await caller.call(request.method, request.path, **request.arguments)


def comparable(response: httpx.Response) -> tuple[int, object, object]:
    """Return what may not differ between a foreign id and one of nothing."""
    body = response.json() if "json" in response.headers["content-type"] else response.content
    if isinstance(body, dict):
        body = {name: value for name, value in body.items() if name not in {"id", "trace_id"}}
    headers = {name: value for name, value in response.headers.items() if name not in {"date", "x-request-id"}}
    return response.status_code, headers, body


@pytest.fixture(scope="module")
async def victim(client: httpx.AsyncClient, issuer: Issuer, services: Services) -> Tenant:
    return await made(Caller(client, issuer, f"victim-{uuid4()}"), services)


@pytest.fixture(scope="module")
async def attacker(client: httpx.AsyncClient, issuer: Issuer, services: Services) -> Tenant:
    return await made(Caller(client, issuer, f"attacker-{uuid4()}"), services)


def paths_of(routes: Iterable[BaseRoute]) -> Iterator[str]:
    """Yield the path of every route, also of those that are in no document; a kind that is unknown here fails."""
    for route in routes:
        inner = getattr(route, "original_router", None)
        if inner is None:
            yield str(route.path)  # type: ignore[attr-defined]  # every kind but the one above has it
        else:
            yield from paths_of(inner.routes)


async def state(tenant: Tenant) -> list[object]:
    """Return what a tenant sees of its own things."""
    paths = (
        f"/v1/documents/{tenant.ids.document}",
        f"/v1/answers/{tenant.ids.answer}",
        f"/v1/answers/{tenant.ids.answer}/explain",
        f"/v1/chunks/{tenant.ids.chunk}",
    )
    lists = ("/v1/documents", "/v1/dead-letters?status=all", "/v1/workspaces/current", "/v1/workspaces/current/members")
    seen = [await tenant.owner.call("GET", path) for path in (*paths, *lists)]
    assert [response.status_code for response in seen] == [200] * len(seen)
    return [response.json() for response in seen]


def marks(tenant: Tenant) -> list[str]:
    """Return what only this tenant may see."""
    return [*dataclasses.astuple(tenant.ids), tenant.owner.workspace_id or "", tenant.owner.subject]


def test_every_route_of_the_application_is_described(api: FastAPI) -> None:
    served = set(paths_of(api.routes))
    assert served >= NOT_DESCRIBED
    assert served - NOT_DESCRIBED == {operation.path for operation in OPERATIONS}


def test_routes_outside_of_workspaces_are_the_listed_ones() -> None:
    assert {operation.name for operation in OPERATIONS if not operation.secured} == PUBLIC
    assert {
        operation.name for operation in OPERATIONS if operation.secured and not operation.of_workspace
    } == OF_THE_USER


def test_every_kind_of_id_is_tried() -> None:
    tried = {ID_KINDS[name] for operation in OPERATIONS for name, _ in operation.id_parameters()}
    assert tried == set(ID_KINDS.values()) == {field.name for field in dataclasses.fields(Ids)}
    assert len(ID_CASES) >= 15


def test_a_route_with_an_unknown_parameter_is_noticed() -> None:
    new = dataclasses.replace(BY_NAME["get_chunk"], parameters={"shelf_id": "path", WORKSPACE_HEADER: "header"})
    with pytest.raises(UnknownParameterError):
        prepare(new, Ids.random())


@pytest.mark.parametrize("name", [operation.name for operation in OPERATIONS if operation.secured])
async def test_without_a_token_nobody_gets_further_than_401(
    client: httpx.AsyncClient, victim: Tenant, name: str
) -> None:
    request = prepare(BY_NAME[name], victim.ids)
    headers = {WORKSPACE_HEADER: victim.owner.workspace_id or ""}
    response = await client.request(request.method, request.path, headers=headers, **request.arguments)
    assert response.status_code == 401, response.text
    assert response.headers["www-authenticate"].startswith("Bearer")


@pytest.mark.parametrize("name", OF_WORKSPACES)
async def test_a_stranger_gets_the_same_403_for_a_workspace_and_for_none(
    attacker: Tenant, victim: Tenant, name: str
) -> None:
    foreign = await call(attacker.owner.inside(victim.owner.workspace_id or ""), name, victim.ids)
    nothing = await call(attacker.owner.inside(str(uuid4())), name, victim.ids)
    assert foreign.status_code == 403, foreign.text
    assert comparable(foreign) == comparable(nothing)


@pytest.mark.parametrize("name", OF_WORKSPACES)
async def test_without_a_workspace_nothing_is_done(attacker: Tenant, name: str) -> None:
    response = await call(attacker.owner.inside(""), name, attacker.ids)
    assert response.status_code == 400, response.text


@pytest.mark.parametrize(("name", "parameter", "place"), ID_CASES)
async def test_a_foreign_id_is_answered_as_an_id_of_nothing(
    attacker: Tenant, victim: Tenant, name: str, parameter: str, place: str
) -> None:
    before = await state(victim)
    for around in (attacker.ids, Ids.random(), victim.ids):
        foreign = await call(attacker.owner, name, swapped(around, parameter, victim.ids))
        nothing = await call(attacker.owner, name, swapped(around, parameter, Ids.random()))
        assert comparable(foreign) == comparable(nothing)
        assert foreign.status_code == 404 or place == "body", foreign.text
        assert not [mark for mark in marks(victim) if mark in foreign.text]
    assert await state(victim) == before


@pytest.mark.parametrize("name", [operation.name for operation in OPERATIONS if operation.secured])
async def test_the_same_request_with_own_ids_is_let_through(
    client: httpx.AsyncClient, issuer: Issuer, services: Services, attacker: Tenant, name: str
) -> None:
    """Otherwise the refusals above would show nothing."""
    reads = BY_NAME[name].method == "GET"
    tenant = attacker if reads else await made(Caller(client, issuer, f"own-{uuid4()}"), services)
    invited = await tenant.owner.call("POST", "/v1/workspaces/current/invitations", json={"role": "member"})
    response = await call(tenant.owner, name, tenant.ids, invited.json()["token"])
    assert response.status_code in ALLOWED, response.text
