"""Server-sent events: numbered, kept alive by comments, and ended by a last event when the server stops."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import anyio
import structlog
from pydantic import BaseModel
from pydantic_core import to_json
from sse_starlette import EventSourceResponse, ServerSentEvent

from app.api import context, problem
from app.core.errors import AppError, UnavailableError

HEARTBEAT_SECONDS = 15
# Long enough for the last event to leave, short enough for the server's own grace time.
_GOODBYE_SECONDS = 2.0
_STOPPING = UnavailableError("The server is stopping. Ask again in a moment.")

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Event:
    """One event: its name in the API, and its data as a schema or plain JSON members."""

    name: str
    data: BaseModel | dict[str, Any]


class EventStream(EventSourceResponse):
    """A response of events; routes name it as their class, for the OpenAPI document."""

    media_type = "text/event-stream"


def event_stream(events: AsyncIterator[Event]) -> EventStream:
    """Return a response that sends the events as they come.

    An error in between becomes an `error` event with its problem document. When the client leaves, the iterator is
    cancelled at once, where it waits.
    """
    stopping = anyio.Event()
    return EventStream(
        _numbered(events, stopping, context.current().trace_id),
        ping=HEARTBEAT_SECONDS,
        ping_message_factory=lambda: ServerSentEvent(comment="keep-alive"),
        shutdown_event=stopping,
        shutdown_grace_period=_GOODBYE_SECONDS,
        headers={"Cache-Control": "no-store"},
    )


async def _numbered(
    events: AsyncIterator[Event], stopping: anyio.Event, trace_id: str
) -> AsyncIterator[ServerSentEvent]:
    # One task runs the whole iterator: a time limit that it sets for itself belongs to the task that set it.
    queue: asyncio.Queue[Event | None] = asyncio.Queue(maxsize=1)
    pump = asyncio.create_task(_pump(events, queue, trace_id))
    goodbye = asyncio.create_task(_say_goodbye(stopping, pump, queue, trace_id))
    number = 0
    try:
        while (event := await queue.get()) is not None:
            number += 1
            yield ServerSentEvent(data=to_json(event.data).decode("utf-8"), event=event.name, id=str(number))
    finally:
        goodbye.cancel()
        pump.cancel()
        with anyio.CancelScope(shield=True):
            await asyncio.wait([goodbye, pump])


async def _pump(events: AsyncIterator[Event], queue: asyncio.Queue[Event | None], trace_id: str) -> None:
    try:
        async for event in events:
            await queue.put(event)
    except AppError as error:
        await queue.put(Event("error", problem.of_error(error, trace_id)))
    except Exception:
        log.exception("stream.failed")
        await queue.put(Event("error", problem.internal(trace_id)))
    await queue.put(None)


async def _say_goodbye(
    stopping: anyio.Event, pump: "asyncio.Task[None]", queue: asyncio.Queue[Event | None], trace_id: str
) -> None:
    await stopping.wait()
    pump.cancel()
    await asyncio.wait([pump])
    await queue.put(Event("error", problem.of_error(_STOPPING, trace_id)))
    await queue.put(None)
