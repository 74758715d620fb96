"""The stage of a run: an attacker with a workspace of their own, and a victim whose workspace holds marked secrets."""

import asyncio
import io
import logging
import secrets
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any
from uuid import UUID, uuid4

import httpx
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from adversarial.environment import Servers, Service, running_service
from adversarial.operations import Ids, Operation, operations
from adversarial.replies import Breach, Reply
from adversarial.snapshots import snapshot
from app.core.ids import UserId, WorkspaceId
from app.telemetry.logging import configure_logging

SERVER_ERROR = 500
TOPIC = "What is the lantern code of the harbour?"


def marker() -> str:
    """Return a word that stands nowhere else."""
    return f"zq{secrets.token_hex(7)}"


@dataclass(frozen=True, slots=True)
class Published:
    """A document that is ready, or failed."""

    document_id: str
    version_id: str
    name: str
    sha256: str
    outcome: str


@dataclass(frozen=True, slots=True)
class Actor:
    """Somebody with a valid token, perhaps inside a workspace."""

    world: "World"
    subject: str
    user_id: str
    workspace_id: str = ""

    def headers(self) -> dict[str, str]:
        """Return who and where, as headers."""
        headers = {"Authorization": f"Bearer {self.world.service.issuer.token(self.subject)}"}
        return {**headers, "X-Workspace-Id": self.workspace_id} if self.workspace_id else headers

    def inside(self, workspace_id: str) -> "Actor":
        """Return the same person in a workspace, or at least asking for it."""
        return Actor(self.world, self.subject, self.user_id, workspace_id)

    async def call(self, method: str, path: str, headers: Mapping[str, str] | None = None, **arguments: Any) -> Reply:
        """Send a request; `arguments` are those of httpx."""
        return await self.world.send(method, path, headers={**self.headers(), **(headers or {})}, **arguments)

    async def ask(self, question: str, **fields: object) -> Reply:
        """Ask a question."""
        return await self.call("POST", "/v1/ask", json={"question": question, **fields})

    async def search(self, query: str, limit: int = 50) -> Reply:
        """Search."""
        return await self.call("POST", "/v1/search", json={"query": query, "limit": limit})

    async def upload(self, name: str, data: bytes, visibility: str = "workspace") -> Reply:
        """Send a file; nothing processes it yet."""
        files = {"file": ("file.bin", data, "application/octet-stream")}
        return await self.call("POST", "/v1/documents", files=files, data={"name": name, "visibility": visibility})

    async def publish(self, name: str, text: str | bytes, visibility: str = "workspace") -> Published:
        """Upload a document and process it as the worker would."""
        data = text if isinstance(text, bytes) else text.encode()
        sent = (await self.upload(name, data, visibility)).expect(202).json()
        digest = sha256(data).hexdigest()
        services = self.world.service.services
        job = services.workspaces.scope_for_job(
            WorkspaceId(UUID(self.workspace_id)), UserId(UUID(self.user_id)), "adversarial"
        )
        await services.ingestion.run(job, digest)
        return Published(sent["document_id"], sent["version_id"], name, digest, sent["outcome"])

    async def invite(self, role: str = "member") -> str:
        """Make an invitation and return its secret."""
        reply = await self.call("POST", "/v1/workspaces/current/invitations", json={"role": role})
        return str(reply.expect(201).json()["token"])


@dataclass(frozen=True, slots=True)
class Secrets:
    """Marked things of the victim.

    Attributes:
        ids: An id of each kind.
        markers: Texts that nobody else may ever see: marked words and every id.
        question: What their document answers.
    """

    ids: Ids
    markers: tuple[str, ...]
    question: str


