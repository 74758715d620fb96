"""`python -m adversarial`: attacks the service and ends with 1 when it gave way anywhere."""

import argparse
import asyncio
import sys
from pathlib import Path

from adversarial.cases import Family
from adversarial.catalogue import every_case
from adversarial.runner import all_passed, prove, run_all, summarise, write_json


def main() -> int:
    """Run what the arguments ask for."""
    arguments = _arguments()
    cases = [case for case in every_case() if arguments.only in (None, case.family)]
    if arguments.list:
        for case in cases:
            print(f"{case.family.value}: {case.name} -- {case.expectation}")
        return 0
    results = asyncio.run(prove(cases) if arguments.prove else run_all(cases))
    print(summarise(results))
    if arguments.json:
        write_json(arguments.json, results)
    return 0 if all_passed(results) else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m adversarial", description=__doc__)
    parser.add_argument("--only", type=Family, choices=list(Family), help="run the cases of one family")
    parser.add_argument("--list", action="store_true", help="print the cases and run none")
    parser.add_argument("--prove", action="store_true", help="break the service on purpose: cases must notice")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results for programs")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
