"""Measures the service: `python -m bench [NAME ...] [--data FOLDER] [--json FILE] [--quick]`."""

import argparse
import asyncio
import contextlib
import logging
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import structlog

from app.core.clock import utc_now
from bench.catalogue import MEASUREMENTS
from bench.report import load, print_result, print_summary, write_json
from bench.runs import Measured, Measurement, NotMeasurableError, Options, Result

_INTERRUPTED = 130


def main() -> int:
    """Measure what was asked for, one after another; 1 when a bar does not hold, 130 when interrupted."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    arguments = _arguments()
    options, began = Options(arguments.quick, arguments.data), utc_now()
    results: list[Result] = []
    try:
        for measurement in _chosen(arguments.names, options):
            results.append(asyncio.run(_run(measurement, options)))
            print_result(results[-1])
    except (KeyboardInterrupt, asyncio.CancelledError):
        print("\nInterrupted; everything that was started has been stopped.", file=sys.stderr)
        return _INTERRUPTED
    finally:
        if arguments.json:
            write_json(arguments.json, results, options, began)
    print_summary(results)
    return 0 if all(result.holds for result in results) else 1


def _chosen(names: Sequence[str], options: Options) -> Iterator[Measurement]:
    """Yield what was named; without names, everything that can be measured with what was given."""
    for measurement in MEASUREMENTS:
        if measurement.name in names or (not names and (options.data or not measurement.needs_data)):
            yield measurement


async def _run(measurement: Measurement, options: Options) -> Result:
    task = asyncio.current_task()
    if task is not None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    before, began = load(), time.monotonic()
    measured: Measured | None = None
    error = ""
    try:
        measured = await measurement.measure(options)
    except NotMeasurableError as reason:
        error = str(reason)
    except Exception as reason:  # noqa: BLE001 (a broken measurement has shown nothing: it counts as failed)
        error = f"{type(reason).__name__}: {reason}"
    return Result(measurement.name, time.monotonic() - began, before, load(), measured, error)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__, epilog=_listed())
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    names = [measurement.name for measurement in MEASUREMENTS]
    parser.add_argument("names", nargs="*", metavar="NAME", help="what to measure; everything when left out")
    parser.add_argument("--data", type=Path, help="a folder of real files, for `files` and `parsing`")
    parser.add_argument("--json", type=Path, help="where to write the figures for programs")
    parser.add_argument("--quick", action="store_true", help="small sizes: shows that all runs, the figures are rough")
    arguments = parser.parse_args()
    if unknown := sorted(set(arguments.names) - set(names)):
        parser.error(f"there is no {', '.join(unknown)}; there are: {', '.join(names)}")
    if arguments.data and not arguments.data.is_dir():
        parser.error(f"{arguments.data} is no folder")
    return arguments


def _listed() -> str:
    return "\n".join(f"  {each.name:<10} {each.summary}" for each in MEASUREMENTS)


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        sys.exit(main())