@dataclass(slots=True)
class World:
    """Everything that a case may use.

    Attributes:
        attacker: Owner of a workspace that holds one plain document.
        victim: Owner of the workspace with the secrets.
        colleague: Member of the victim's workspace, without a grant on what is restricted.
        open: What every member of the victim's workspace may see.
        restricted: What only the victim may see.
    """

    service: Service
    http: httpx.AsyncClient
    admin: AsyncEngine
    operations: tuple[Operation, ...]
    log: io.StringIO
    attacker: Actor = field(init=False)
    own: Published = field(init=False)
    victim: Actor = field(init=False)
    colleague: Actor = field(init=False)
    open: Secrets = field(init=False)
    restricted: Secrets = field(init=False)

    async def send(self, method: str, path: str, **arguments: Any) -> Reply:
        """Send any request; an internal error is a breach."""
        reply = Reply.of(await self.http.request(method, path, **arguments))
        if reply.status == SERVER_ERROR:
            raise Breach(f"{reply.request} ended in an internal error")
        return reply

    async def raw(self, request: bytes, *, seconds: float = 5) -> Reply:
        """Send bytes as they are and read what comes back until the server closes or falls silent."""
        reader, writer = await asyncio.open_connection(self.service.host, self.service.port)
        received = b""
        try:
            writer.write(request)
            await writer.drain()
            async with asyncio.timeout(seconds):
                while part := await reader.read(65_536):
                    received += part
        except (TimeoutError, ConnectionError):
            pass  # what came until then counts
        finally:
            writer.close()
        return _parsed(received)

    async def newcomer(self, name: str = "newcomer") -> Actor:
        """Return somebody whom the service sees for the first time, without a workspace."""
        subject = f"{name}-{marker()}"
        actor = Actor(self, subject, "")
        me = (await actor.call("GET", "/v1/me")).expect(200).json()
        return Actor(self, subject, me["user"]["id"])

    async def founder(self, name: str = "founder") -> Actor:
        """Return the owner of a new workspace."""
        actor = await self.newcomer(name)
        made = await actor.call("POST", "/v1/workspaces", json={"name": f"Workspace of {actor.subject}"})
        return actor.inside(made.expect(201).json()["id"])

    async def member_of(self, owner: Actor, role: str = "member") -> Actor:
        """Return a new member of somebody's workspace."""
        actor = await self.newcomer("member")
        accepted = await actor.call("POST", "/v1/invitations/accept", json={"token": await owner.invite(role)})
        accepted.expect(200)
        return actor.inside(owner.workspace_id)

    async def snapshot(self, workspace_id: str) -> dict[str, tuple[int, str]]:
        """Return what all rows of a workspace are."""
        return await snapshot(self.admin, workspace_id)


@asynccontextmanager
async def open_world(servers: Servers, *, unbound: bool = False) -> AsyncIterator[World]:
    """Start the service and set the stage; see `running_service`. What it logs is kept to be looked at."""
    log = _captured_log()
    async with running_service(servers, unbound=unbound) as service:
        admin = create_async_engine(servers.superuser_url, pool_size=2)
        address = f"http://{service.host}:{service.port}"
        async with httpx.AsyncClient(base_url=address, timeout=30, trust_env=False) as http:
            document = (await http.get("/v1/openapi.json")).json()
            world = World(service, http, admin, operations(document), log)
            try:
                await _set_stage(world)
                yield world
            finally:
                await admin.dispose()


def _captured_log() -> io.StringIO:
    """Let the service log as it does in production, into memory."""
    configure_logging("INFO")
    log = io.StringIO()
    for handler in logging.root.handlers:
        if isinstance(handler, logging.StreamHandler):
            handler.setStream(log)
    return log


async def _set_stage(world: World) -> None:
    world.attacker = await world.founder("attacker")
    world.own = await world.attacker.publish(
        "lanterns.txt", "The lantern hall opens at nine. Lanterns are lit at dusk."
    )
    world.victim = await world.founder("victim")
    world.colleague = await world.member_of(world.victim)
    world.open = await _secrets(world, "harbour", "workspace")
    world.restricted = await _secrets(world, "vault", "restricted")


async def _secrets(world: World, place: str, visibility: str) -> Secrets:
    victim, word, name = world.victim, marker(), f"{marker()}.txt"
    text = f"Notes.\n\nThe lantern code of the {place} is {word}. The keeper of the {place} is called {marker()}.\n"
    published = await victim.publish(name, text, visibility)
    question, conversation = f"What is the lantern code of the {place}?", str(uuid4())
    answer = (await victim.ask(question, conversation_id=conversation)).expect(200).without(()).json()
    cited = [citation for claim in answer["claims"] for citation in claim["citations"]]
    if word not in str(answer["claims"]):
        raise RuntimeError("the victim cannot read their own secret: nothing could be leaked")
    ids = Ids(
        document=published.document_id,
        version=published.version_id,
        chunk=cited[0]["chunk_id"],
        answer=answer["id"],
        conversation=conversation,
        member=victim.user_id,
        letter=str(uuid4()),  # none can be made through the interface
    )
    private = (ids.document, ids.version, ids.chunk, ids.answer, ids.conversation)
    who = (victim.user_id, victim.subject, victim.workspace_id) if visibility == "workspace" else ()
    return Secrets(ids, (word, name.removesuffix(".txt"), *private, *who), question)


def _parsed(received: bytes) -> Reply:
    head, _, body = received.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    words = first.split(" ")
    status = int(words[1]) if len(words) > 1 and words[1].isdigit() else 0
    headers = tuple((name.lower(), value.strip()) for name, _, value in (line.partition(":") for line in lines))
    return Reply("raw request", status, headers, body)


def distinct(values: Iterable[object]) -> str:
    """Return the different values in words, for what was observed."""
    return "/".join(sorted({str(value) for value in values}))
