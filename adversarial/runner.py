"""Runs cases one after another and says what each saw."""

import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from adversarial.cases import Case, Family, Sabotage
from adversarial.environment import running_servers
from adversarial.replies import Breach
from adversarial.sabotage import sabotaged
from adversarial.world import World, open_world

_CASE_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Result:
    """How one case ended.

    Attributes:
        sabotage: How the service was broken, empty for the real one.
        held: Whether the service held.
        passed: Whether that is as it should be.
        observed: What was seen, or how the service gave way.
    """

    family: Family
    name: str
    expectation: str
    sabotage: str
    held: bool
    passed: bool
    observed: str
    seconds: float


async def run_all(cases: Sequence[Case]) -> list[Result]:
    """Attack the real service."""
    with running_servers() as servers:
        async with open_world(servers) as world:
            return [await _run(world, case) for case in cases]


async def prove(cases: Sequence[Case]) -> list[Result]:
    """Attack services that are broken on purpose: the cases that were chosen for it must fail."""
    results = []
    with running_servers() as servers:
        for kind in Sabotage:
            chosen = [case for case in cases if case.falls_to is kind]
            if not chosen:
                continue
            async with open_world(servers, unbound=kind is Sabotage.NO_WALLS) as world:
                with sabotaged(world, kind):
                    results += [await _run(world, case, kind) for case in chosen]
    return results


async def _run(world: World, case: Case, sabotage: Sabotage | None = None) -> Result:
    began = time.monotonic()
    try:
        async with asyncio.timeout(_CASE_SECONDS):
            held, observed = True, await case.attack(world)
    except Breach as breach:
        held, observed = False, str(breach)
    except Exception as error:  # noqa: BLE001 (a case that breaks has shown nothing: it fails, the others go on)
        held, observed = False, f"the case broke: {type(error).__name__}: {str(error)[:300]}"
    passed = held if sabotage is None else not held and not observed.startswith("the case broke")
    seconds = round(time.monotonic() - began, 2)
    where = sabotage.value if sabotage else ""
    result = Result(case.family, case.name, case.expectation, where, held, passed, observed, seconds)
    _print(result)
    return result


def _print(result: Result) -> None:
    verdict = "PASS" if result.passed else "FAIL"
    where = f"{result.family.value}, {result.sabotage}" if result.sabotage else result.family.value
    line = f"{verdict}  {where}: {result.name} -- {' '.join(result.observed.split())}"
    print(line.encode("ascii", "backslashreplace").decode(), flush=True)


def summarise(results: Iterable[Result]) -> str:
    """Return a line for each family, and the whole."""
    results = list(results)
    passed = Counter(result.family for result in results if result.passed)
    total = Counter(result.family for result in results)
    lines = [f"{family.value:<12}{passed[family]:>4} of {total[family]} passed" for family in Family if total[family]]
    seconds = sum(result.seconds for result in results)
    return "\n".join([*lines, f"{'all':<12}{sum(passed.values()):>4} of {len(results)} passed in {seconds:.0f} s"])


def write_json(path: Path, results: Sequence[Result]) -> None:
    """Write the results for programs."""
    cases = [asdict(result) for result in results]
    passed = sum(result.passed for result in results)
    path.write_text(json.dumps({"passed": passed, "total": len(results), "cases": cases}, indent=1), "utf-8")


def all_passed(results: Sequence[Result]) -> bool:
    """Tell whether there were cases and each ended as it should."""
    if not results:
        print("No case was run.", file=sys.stderr)
    return bool(results) and all(result.passed for result in results)
