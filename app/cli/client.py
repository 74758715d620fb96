"""HTTP to a running service: who asks, in which workspace, what may be tried again, and how refusals are read."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import httpx
from httpx_sse import EventSource, SSEError

from app.cli.errors import (
    BrokenConnectionError,
    CliError,
    ForeignServiceError,
    NotSignedInError,
    ProblemError,
    UnreachableError,
)

# Uploads and answers take their time; a connection that cannot be made is known soon.
_TIMEOUT = httpx.Timeout(120.0, connect=5.0)
# The service sends a comment every few seconds while it works, so a silent stream is a broken one.
_STREAM_TIMEOUT = httpx.Timeout(60.0, connect=5.0)
# Waits before the second and the third attempt.
_BACKOFF_SECONDS = (0.3, 1.0)
_MAX_WAIT_SECONDS = 10.0
_REPEATABLE = frozenset({"GET", "PUT"})
# What a server says of a path or method that it does not know; without a problem document it is another program.
# Other refusals without one may come from a proxy in front of the service.
_UNKNOWN_THERE = frozenset({404, 405, 501})

JsonObject = dict[str, Any]


class TokenSource(Protocol):
    """Gives an access token; told when the service has refused the one that it gave last."""

    async def __call__(self, *, refused: bool) -> str:
        """Return a token that should be accepted."""


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a stream with its decoded data."""

    name: str
    data: JsonObject


@dataclass(frozen=True, slots=True)
class Form:
    """A multipart body; the file is opened anew for every attempt.

    Args:
        fields: Plain fields.
        file: Opens the file and returns what httpx sends: name, stream, media type.
    """

    fields: Mapping[str, str]
    file: Callable[[], tuple[str, Any, str]]


@dataclass(frozen=True, slots=True)
class Call:
    """One request.

    Args:
        method: HTTP method.
        path: Path that starts with a slash.
        params: Query.
        body: JSON body.
        form: Multipart body.
        key: Idempotency key; with one, a broken connection is tried again.
        anonymous: Whether it goes without a token.
    """

    method: str
    path: str
    params: Mapping[str, str | int] = field(default_factory=dict)
    body: JsonObject | None = None
    form: Form | None = None
    key: str | None = None
    anonymous: bool = False

    @property
    def repeatable(self) -> bool:
        """Whether doing it twice is the same as doing it once."""
        return self.key is not None or self.method in _REPEATABLE


