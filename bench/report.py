"""Says what was measured: lines for people, JSON for programs."""

import json
import math
import os
import platform
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from bench.figures import Figure, in_words
from bench.runs import Options, Result
from bench.servers import cores

Json = dict[str, object]


def print_result(result: Result) -> None:
    """Print one measurement as soon as it has ended."""
    load = f"load {result.load_before:.2f} to {result.load_after:.2f} on {cores()} cores"
    print(f"\n{result.name}: {result.seconds:.0f} s, {load}", flush=True)
    if result.measured is None:
        print(f"  BROKE: {result.error}", flush=True)
        return
    for figure in result.measured.figures:
        print(f"  {in_words(figure)}", flush=True)
    for line in result.measured.lines:
        print(f"    {line}".encode("ascii", "backslashreplace").decode(), flush=True)


def print_summary(results: Sequence[Result]) -> None:
    """Print what did not hold, or that all did."""
    failed = [result.name for result in results if not result.holds]
    print(f"\n{'Not held: ' + ', '.join(failed) if failed else 'Every bar holds.'}")


def write_json(path: Path, results: Sequence[Result], options: Options, began: datetime) -> None:
    """Write all results with the machine that they belong to."""
    document = {
        "began": began.isoformat(),
        "quick": options.quick,
        "machine": {"cores": cores(), "platform": platform.platform(), "python": platform.python_version()},
        "holds": all(result.holds for result in results),
        "measurements": [_result(result) for result in results],
    }
    path.write_text(json.dumps(document, indent=1, allow_nan=False) + "\n", "utf-8")


def load() -> float:
    """Return the load average of the last minute."""
    return os.getloadavg()[0]


def _result(result: Result) -> Json:
    measured = result.measured
    return {
        "name": result.name,
        "seconds": round(result.seconds, 1),
        "load": [result.load_before, result.load_after],
        "holds": result.holds,
        "error": result.error,
        "figures": [_figure(figure) for figure in measured.figures] if measured else [],
        "lines": list(measured.lines) if measured else [],
    }


def _figure(figure: Figure) -> Json:
    bar = {"sense": figure.bar.sense.value, "limit": figure.bar.limit} if figure.bar else None
    return {
        "name": figure.name,
        "unit": figure.unit,
        "median": None if math.isnan(figure.value) else figure.value,
        "samples": list(figure.samples),
        "bar": bar,
        "holds": figure.holds,
        "note": figure.note,
    }
