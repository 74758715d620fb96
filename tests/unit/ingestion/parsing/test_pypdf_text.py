import signal
import time
from contextlib import suppress

import pytest

from app.ingestion.parsing.pypdf_text import OutOfTime, time_share


def _loop(*, until: float) -> None:
    while time.process_time() < until:
        pass


def _swallow_errors(*, until: float) -> None:
    while time.process_time() < until:
        with suppress(Exception):  # as a library may
            _loop(until=until)


def test_what_takes_too_long_is_stopped_though_it_swallows_errors() -> None:
    began = time.process_time()
    with pytest.raises(OutOfTime), time_share(0.2):
        _swallow_errors(until=began + 20)
    assert time.process_time() - began < 5


def test_what_ends_in_time_is_left_alone_and_so_is_what_follows() -> None:
    before = signal.getsignal(signal.SIGVTALRM)
    with time_share(0.2):
        pass
    _loop(until=time.process_time() + 0.5)
    assert signal.getsignal(signal.SIGVTALRM) is before
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0, 0)
