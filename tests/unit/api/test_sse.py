import asyncio
from collections.abc import AsyncIterator

import pytest
from sse_starlette.sse import AppStatus
from starlette.types import Message, Scope
from structlog.testing import capture_logs

from app.api import context
from app.api.sse import Event, event_stream
from app.core.errors import NotFoundError


class Client:
    """Receives a stream, and leaves when told to."""

    def __init__(self) -> None:
        self.text = ""
        self.heard = asyncio.Event()
        self.left = asyncio.Event()

    async def receive(self) -> Message:
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        self.text += message.get("body", b"").decode()
        if self.text:
            self.heard.set()

    async def listen(self, events: AsyncIterator[Event]) -> None:
        scope: Scope = {"type": "http", "method": "GET", "headers": []}
        context.begin(scope)
        await event_stream(events)(scope, self.receive, self.send)

    def events(self) -> list[tuple[str, str]]:
        blocks = [dict(line.split(": ", 1) for line in block.split("\r\n")) for block in self.blocks()]
        return [(block["id"], block["event"]) for block in blocks]

    def blocks(self) -> list[str]:
        return [block for block in self.text.split("\r\n\r\n") if block and not block.startswith(":")]


async def test_events_are_numbered_and_their_data_is_one_line_of_json() -> None:
    async def events() -> AsyncIterator[Event]:
        yield Event("accepted", {"id": "a"})
        yield Event("answer", {"text": "first\nsecond\r\n\u2028third"})

    client = Client()
    await client.listen(events())
    assert client.events() == [("1", "accepted"), ("2", "answer")]
    assert client.blocks()[1].count("\r\n") == 2


async def test_an_error_in_between_becomes_the_last_event() -> None:
    async def events() -> AsyncIterator[Event]:
        yield Event("accepted", {})
        raise NotFoundError("It is gone.")

    client = Client()
    await client.listen(events())
    assert client.events() == [("1", "accepted"), ("2", "error")]
    assert '"code":"not_found"' in client.text


async def test_a_defect_in_between_tells_nothing_of_itself() -> None:
    async def events() -> AsyncIterator[Event]:
        yield Event("accepted", {})
        raise RuntimeError("a secret of the inside")

    client = Client()
    with capture_logs() as logs:
        await client.listen(events())
    assert client.events()[-1] == ("2", "error")
    assert "secret" not in client.text
    assert [entry["event"] for entry in logs] == ["stream.failed"]


async def test_the_work_behind_a_stream_stops_when_the_client_leaves() -> None:
    stopped = asyncio.Event()

    async def events() -> AsyncIterator[Event]:
        yield Event("accepted", {})
        try:
            await asyncio.sleep(60)
        finally:
            stopped.set()

    client = Client()
    listening = asyncio.create_task(client.listen(events()))
    await client.heard.wait()
    client.left.set()
    await asyncio.wait_for(stopped.wait(), 30)
    await asyncio.wait_for(listening, 30)


async def test_a_time_limit_that_spans_events_holds() -> None:
    async def events() -> AsyncIterator[Event]:
        async with asyncio.timeout(0.5):
            yield Event("accepted", {})
            await asyncio.sleep(60)

    client = Client()
    with capture_logs():
        await asyncio.wait_for(client.listen(events()), 30)
    assert client.events() == [("1", "accepted"), ("2", "error")]


async def test_a_stopping_server_sends_a_last_event_and_ends_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    async def events() -> AsyncIterator[Event]:
        yield Event("accepted", {})
        await asyncio.sleep(60)

    client = Client()
    listening = asyncio.create_task(client.listen(events()))
    await client.heard.wait()
    monkeypatch.setattr(AppStatus, "should_exit", True)
    await asyncio.wait_for(listening, 30)
    assert client.events() == [("1", "accepted"), ("2", "error")]
    assert '"code":"unavailable"' in client.text
