"""What a measurement is given and what it gives back."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from bench.figures import Figure


@dataclass(frozen=True, slots=True)
class Options:
    """What a run was asked for.

    Attributes:
        quick: Whether sizes shall suit a check on every change; the figures are rough then.
        data: Folder of real files, for the measurements that take one.
    """

    quick: bool
    data: Path | None = None

    def size(self, full: int, quick: int) -> int:
        """Return a size for this kind of run."""
        return quick if self.quick else full


@dataclass(frozen=True, slots=True)
class Measured:
    """What a measurement found.

    Attributes:
        figures: The figures, in the order in which they are read.
        lines: A table or notes to print below them.
    """

    figures: tuple[Figure, ...]
    lines: tuple[str, ...] = ()


class NotMeasurableError(Exception):
    """The measurement needs something that is not there; why is in the text."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """One thing that can be measured.

    Attributes:
        name: What it is called on the command line.
        summary: What it measures, in a line.
        measure: Measures it.
        needs_data: Whether it measures nothing without a folder of files.
    """

    name: str
    summary: str
    measure: Callable[[Options], Awaitable[Measured]]
    needs_data: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """How one measurement went.

    Attributes:
        name: Of the measurement.
        seconds: How long it took.
        load_before: Load average of the last minute when it began.
        load_after: The same when it ended.
        measured: What it found; None when it broke.
        error: Why it broke, in words.
    """

    name: str
    seconds: float
    load_before: float
    load_after: float
    measured: Measured | None
    error: str = ""

    @property
    def holds(self) -> bool:
        """Whether it ended and every bar holds."""
        return self.measured is not None and all(each.holds is not False for each in self.measured.figures)
