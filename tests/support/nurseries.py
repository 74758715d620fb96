"""The processes of a parser, as the system lists them."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from app.ingestion.parsing.isolation import IsolatedParser


def nursery_of(parser: IsolatedParser) -> int:
    """Return the number of the nursery's process, 0 when there is none."""
    return parser._nursery._process.pid if parser._nursery else 0


async def parsers_of(parser: IsolatedParser, count: int) -> list[int]:
    """Return the processes that read files, zombies too, as soon as there are so many."""
    await until(lambda: nursery_of(parser) > 0)
    return await children_of(nursery_of(parser), count)


async def children_of(number: int, count: int) -> list[int]:
    """Return the children of a process, zombies too, as soon as there are so many."""
    found: list[int] = []

    def listed() -> bool:
        found[:] = map(int, Path(f"/proc/{number}/task/{number}/children").read_bytes().split())
        return len(found) == count

    await until(listed)
    return found


async def until(reached: Callable[[], bool]) -> None:
    """Wait for a condition of which nothing tells."""
    async with asyncio.timeout(60):
        while not reached():  # noqa: ASYNC110
            await asyncio.sleep(0.002)
