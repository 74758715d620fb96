"""When a part that ended is started again, and when that is given up."""

from collections.abc import Sequence

MOST_RESTARTS = 3
WINDOW_SECONDS = 60.0
_FIRST_DELAY = 0.5


def next_delay(endings: Sequence[float], now: float) -> float | None:
    """Return the seconds to wait before the next start, or None when the part ended too often.

    Args:
        endings: Times at which the part ended by itself, this one included, in seconds of any clock.
        now: The same clock.
    """
    recent = sum(1 for time in endings if now - time < WINDOW_SECONDS)
    if recent > MOST_RESTARTS:
        return None
    return _FIRST_DELAY * 2.0 ** max(recent - 1, 0)
