"""Time as a value that tests can replace."""

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """Return the current time with its zone, always UTC."""
    return datetime.now(UTC)
