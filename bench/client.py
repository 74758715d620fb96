"""A member of a workspace who talks to the api as any client does."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from uuid import uuid4

import httpx

from bench.issuer import Issuer

_TIMEOUT = httpx.Timeout(120)
_CONNECTIONS = httpx.Limits(max_connections=64, max_keepalive_connections=64)


@dataclass(frozen=True, slots=True)
class Uploaded:
    """What the api answered to an upload.

    Attributes:
        status: HTTP status.
        outcome: What it turned out to be; the code of the refusal when it was refused.
        document_id: Empty when it was refused.
        version_id: Empty when it was refused.
        seconds: How long the answer took.
    """

    status: int
    outcome: str
    document_id: str
    version_id: str
    seconds: float


class Member:
    """The owner of a workspace.

    Args:
        http: Client of the api.
        headers: Who asks, and where.
        workspace_id: The workspace.
    """

    def __init__(self, http: httpx.AsyncClient, headers: dict[str, str], workspace_id: str) -> None:
        self._http = http
        self._headers = headers
        self.workspace_id = workspace_id

    async def upload(self, name: str, data: bytes) -> Uploaded:
        """Send a file."""
        began = time.perf_counter()
        files = {"file": (name, data, "application/octet-stream")}
        reply = await self._http.post("/v1/documents", files=files, data={"name": name}, headers=self._headers)
        seconds = time.perf_counter() - began
        body = reply.json()
        if reply.status_code != httpx.codes.ACCEPTED:
            return Uploaded(reply.status_code, str(body.get("code")), "", "", seconds)
        return Uploaded(reply.status_code, body["outcome"], body["document_id"], body["version_id"], seconds)

    async def upload_all(self, files: Sequence[tuple[str, bytes]], *, at_once: int = 4) -> list[Uploaded]:
        """Send files, some at a time; the answers come in the order of the files."""
        turns = asyncio.Semaphore(at_once)

        async def one(name: str, data: bytes) -> Uploaded:
            async with turns:
                return await self.upload(name, data)

        return await asyncio.gather(*(one(name, data) for name, data in files))

    async def ask(self, question: str) -> float:
        """Ask a question, without a cache, and return how many seconds the answer took."""
        began = time.perf_counter()
        body = {"question": question, "use_cache": False}
        (await self._http.post("/v1/ask", json=body, headers=self._headers)).raise_for_status()
        return time.perf_counter() - began


class Clients:
    """Makes members of fresh workspaces."""

    def __init__(self, http: httpx.AsyncClient, issuer: Issuer) -> None:
        self._http = http
        self._issuer = issuer

    async def member(self) -> Member:
        """Return the owner of a new workspace."""
        headers = {"Authorization": f"Bearer {self._issuer.token(f'bench-{uuid4()}')}"}
        made = await self._http.post("/v1/workspaces", json={"name": "Bench"}, headers=headers)
        made.raise_for_status()
        workspace_id = str(made.json()["id"])
        return Member(self._http, {**headers, "X-Workspace-Id": workspace_id}, workspace_id)


@contextlib.asynccontextmanager
async def clients_of(address: str, issuer: Issuer) -> AsyncIterator[Clients]:
    """Open connections to an api."""
    async with httpx.AsyncClient(base_url=address, timeout=_TIMEOUT, limits=_CONNECTIONS, trust_env=False) as http:
        yield Clients(http, issuer)
