"""A server with one endless stream, for the test that stops it."""

import asyncio
import sys
from collections.abc import AsyncIterator

import uvicorn

from app.api.middleware import RequestMiddleware
from app.api.openapi import Api
from app.api.sse import Event, EventStream, event_stream

api = Api()
api.add_middleware(RequestMiddleware)


async def forever() -> AsyncIterator[Event]:
    """Yield one event and then wait for ever."""
    yield Event("accepted", {"id": "a"})
    await asyncio.Event().wait()


@api.get("/stream", response_class=EventStream)
async def stream() -> EventStream:
    """Answer with the endless stream."""
    return event_stream(forever())


if __name__ == "__main__":
    uvicorn.run(api, fd=int(sys.argv[1]), log_level="warning", timeout_graceful_shutdown=600)
