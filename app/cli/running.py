"""Runs the asynchronous body of a command."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from app.cli.options import Target
from app.cli.session import Session, open_session

Result = TypeVar("Result")


def run_client(target: Target, body: Callable[[Session], Awaitable[Result]]) -> Result:
    """Open a session, run the body in it, and close it, also at Ctrl-C."""

    async def run() -> Result:
        async with open_session(target) as session:
            return await body(session)

    return asyncio.run(run())
