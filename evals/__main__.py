"""Runs the evaluation: `python -m evals --data FOLDER`, and with `--retrieval` of search alone."""

import argparse
import asyncio
import json
import logging
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from app.bootstrap import Services
from evals.environment import running_services
from evals.formats import LabelledSet, read_sets
from evals.loading import load
from evals.report import Figures, SearchFigures, SetRun, print_search_table, print_table, sum_up, sum_up_search
from evals.running import ask_all
from evals.searching import search_all
from evals.splits import in_half


@dataclass(frozen=True, slots=True)
class _Measured:
    """Figures of all sets by their names: of search, and of answers unless search alone is measured."""

    search: dict[str, SearchFigures] = field(default_factory=dict)
    answers: dict[str, Figures] = field(default_factory=dict)


def main() -> int:
    """Measure every set of a folder and report."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    options = _options()
    measured = asyncio.run(_measure(options))
    if len(measured.search) > 1:
        _print(measured)
    if options.json:
        figures = {name: {**measured.answers.get(name, {}), "search": ways} for name, ways in measured.search.items()}
        options.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    inexact = [name for name, row in measured.answers.items() if row["citations_exact"] not in {None, 1.0}]
    if inexact:
        print(f"Citations that are not exact: {', '.join(inexact)}", file=sys.stderr)
    return 1 if inexact else 0


def _print(measured: _Measured) -> None:
    print_search_table(measured.search)
    if measured.answers:
        print_table(measured.answers)


async def _measure(options: argparse.Namespace) -> _Measured:
    measured = _Measured()
    async with running_services() as services:
        for each in read_sets(options.data, options.sets):
            if isinstance(each, str):
                print(f"{each}: no questions.jsonl, skipped.", file=sys.stderr)
                continue
            await _run_set(services, each, options, measured)
    return measured


async def _run_set(services: Services, labelled: LabelledSet, options: argparse.Namespace, measured: _Measured) -> None:
    started = time.perf_counter()
    loaded = await load(services, labelled)
    seconds = time.perf_counter() - started
    asked = [each for each in labelled.questions if options.half == "all" or in_half(each.id, options.half)]
    chosen = asked[: options.limit]
    found = await search_all(services, loaded, chosen, with_plain=not options.without_plain)
    measured.search[labelled.name] = sum_up_search(found, options.half)
    print_search_table({labelled.name: measured.search[labelled.name]})
    if not options.retrieval:
        run = SetRun(labelled.name, loaded, seconds, await ask_all(services, loaded, chosen))
        measured.answers[labelled.name] = sum_up(run)
        print_table({labelled.name: measured.answers[labelled.name]})


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m evals", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="a labelled set, or a folder of them")
    parser.add_argument("--retrieval", action="store_true", help="measure search alone, which is quick; no answers")
    parser.add_argument(
        "--without-plain",
        action="store_true",
        help="leave out the plain hybrid search that ours is compared with: it embeds every document once more",
    )
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
