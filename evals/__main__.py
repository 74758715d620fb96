"""Runs the evaluation: `python -m evals --data FOLDER [--json FILE] [--limit N] [--sets NAME ...] [--half H]`."""

import argparse
import asyncio
import json
import logging
import sys
import time
from pathlib import Path

import structlog

from app.bootstrap import Services
from evals.environment import running_services
from evals.formats import LabelledSet, read_sets
from evals.loading import load
from evals.report import Figures, SetRun, print_table, sum_up
from evals.running import ask_all
from evals.splits import in_half


def main() -> int:
    """Measure every set of a folder and report."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    options = _options()
    figures = asyncio.run(_measure(options))
    print_table(figures)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    inexact = [name for name, row in figures.items() if row["citations_exact"] not in {None, 1.0}]
    if inexact:
        print(f"Citations that are not exact: {', '.join(inexact)}", file=sys.stderr)
    return 1 if inexact else 0


async def _measure(options: argparse.Namespace) -> dict[str, Figures]:
    figures: dict[str, Figures] = {}
    async with running_services() as services:
        for each in read_sets(options.data, options.sets):
            if isinstance(each, str):
                print(f"{each}: no questions.jsonl, skipped.", file=sys.stderr)
                continue
            run = await _run_set(services, each, options)
            figures[each.name] = sum_up(run)
            print_table({each.name: figures[each.name]})
    return figures


async def _run_set(services: Services, labelled: LabelledSet, options: argparse.Namespace) -> SetRun:
    started = time.perf_counter()
    loaded = await load(services, labelled)
    seconds = time.perf_counter() - started
    chosen = [each for each in labelled.questions if options.half == "all" or in_half(each.id, options.half)]
    return SetRun(labelled.name, loaded, seconds, await ask_all(services, loaded, chosen[: options.limit]))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m evals", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="a labelled set, or a folder of them")
    parser.add_argument("--json", type=Path, help="where to write all figures")
    parser.add_argument("--limit", type=int, help="ask at most so many questions of each set")
    parser.add_argument("--sets", nargs="*", default=(), help="names of the sets to measure; all when left out")
    parser.add_argument(
        "--half",
        choices=("all", "tuning", "held-out"),
        default="all",
        help="questions to ask: thresholds were tuned on one half, so honest figures come from the other",
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
