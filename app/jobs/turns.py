"""How long work of a worker lets others pass."""

from collections.abc import Awaitable, Callable

OthersWait = Callable[[], Awaitable[bool]]
"""Tells whether somebody else's work waits for this worker, so that a long run lets it pass."""


async def nobody_waits() -> bool:
    """Let a run go on to its end."""
    return False
