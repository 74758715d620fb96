"""Whether work grows with its input or faster, measured so that a busy machine does not matter."""

import time
from collections.abc import Callable

_PARTS = 10
_RUNS = 3
_SLACK = 4
_NOISE_SECONDS = 0.2


def assert_linear(work: Callable[[str], object], text: str) -> None:
    """Compare the whole of a text with its first tenth, in processor time of this process.

    Work that grows with the square of its input costs 100 tenths, linear work costs 10; 40 are allowed. The
    whole is worked on last.

    Args:
        work: What is measured.
        text: An input that is alike all over.
    """
    tenth = text[: len(text) // _PARTS]
    small = sum(_seconds(work, tenth) for _ in range(_RUNS)) / _RUNS
    whole = _seconds(work, text)
    allowed = _SLACK * _PARTS * small + _NOISE_SECONDS
    assert whole < allowed, f"{whole:.2f} s of processor time, a tenth of the text takes {small:.4f} s"


def _seconds(work: Callable[[str], object], text: str) -> float:
    began = time.process_time()
    work(text)
    return time.process_time() - began
