"""The application behind a real socket, for what the in-process client cannot show: streams and broken requests."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import uvicorn
from fastapi import FastAPI


@asynccontextmanager
async def served(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    """Serve an application on a free port of this machine and give a client of it."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off", timeout_graceful_shutdown=5))
    serving = asyncio.create_task(server.serve([listener]))
    address = f"http://127.0.0.1:{listener.getsockname()[1]}"
    try:
        limits = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(base_url=address, timeout=30, limits=limits) as client:
            yield client
    finally:
        server.should_exit = True
        await serving
        listener.close()