class Api:
    """The service at one address.

    Args:
        http: The connection pool.
        url: Address without a slash at its end.
        token: Gives the access token.
        workspace_id: Sent as `X-Workspace-Id`; None for calls outside a workspace.
    """

    def __init__(self, http: httpx.AsyncClient, url: str, token: TokenSource, workspace_id: str | None = None) -> None:
        self._http = http
        self._url = url
        self._token = token
        self._workspace_id = workspace_id

    def within(self, workspace_id: str) -> "Api":
        """Return the same service, seen from a workspace."""
        return Api(self._http, self._url, self._token, workspace_id)

    async def json(self, call: Call) -> JsonObject:
        """Make a request and return the JSON object of its answer; an answer without a body is an empty one.

        Raises:
            ProblemError: The service refused.
            ForeignServiceError: Another program answers there.
            NotSignedInError: It accepts no token that we have.
            UnreachableError: Nothing answers.
        """
        async with self._respond(call, "application/json", _TIMEOUT) as response:
            content = await response.aread()
            return _decode(self._url, content) if content else {}

    async def every(self, call: Call) -> list[JsonObject]:
        """Return the items of all pages of a listing; raises what `json` does."""
        found: list[JsonObject] = []
        while True:
            page = await self.json(call)
            found += page["items"]
            if not page.get("next_cursor"):
                return found
            call = replace(call, params={**call.params, "cursor": str(page["next_cursor"])})

    async def events(self, call: Call) -> AsyncGenerator[Event, None]:
        """Make a request and yield the events of its answer; close the generator to leave before its end.

        Raises:
            ProblemError: The service refused, at once or with an `error` event.
            UnreachableError: The connection broke.
        """
        async with self._respond(call, "text/event-stream", _STREAM_TIMEOUT) as response:
            try:
                async for event in EventSource(response).aiter_sse():
                    if not event.data:
                        continue  # a heartbeat: httpx-sse 0.4 gives an event for a comment once an id was seen
                    data = _decode(self._url, event.data.encode())
                    if event.event == "error":
                        raise ProblemError(data, int(data.get("status") or 0))
                    yield Event(event.event, data)
            except httpx.TransportError as error:
                raise BrokenConnectionError(f"The connection to {self._url} broke.") from error
            except SSEError as error:
                raise ForeignServiceError(self._url) from error

    @asynccontextmanager
    async def _respond(self, call: Call, accept: str, limits: httpx.Timeout) -> AsyncIterator[httpx.Response]:
        response = await self._send(call, accept, limits)
        if response.status_code == httpx.codes.UNAUTHORIZED and not call.anonymous:
            await response.aclose()
            response = await self._send(call, accept, limits, renew=True)
        try:
            if not response.is_success:
                raise _refusal(self._url, response, await response.aread())
            yield response
        finally:
            await response.aclose()

    async def _send(self, call: Call, accept: str, limits: httpx.Timeout, *, renew: bool = False) -> httpx.Response:
        """Send a request; one that may be repeated is sent up to three times."""
        never_sent = True
        for attempt in range(len(_BACKOFF_SECONDS) + 1):
            last = attempt == len(_BACKOFF_SECONDS)
            try:
                response = await self._send_once(call, accept, limits, renew=renew and attempt == 0)
            except httpx.TransportError as error:
                unsent = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
                never_sent = never_sent and unsent
                if last or not (unsent or call.repeatable):
                    raise _unreachable(self._url, unsent=never_sent) from error
                await asyncio.sleep(_BACKOFF_SECONDS[attempt])
                continue
            wait = _still_running(response) if attempt > 0 and not last else None
            if wait is None:
                return response
            await response.aclose()
            await asyncio.sleep(wait)
        raise AssertionError("the last attempt returns or raises")

    async def _send_once(self, call: Call, accept: str, limits: httpx.Timeout, *, renew: bool) -> httpx.Response:
        headers = {"Accept": accept}
        if not call.anonymous:
            headers["Authorization"] = f"Bearer {await self._token(refused=renew)}"
        if self._workspace_id:
            headers["X-Workspace-Id"] = self._workspace_id
        if call.key:
            headers["Idempotency-Key"] = call.key
        form = call.form
        opened = form.file() if form else None
        try:
            request = self._http.build_request(
                call.method,
                self._url + call.path,
                params=dict(call.params) or None,
                json=call.body,
                data=dict(form.fields) if form else None,
                files={"file": opened} if opened else None,
                headers=headers,
                timeout=limits,
            )
            return await self._http.send(request, stream=True)
        finally:
            if opened:
                opened[1].close()


def _still_running(response: httpx.Response) -> float | None:
    """Return how long to wait when our own first attempt, whose answer was lost, is still being worked on."""
    after = response.headers.get("Retry-After", "")
    if response.status_code != httpx.codes.CONFLICT or not after.isdigit():
        return None
    return min(float(after), _MAX_WAIT_SECONDS)


def _unreachable(url: str, *, unsent: bool) -> UnreachableError:
    if unsent:
        return UnreachableError(
            f"Nothing answers at {url}. Start it with `make up` or `groundeddocs up`, or set GROUNDEDDOCS_URL."
        )
    return BrokenConnectionError(f"The connection to {url} broke before the answer came.")


def _refusal(url: str, response: httpx.Response, content: bytes) -> CliError:
    status = response.status_code
    if status == httpx.codes.UNAUTHORIZED:
        return NotSignedInError(
            "The service does not accept your token. Sign in again with `groundeddocs login`, "
            "or as a demo user with `groundeddocs token USER --save`."
        )
    try:
        problem = json.loads(content)
    except ValueError:
        problem = None
    if isinstance(problem, dict) and "title" in problem:
        return ProblemError(problem, status)
    foreign = response.is_redirect or status in _UNKNOWN_THERE
    return ForeignServiceError(url) if foreign else ProblemError({}, status)


def _decode(url: str, content: bytes) -> JsonObject:
    try:
        value = json.loads(content)
    except ValueError as error:
        raise ForeignServiceError(url) from error
    if not isinstance(value, dict):
        raise ForeignServiceError(url)
    return value
