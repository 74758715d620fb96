"""The demo workspace, made through the real API."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any
from uuid import uuid4

import httpx
import pytest
import uvicorn
from fastapi import FastAPI

from app.embedded.demo import DEMO_WORKSPACE, OTHER_WORKSPACE, SAMPLE_NAME, DemoError, seed_demo
from tests.integration.cli.standin import Request, StandIn, reply
from tests.support.issuer import Issuer


class Demo:
    """A running API and a provider that signs in demo users nobody has seen before."""

    def __init__(self, url: str, provider: StandIn, issuer: Issuer) -> None:
        self.url, self._provider, self._issuer = url, provider, issuer
        self._run = uuid4()

    def token(self, name: str) -> str:
        return self._issuer.token(f"{name}-{self._run}")

    def give_token(self, request: Request) -> Any:
        return reply({"access_token": self.token(request.form()["username"])})

    async def seed(self) -> None:
        await asyncio.to_thread(seed_demo, self.url, self._provider.url)

    async def get(self, name: str, path: str, workspace_id: str = "") -> Mapping[str, Any]:
        headers = {"Authorization": f"Bearer {self.token(name)}", "X-Workspace-Id": workspace_id}
        async with httpx.AsyncClient(base_url=self.url, headers=headers) as http:
            found: Mapping[str, Any] = (await http.get(path)).raise_for_status().json()
            return found


@pytest.fixture
def provider() -> Iterator[StandIn]:
    stand_in = StandIn()
    discovery = {"issuer": stand_in.url, "token_endpoint": f"{stand_in.url}/token"}
    stand_in.on("GET", "/.well-known/openid-configuration", reply(discovery))
    stand_in.start()
    yield stand_in
    stand_in.stop()


@pytest.fixture
async def demo(api: FastAPI, provider: StandIn, issuer: Issuer) -> AsyncIterator[Demo]:
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(api, log_config=None, lifespan="off"))
    running = asyncio.create_task(server.serve(sockets=[listener]))
    made = Demo(f"http://127.0.0.1:{listener.getsockname()[1]}", provider, issuer)
    provider.on("POST", "/token", made.give_token)
    yield made
    server.should_exit = True
    await running


async def test_demo_users_find_their_workspaces_and_a_second_start_changes_nothing(demo: Demo) -> None:
    await demo.seed()
    seen = {name: await demo.get(name, "/v1/me") for name in ("alice", "bob", "mallory")}
    places = {name: [(each["name"], each["role"]) for each in me["workspaces"]] for name, me in seen.items()}
    assert places == {
        "alice": [(DEMO_WORKSPACE, "owner")],
        "bob": [(DEMO_WORKSPACE, "member")],
        "mallory": [(OTHER_WORKSPACE, "owner")],
    }
    workspace_id = seen["alice"]["workspaces"][0]["id"]
    documents = await demo.get("bob", "/v1/documents", workspace_id)
    assert [document["name"] for document in documents["items"]] == [SAMPLE_NAME]
    await demo.seed()
    assert {name: await demo.get(name, "/v1/me") for name in seen} == seen
    assert await demo.get("bob", "/v1/documents", workspace_id) == documents


async def test_service_that_refuses_is_told_without_a_token(demo: Demo, provider: StandIn) -> None:
    provider.on("POST", "/token", reply({"access_token": "not-a-token"}))
    with pytest.raises(DemoError, match="/v1/me answered with status 401") as caught:
        await demo.seed()
    assert "not-a-token" not in str(caught.value)
