from collections.abc import AsyncIterator
from uuid import UUID, uuid4

import httpx
import pytest
import sqlalchemy as sa

from app.api.main import create_app
from app.bootstrap import Services, compose_services
from app.core.ids import WorkspaceId
from app.db.models import Workspace
from app.llm.embedders import Embedders
from tests.support.api import Caller
from tests.support.embedder import HashEmbedder
from tests.support.issuer import Issuer
from tests.support.pipelines import OtherEmbedder


@pytest.fixture
def stranger(client: httpx.AsyncClient, issuer: Issuer) -> Caller:
    return Caller(client, issuer, f"stranger-{uuid4()}")


@pytest.fixture
async def far(caller: Caller, services: Services) -> AsyncIterator[Caller]:
    """The caller at a process that is configured with a remote model."""
    embedders = Embedders(HashEmbedder(), OtherEmbedder())
    composed = compose_services(
        services.settings, services.database, services.redis, services.keys, embedders, parser=services.parser
    )
    transport = httpx.ASGITransport(create_app(composed))
    async with httpx.AsyncClient(transport=transport, base_url="http://api.test") as client:
        yield Caller(client, caller.issuer, caller.subject)


async def join(owner: Caller, guest: Caller, role: str = "member") -> Caller:
    """Let a guest in by invitation and return them inside of the workspace."""
    invitation = await owner.call("POST", "/v1/workspaces/current/invitations", json={"role": role})
    assert invitation.status_code == 201, invitation.text
    accepted = await guest.call("POST", "/v1/invitations/accept", json={"token": invitation.json()["token"]})
    assert accepted.status_code == 200, accepted.text
    return guest.inside(accepted.json()["id"])


async def user_id(caller: Caller) -> str:
    response = await caller.call("GET", "/v1/me")
    return str(response.json()["user"]["id"])


async def test_a_new_user_has_no_workspace_makes_one_and_owns_it(caller: Caller) -> None:
    before = (await caller.call("GET", "/v1/me")).json()
    assert (before["user"]["email"], before["workspaces"]) == (f"{caller.subject}@example.com", [])
    created = await caller.call("POST", "/v1/workspaces", json={"name": "  Field service  "})
    assert (created.status_code, created.json()["name"], created.json()["role"]) == (201, "Field service", "owner")
    assert (await caller.call("GET", "/v1/me")).json()["workspaces"] == [created.json()]


async def test_a_workspace_is_read_renamed_and_deleted_by_its_owner(caller: Caller) -> None:
    owner = await caller.found()
    renamed = await owner.call("PATCH", "/v1/workspaces/current", json={"name": "Lab"})
    assert renamed.json() == (await owner.call("GET", "/v1/workspaces/current")).json()
    assert renamed.json()["name"] == "Lab"
    receipt = await owner.call("DELETE", "/v1/workspaces/current")
    assert receipt.json()["workspace_id"] == owner.workspace_id
    assert receipt.json()["removed"]["members"] == 1
    assert (await owner.call("GET", "/v1/workspaces/current")).status_code == 403


async def test_a_workspace_tells_what_it_is_searched_by(caller: Caller, services: Services) -> None:
    owner = await caller.found()
    assert owner.workspace_id
    fresh = (await owner.call("GET", "/v1/workspaces/current")).json()
    assert (fresh["embedding_model"], fresh["reembedding"]) == ("", None)
    async with services.database.founding(WorkspaceId(UUID(owner.workspace_id))) as session:
        mine = sa.update(Workspace).where(Workspace.id == UUID(owner.workspace_id))
        await session.execute(mine.values(embedding_model="left-behind"))
    moving = (await owner.call("GET", "/v1/workspaces/current")).json()
    assert (moving["embedding_model"], moving["reembedding"]) == (
        "left-behind",
        {"model": "hash-384", "done": 0, "total": 0},
    )
    assert "left-behind" in moving["embedder_problem"]
    assert (await owner.call("PATCH", "/v1/workspaces/current", json={"name": moving["name"]})).json() == moving


async def test_a_workspace_tells_what_it_can_be_embedded_by(caller: Caller, far: Caller) -> None:
    owner = await caller.found()
    seen = (await owner.call("GET", "/v1/workspaces/current")).json()
    assert (seen["embedder"], seen["embedder_problem"]) == ("default", None)
    here = [{"name": "default", "model": "hash-384"}, {"name": "local", "model": "hash-384"}]
    assert seen["embedders"] == here
    assert owner.workspace_id
    seen = (await far.inside(owner.workspace_id).call("GET", "/v1/workspaces/current")).json()
    remote = "other-128"
    assert seen["embedders"] == [
        {"name": "default", "model": remote},
        {"name": "local", "model": "hash-384"},
        {"name": "remote", "model": remote},
    ]


async def test_an_owner_chooses_the_embedder_with_or_without_a_name(far: Caller) -> None:
    owner = await far.found()
    for body, name, embedder in (
        ({"embedder": "remote"}, "Field service", "remote"),
        ({"name": "Lab", "embedder": "local"}, "Lab", "local"),
        ({"name": "Laboratory"}, "Laboratory", "local"),
        ({"name": None, "embedder": None}, "Laboratory", "local"),
        ({}, "Laboratory", "local"),
        ({"embedder": "default"}, "Laboratory", "default"),
    ):
        changed = await owner.call("PATCH", "/v1/workspaces/current", json=body)
        assert changed.status_code == 200, changed.text
        assert (changed.json()["name"], changed.json()["embedder"]) == (name, embedder)
        assert changed.json() == (await owner.call("GET", "/v1/workspaces/current")).json()


