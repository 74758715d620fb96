"""What every request passes: its ids, its log line, protective headers, limits on its body, and the last catch.

Pure ASGI: middleware that wraps requests in tasks of its own loses background work and hides disconnects.
"""

import asyncio
import time

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api import context, problem

_MEBIBYTE = 1024 * 1024
_UPLOAD_ROUTE = ("POST", "/v1/documents")
_TOO_LARGE = "The request is larger than this route accepts."
_TOO_SILENT = "The rest of the request did not come. Send it again."
# Routes that serve pages set their own; for JSON nothing may be loaded, framed or stored.
_DEFAULT_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}

log = structlog.get_logger(__name__)


class RequestMiddleware:
    """Gives each request its ids, its headers and its log line, and answers 500 for what nobody caught."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = context.begin(scope)
        exchange = _Exchange(send, request)
        with structlog.contextvars.bound_contextvars(request_id=request.request_id, trace_id=request.trace_id):
            try:
                await self._app(scope, receive, exchange.send)
            except Exception:
                log.exception("request.failed")
                if exchange.status is None:
                    await problem.response(problem.internal(request.trace_id))(scope, receive, exchange.send)
            finally:
                exchange.log(scope)


class _Exchange:
    """The response of one request as it goes out."""

    def __init__(self, send: Send, request: context.RequestContext) -> None:
        self._send = send
        self._request = request
        self._began = time.monotonic()
        self._sent_bytes = 0
        self.status: int | None = None

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            for name, value in _DEFAULT_HEADERS.items():
                headers.setdefault(name, value)
            headers["X-Request-Id"] = self._request.request_id
        self._sent_bytes += len(message.get("body", b""))
        await self._send(message)

    def log(self, scope: Scope) -> None:
        """Write one line: the route instead of the address, which holds ids, and no query."""
        log.info(
            "request.done",
            method=scope["method"],
            route=getattr(scope.get("route"), "path", None),
            status=self.status,
            bytes=self._sent_bytes,
            milliseconds=round((time.monotonic() - self._began) * 1000, 1),
        )


class BodyLimitMiddleware:
    """Refuses a body that is too large by its declared length, or as soon as too much of it has arrived.

    Args:
        app: The application.
        max_upload_bytes: Largest file; the upload route takes 1 MiB more, every other route 1 MiB at all.
    """

    def __init__(self, app: ASGIApp, *, max_upload_bytes: int) -> None:
        self._app = app
        self._max_upload_bytes = max_upload_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        upload = (scope["method"], scope["path"]) == _UPLOAD_ROUTE
        limit = _MEBIBYTE + (self._max_upload_bytes if upload else 0)
        declared = Headers(scope=scope).get("content-length", "")
        if declared.isdecimal() and int(declared) > limit:
            document = problem.of_status(413, _TOO_LARGE, context.of(scope).trace_id)
            await problem.response(document)(scope, receive, send)
            return
        await self._app(scope, _counted(receive, limit), send)


class BodyPaceMiddleware:
    """Ends a request whose body stops coming. However slow it is, one that moves goes on.

    Args:
        app: The application.
        silent_seconds: How long nothing may come while more is expected.
    """

    def __init__(self, app: ASGIApp, *, silent_seconds: float) -> None:
        self._app = app
        self._silent_seconds = silent_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body = _Body(receive, send, self._silent_seconds)
        await self._app(scope, body.receive, body.send)


class _Body:
    """The body of one request as it comes in, until all of it is there or a response has begun.

    What is waited for after that is the client's leaving, and that may take hours.
    """

    def __init__(self, receive: Receive, send: Send, silent_seconds: float) -> None:
        self._receive = receive
        self._send = send
        self._silent_seconds = silent_seconds
        self._expected = True

    async def receive(self) -> Message:
        message = await (self._next() if self._expected else self._receive())
        if not message.get("more_body", False):
            self._expected = False
        return message

    async def send(self, message: Message) -> None:
        self._expected = False
        await self._send(message)

    async def _next(self) -> Message:
        try:
            async with asyncio.timeout(self._silent_seconds):
                return await self._receive()
        except TimeoutError:
            if not self._expected:  # a response has begun meanwhile
                return await self._receive()
            # The rest might still come, and would be taken for the next request.
            raise HTTPException(408, _TOO_SILENT, headers={"Connection": "close"}) from None


def _counted(receive: Receive, limit: int) -> Receive:
    """Return a `receive` that fails once more than `limit` bytes have come."""
    received = 0

    async def counted() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > limit:
            # This class alone passes through the framework's reading of a body unchanged.
            raise HTTPException(413, _TOO_LARGE)
        return message

    return counted
