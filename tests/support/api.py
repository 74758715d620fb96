"""Requests as a browser or a script would send them."""

from dataclasses import dataclass

import httpx

from tests.support.issuer import Issuer


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody who calls the API, perhaps in a workspace."""

    client: httpx.AsyncClient
    issuer: Issuer
    subject: str
    workspace_id: str | None = None

    def headers(self) -> dict[str, str]:
        """Return the headers that say who and where."""
        headers = {"Authorization": f"Bearer {self.issuer.token(self.subject)}"}
        return {**headers, "X-Workspace-Id": self.workspace_id} if self.workspace_id else headers

    async def call(self, method: str, path: str, **arguments: object) -> httpx.Response:
        """Send a request; `arguments` are those of httpx."""
        return await self.client.request(method, path, headers=self.headers(), **arguments)  # type: ignore[arg-type]  # httpx types each argument on its own

    def inside(self, workspace_id: str) -> "Caller":
        """Return the same caller in a workspace."""
        return Caller(self.client, self.issuer, self.subject, workspace_id)

    async def found(self, name: str = "Field service") -> "Caller":
        """Create a workspace and return its owner inside of it."""
        response = await self.call("POST", "/v1/workspaces", json={"name": name})
        assert response.status_code == 201, response.text
        return self.inside(response.json()["id"])