async def test_an_embedder_that_is_not_offered_is_refused_with_what_to_do(caller: Caller) -> None:
    owner = await caller.found()
    refused = await owner.call("PATCH", "/v1/workspaces/current", json={"name": "Lab", "embedder": "remote"})
    assert (refused.status_code, refused.json()["code"]) == (409, "embedder_not_offered")
    assert refused.json()["offered"] == ["default", "local"]
    assert "`local` or `default`" in refused.json()["detail"]
    now = (await owner.call("GET", "/v1/workspaces/current")).json()
    assert (now["name"], now["embedder"]) == ("Field service", "default")


@pytest.mark.parametrize("value", ["", "LOCAL", "openai:test-embed:16", "hash-384", 1, ["local"], {"name": "local"}])
async def test_an_embedder_that_nobody_knows_is_invalid(caller: Caller, value: object) -> None:
    owner = await caller.found()
    refused = await owner.call("PATCH", "/v1/workspaces/current", json={"embedder": value})
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "body.embedder")


async def test_a_stranger_gets_the_same_answer_for_a_workspace_and_for_none(caller: Caller, stranger: Caller) -> None:
    owner = await caller.found()
    assert owner.workspace_id
    answers = []
    for workspace_id in (owner.workspace_id, str(uuid4())):
        response = await stranger.inside(workspace_id).call("GET", "/v1/workspaces/current")
        answers.append((response.status_code, {**response.json(), "trace_id": ""}))
    assert answers[0] == answers[1]
    assert answers[0][0] == 403


@pytest.mark.parametrize("value", ["", "x", "{8b7b7a0e-6f0e-4d0f-9c0b-3f1c4a7f2b61}", "*", "null"])
async def test_a_header_that_names_no_workspace_is_malformed(caller: Caller, value: str) -> None:
    response = await caller.inside(value or " ").call("GET", "/v1/workspaces/current")
    assert (response.status_code, response.json()["code"]) == (400, "malformed_request")


async def test_the_workspace_header_is_needed_once(caller: Caller) -> None:
    owner = await caller.found()
    assert (await caller.call("GET", "/v1/workspaces/current")).status_code == 400
    twice = [*owner.headers().items(), ("X-Workspace-Id", str(uuid4()))]
    response = await owner.client.get("/v1/workspaces/current", headers=twice)
    assert response.status_code == 400


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PATCH", "/v1/workspaces/current", {"name": "Mine"}),
        ("PATCH", "/v1/workspaces/current", {"embedder": "local"}),
        ("DELETE", "/v1/workspaces/current", None),
        ("POST", "/v1/workspaces/current/invitations", {"role": "member"}),
        ("PATCH", "/v1/workspaces/current/members/{owner}", {"role": "member"}),
        ("PATCH", "/v1/workspaces/current/members/{member}", {"role": "owner"}),
        ("DELETE", "/v1/workspaces/current/members/{owner}", None),
    ],
)
async def test_a_member_cannot_do_what_owners_do(
    caller: Caller, stranger: Caller, method: str, path: str, body: object
) -> None:
    owner = await caller.found()
    member = await join(owner, stranger)
    path = path.format(owner=await user_id(owner), member=await user_id(member))
    response = await member.call(method, path, json=body)
    assert (response.status_code, response.json()["code"]) == (403, "forbidden")


async def test_members_are_listed_page_by_page_and_managed_by_the_owner(caller: Caller, stranger: Caller) -> None:
    owner = await caller.found()
    member = await join(owner, stranger)
    first = (await member.call("GET", "/v1/workspaces/current/members", params={"limit": 1})).json()
    cursor = first["next_cursor"]
    second = (await member.call("GET", "/v1/workspaces/current/members", params={"cursor": cursor})).json()
    assert [entry["role"] for entry in first["items"] + second["items"]] == ["owner", "member"]
    assert second["next_cursor"] is None

    guest = await user_id(member)
    raised = await owner.call("PATCH", f"/v1/workspaces/current/members/{guest}", json={"role": "owner"})
    assert raised.json()["role"] == "owner"
    assert (await member.call("DELETE", f"/v1/workspaces/current/members/{guest}")).status_code == 204
    assert (await member.call("GET", "/v1/workspaces/current")).status_code == 403
    refused = await owner.call("DELETE", f"/v1/workspaces/current/members/{await user_id(owner)}")
    assert (refused.status_code, refused.json()["code"]) == (409, "last_owner")


async def test_an_invitation_works_once(caller: Caller, stranger: Caller, issuer: Issuer) -> None:
    owner = await caller.found()
    invitation = (await owner.call("POST", "/v1/workspaces/current/invitations", json={})).json()
    body = {"token": invitation["token"]}
    assert (await stranger.call("POST", "/v1/invitations/accept", json=body)).json()["role"] == "member"
    late = Caller(caller.client, issuer, f"late-{uuid4()}")
    used, unknown = [
        await late.call("POST", "/v1/invitations/accept", json={"token": token}) for token in (body["token"], "unknown")
    ]
    assert used.status_code == unknown.status_code == 404
    assert used.json()["detail"] == unknown.json()["detail"]


async def test_an_e_mail_address_grants_nothing(caller: Caller, client: httpx.AsyncClient, issuer: Issuer) -> None:
    owner = await caller.found()
    headers = {
        "Authorization": f"Bearer {issuer.token(f'other-{uuid4()}', email=f'{caller.subject}@example.com')}",
        "X-Workspace-Id": str(owner.workspace_id),
    }
    assert (await client.get("/v1/workspaces/current", headers=headers)).status_code == 403
