import asyncio
import json
from collections.abc import AsyncIterator

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from structlog.testing import capture_logs

from app.api.errors import install
from app.api.middleware import BodyLimitMiddleware, BodyPaceMiddleware, RequestMiddleware
from app.api.openapi import Api

MEBIBYTE = 1024 * 1024


async def length(scope: Scope, receive: Receive, send: Send) -> None:
    body = await Request(scope, receive).body()
    await PlainTextResponse(str(len(body)))(scope, receive, send)


async def broken(scope: Scope, receive: Receive, send: Send) -> None:
    raise RuntimeError("a secret of the inside")


async def broken_halfway(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"half", "more_body": True})
    raise RuntimeError("a secret of the inside")


def serving(app: ASGIApp) -> httpx.AsyncClient:
    inner = Api()
    install(inner)
    inner.mount("/", app)
    inner.add_middleware(BodyLimitMiddleware, max_upload_bytes=2 * MEBIBYTE)
    inner.add_middleware(BodyPaceMiddleware, silent_seconds=0.5)
    inner.add_middleware(RequestMiddleware)
    return httpx.AsyncClient(transport=httpx.ASGITransport(inner), base_url="http://api.test")


async def pieces(count: int) -> AsyncIterator[bytes]:
    for _ in range(count):
        await asyncio.sleep(0)
        yield b"x" * (MEBIBYTE // 4)


@pytest.mark.parametrize(
    ("path", "quarters", "status"),
    [("/v1/ask", 4, 200), ("/v1/ask", 5, 413), ("/v1/documents", 12, 200), ("/v1/documents", 13, 413)],
)
async def test_a_body_is_cut_at_the_limit_of_its_route(path: str, quarters: int, status: int) -> None:
    async with serving(length) as client:
        declared = await client.post(path, content=b"x" * (quarters * MEBIBYTE // 4))
        streamed = await client.post(path, content=pieces(quarters))
    assert (declared.status_code, streamed.status_code) == (status, status)
    if status == 413:
        assert declared.json()["code"] == streamed.json()["code"] == "too_large"
        assert declared.headers["content-type"] == "application/problem+json"


async def test_every_response_has_protective_headers_and_its_id() -> None:
    async with serving(length) as client:
        first, second = await client.get("/a"), await client.get("/a")
    assert first.headers["x-request-id"] != second.headers["x-request-id"]
    assert first.headers["cache-control"] == "no-store"
    assert first.headers["x-content-type-options"] == "nosniff"
    assert "frame-ancestors 'none'" in first.headers["content-security-policy"]


async def test_a_defect_is_answered_without_its_message_and_logged() -> None:
    with capture_logs() as logs:
        async with serving(broken) as client:
            response = await client.get("/a?question=private")
    assert (response.status_code, response.json()["code"]) == (500, "internal")
    assert "secret" not in response.text
    assert response.json()["trace_id"]
    assert [entry["event"] for entry in logs] == ["request.failed", "request.done"]
    assert "private" not in json.dumps([{**entry, "exc_info": None} for entry in logs])


async def test_a_defect_halfway_ends_the_response_without_a_second_start() -> None:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        return {"type": "http.request"}

    with capture_logs() as logs:
        await RequestMiddleware(broken_halfway)({"type": "http", "method": "GET", "headers": []}, receive, send)
    assert [message["type"] for message in sent] == ["http.response.start", "http.response.body"]
    assert sent[-1]["more_body"], "the server sees that the response is not complete, and drops the connection"
    assert "request.failed" in [entry["event"] for entry in logs]


async def slow(*waits: float) -> AsyncIterator[bytes]:
    for wait in waits:
        await asyncio.sleep(wait)
        yield b"x"


async def test_a_body_that_stops_coming_ends_the_request() -> None:
    async with serving(length) as client:
        response = await client.post("/v1/documents", content=slow(0, 5))
    assert (response.status_code, response.json()["code"]) == (408, "request_timeout")
    assert response.headers["content-type"] == "application/problem+json"
    assert response.headers["connection"] == "close"


async def test_a_slow_body_that_moves_goes_on() -> None:
    async with serving(length) as client:
        response = await client.post("/v1/documents", content=slow(*[0.2] * 6))
    assert (response.status_code, response.text) == (200, "6")


@pytest.mark.parametrize("begins_after", [0.0, 0.1])
async def test_a_response_that_has_begun_waits_for_its_client_without_limit(begins_after: float) -> None:
    """Also when the client has announced a body that it never sends."""
    gone = asyncio.Event()
    seen: list[Message] = []

    async def receive() -> Message:
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        seen.append(message)

    async def streaming(scope: Scope, receive: Receive, send: Send) -> None:
        leaving = asyncio.ensure_future(receive())
        await asyncio.sleep(begins_after)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        seen.append(await leaving)

    serving_it = asyncio.create_task(BodyPaceMiddleware(streaming, silent_seconds=0.2)({"type": "http"}, receive, send))
    await asyncio.sleep(0.6)
    assert not serving_it.done()
    gone.set()
    await serving_it
    assert [message["type"] for message in seen] == ["http.response.start", "http.disconnect"]


async def test_a_whole_body_is_followed_by_waiting_without_limit() -> None:
    messages: list[Message] = [{"type": "http.request", "body": b"x", "more_body": False}, {"type": "http.disconnect"}]
    seen: list[str] = []

    async def receive() -> Message:
        await asyncio.sleep(0 if len(messages) == 2 else 0.5)
        return messages.pop(0)

    async def patient(scope: Scope, receive: Receive, send: Send) -> None:
        seen.extend([(await receive())["type"], (await receive())["type"]])

    async def send(_: Message) -> None:
        return

    await BodyPaceMiddleware(patient, silent_seconds=0.1)({"type": "http"}, receive, send)
    assert seen == ["http.request", "http.disconnect"]
