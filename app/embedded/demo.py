"""What the demo users find at the first start: a workspace with a document, so that a first question works at once."""

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from typing import Any

import httpx

from app.embedded.errors import EmbeddedError

DEMO_USER_GRANT = "urn:groundeddocs:params:oauth:grant-type:demo-user"
DEMO_WORKSPACE = "Demo workspace"
OTHER_WORKSPACE = "Mallory's workspace"
SAMPLE_NAME = "How GroundedDocs answers.md"
_TIMEOUT = httpx.Timeout(20.0, connect=5.0)


class DemoError(EmbeddedError):
    """The demo workspace could not be prepared; the service itself runs."""

    code = "demo"


def seed_demo(base_url: str, issuer: str) -> None:
    """Give alice a workspace with a sample document, bob a membership in it, and mallory a workspace of her own.

    All of it goes through the public API with tokens of the demo users, and what is there already stays as it is.
    A user who has changed their workspaces since is left alone.

    Args:
        base_url: Address of a service that is ready.
        issuer: The embedded identity provider.

    Raises:
        DemoError: The service or the provider refused or did not answer.
    """
    # A proxy of the environment has no part in what this machine tells itself.
    with _translated(), httpx.Client(timeout=_TIMEOUT, trust_env=False) as http:
        alice, bob, mallory = (_User.sign_in(http, base_url, issuer, name) for name in ("alice", "bob", "mallory"))
        workspace_id = alice.own_workspace(DEMO_WORKSPACE)
        mallory.own_workspace(OTHER_WORKSPACE)
        if workspace_id is None:
            return
        if workspace_id not in bob.workspaces():
            invitation = alice.post("/v1/workspaces/current/invitations", {"role": "member"}, workspace_id)
            bob.post("/v1/invitations/accept", {"token": invitation["token"]})
        alice.upload_sample(workspace_id)


@dataclass(frozen=True, slots=True)
class _User:
    """A demo user in front of the API."""

    http: httpx.Client
    base_url: str
    token: str

    @classmethod
    def sign_in(cls, http: httpx.Client, base_url: str, issuer: str, username: str) -> "_User":
        client_id = _checked(http.get(f"{base_url}/v1/config"))["cli_client_id"]
        discovery = _checked(http.get(f"{issuer}/.well-known/openid-configuration"))
        fields = {"grant_type": DEMO_USER_GRANT, "client_id": client_id, "username": username}
        return cls(http, base_url, _checked(http.post(discovery["token_endpoint"], data=fields))["access_token"])

    def own_workspace(self, name: str) -> str | None:
        """Return the id of the user's workspace of this name; make it for a user who has none at all."""
        known = self.workspaces()
        if not known:
            return str(self.post("/v1/workspaces", {"name": name})["id"])
        return next((found for found, each in known.items() if each["name"] == name and each["role"] == "owner"), None)

    def workspaces(self) -> dict[str, Mapping[str, Any]]:
        """Return the user's workspaces by id."""
        me = _checked(self.http.get(f"{self.base_url}/v1/me", headers=self._headers()))
        return {str(each["id"]): each for each in me["workspaces"]}

    def post(self, path: str, body: Mapping[str, object], workspace_id: str | None = None) -> Mapping[str, Any]:
        """Send a JSON body and return the answer."""
        return _checked(self.http.post(self.base_url + path, json=dict(body), headers=self._headers(workspace_id)))

    def upload_sample(self, workspace_id: str) -> None:
        """Upload the sample into a workspace that has no document."""
        headers = self._headers(workspace_id)
        listed = self.http.get(f"{self.base_url}/v1/documents", params={"limit": 1}, headers=headers)
        if _checked(listed)["items"]:
            return
        content = resources.files("app.embedded").joinpath("sample.md").read_bytes()
        file, key = (SAMPLE_NAME, content, "text/markdown"), {"Idempotency-Key": str(uuid.uuid4())}
        _checked(self.http.post(f"{self.base_url}/v1/documents", files={"file": file}, headers={**headers, **key}))

    def _headers(self, workspace_id: str | None = None) -> dict[str, str]:
        workspace = {"X-Workspace-Id": workspace_id} if workspace_id else {}
        return {"Authorization": f"Bearer {self.token}", **workspace}


def _checked(response: httpx.Response) -> Mapping[str, Any]:
    response.raise_for_status()
    content: Mapping[str, Any] = response.json()
    return content


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except httpx.HTTPStatusError as error:
        path, status = error.request.url.path, error.response.status_code
        raise DemoError(f"The demo workspace was not prepared: {path} answered with status {status}.") from error
    except (httpx.TransportError, ValueError, KeyError) as error:
        kind = type(error).__name__
        raise DemoError(f"The demo workspace was not prepared: there was no proper answer ({kind}).") from error
