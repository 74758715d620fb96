"""What is made of measured values. Pure."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class Sense(StrEnum):
    """Which side of a bar is good."""

    AT_LEAST = ">="
    AT_MOST = "<="
    EXACTLY = "="


@dataclass(frozen=True, slots=True)
class Bar:
    """What a figure must reach."""

    sense: Sense
    limit: float

    def holds(self, value: float) -> bool:
        """Tell whether a value is on the good side; one that is no number never is."""
        if self.sense is Sense.AT_LEAST:
            return value >= self.limit
        if self.sense is Sense.AT_MOST:
            return value <= self.limit
        return value == self.limit


def at_least(limit: float) -> Bar:
    """Return a bar for what should be large."""
    return Bar(Sense.AT_LEAST, limit)


def at_most(limit: float) -> Bar:
    """Return a bar for what should be small."""
    return Bar(Sense.AT_MOST, limit)


def exactly(limit: float) -> Bar:
    """Return a bar for what is counted."""
    return Bar(Sense.EXACTLY, limit)


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured figure.

    Attributes:
        name: What was measured.
        samples: Its values, one for each repetition; the figure is their median.
        unit: Of the values, such as `pages/s`; empty for counts and ratios.
        bar: What the median must reach, if there is a promise.
        note: What a reader has to know beside it.
    """

    name: str
    samples: tuple[float, ...]
    unit: str = ""
    bar: Bar | None = None
    note: str = ""

    @property
    def value(self) -> float:
        """The median; not a number when nothing was measured."""
        return statistics.median(self.samples) if self.samples else math.nan

    @property
    def holds(self) -> bool | None:
        """Whether the bar holds; None without a bar."""
        return None if self.bar is None else self.bar.holds(self.value)


def percentile(values: Sequence[float], at: float) -> float:
    """Return the smallest value that at least `at` of all values (0 to 1) do not exceed; no number without values."""
    return sorted(values)[max(0, math.ceil(at * len(values)) - 1)] if values else math.nan


def in_words(figure: Figure) -> str:
    """Return one line: the median, the spread, the bar and whether it holds."""
    parts = [f"{figure.name}: {_number(figure.value)}{' ' * bool(figure.unit)}{figure.unit}"]
    if len(figure.samples) > 1:
        low, high = _number(min(figure.samples)), _number(max(figure.samples))
        parts.append(f"(median of {len(figure.samples)}, {low} to {high})")
    if figure.bar is not None:
        verdict = "holds" if figure.holds else "DOES NOT HOLD"
        parts.append(f"[bar {figure.bar.sense.value} {_number(figure.bar.limit)}: {verdict}]")
    if figure.note:
        parts.append(f"-- {figure.note}")
    return " ".join(parts)


def _number(value: float) -> str:
    if math.isnan(value):
        return "not measured"
    return f"{value:,.0f}" if value == int(value) or abs(value) >= 1000 else f"{value:.3g}"  # noqa: PLR2004 - digits
