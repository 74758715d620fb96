"""Odd documents, generated at random: whether each is cut into passages that are exact slices of its text."""

import asyncio
import contextlib
import sys
import time

from bench.figures import Figure, exactly
from bench.runs import Measured, Options
from bench.servers import ROOT

_LARGE = "tests/unit/ingestion/test_generated_documents.py"
_LINES = 30


async def measure(options: Options) -> Measured:
    """Check so many random documents, then the large ones that the tests hold."""
    count = options.size(10_000, 200)
    began = time.monotonic()
    random_code, random_output = await _run("tests.support.generated", str(count))
    seconds = time.monotonic() - began
    large_code, large_output = await _run("pytest", "-q", "-n", "0", "-p", "no:cacheprovider", _LARGE)
    lines = [*(random_output if random_code else ()), *(large_output if large_code else ())]
    return Measured(
        (
            Figure("generated documents", (count,)),
            Figure("checks of them that failed", (int(random_code != 0),), "", exactly(0), "the first failure ends it"),
            Figure("checks a second", (count / seconds,), note="on one core"),
            Figure("tests of large documents that failed", (int(large_code != 0),), "", exactly(0)),
        ),
        tuple(lines),
    )


async def _run(module: str, *arguments: str) -> tuple[int, list[str]]:
    """Run a module of the project; return how it ended and the last lines that it wrote."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", module, *arguments),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        output, _ = await process.communicate()
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
    return process.returncode or 0, output.decode("utf-8", "replace").splitlines()[-_LINES:]
