"""What a caller does with documents over HTTP, and the worker behind it."""

import httpx

from app.bootstrap import Services
from tests.support.api import Caller
from tests.support.documents import digest


async def upload(caller: Caller, name: str, data: bytes, /, **fields: str) -> httpx.Response:
    """Send a file with the given fields of the form."""
    return await caller.call("POST", "/v1/documents", files={"file": (name, data)}, data=fields)


async def process(services: Services, caller: Caller, data: bytes) -> None:
    """Run the pipeline over what a caller uploaded."""
    user = await caller.call("GET", "/v1/me")
    assert caller.workspace_id is not None
    workspace_id, user_id = caller.workspace_id, user.json()["user"]["id"]
    scope = services.workspaces.scope_for_job(workspace_id, user_id, "test")  # type: ignore[arg-type]  # ids as text
    await services.ingestion.run(scope, digest(data))
