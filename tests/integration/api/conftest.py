"""The application behind a real socket, for what the in-process client cannot show: streams and broken requests."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest
import uvicorn
from fastapi import FastAPI

from app.api.main import create_app
from app.bootstrap import Services, compose_services
from app.db.engine import create_engine
from app.db.session import Database
from app.llm.embedders import Embedders
from tests.support.api import Caller
from tests.support.embedder import HashEmbedder


@asynccontextmanager
async def served(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    """Serve an application on a free port of this machine and give a client of it."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off", timeout_graceful_shutdown=5))
    serving = asyncio.create_task(server.serve([listener]))
    address = f"http://127.0.0.1:{listener.getsockname()[1]}"
    try:
        limits = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(base_url=address, timeout=60, limits=limits) as client:
            yield client
    finally:
        server.should_exit = True
        await serving
        listener.close()


@pytest.fixture
async def owner(caller: Caller) -> Caller:
    return await caller.found()


@pytest.fixture
async def live(services: Services, owner: Caller) -> AsyncIterator[Caller]:
    """The owner, over a real socket, on a service with few database connections."""
    engine = create_engine(services.settings.database_url.get_secret_value(), pool_size=5)
    few = compose_services(
        services.settings,
        Database(engine),
        services.redis,
        services.keys,
        Embedders(HashEmbedder()),
        parser=services.parser,
    )
    async with served(create_app(few)) as client:
        yield Caller(client, owner.issuer, owner.subject, owner.workspace_id)
    await engine.dispose()
