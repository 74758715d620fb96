"""How fast one core reads text PDFs, in the isolated process that the worker uses."""

import asyncio
import contextlib
import os
import resource
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from app.documents.media_types import MediaType
from app.ingestion.parsing.isolation import IsolatedParser
from app.ingestion.parsing.types import ParseFailure, ParseLimits
from bench import texts
from bench.figures import Figure, at_least
from bench.runs import Measured, Options

_LIMITS = ParseLimits(
    seconds=120, memory_bytes=2**30, max_pages=5_000, max_characters=20_000_000, max_unpacked_bytes=2**29
)
_BAR = at_least(100)


@dataclass(frozen=True, slots=True)
class _Parsed:
    """Pages that were read, and what it took by the wall clock."""

    pages: int
    seconds: float


async def measure(options: Options) -> Measured:
    """Parse generated PDFs again and again, then the PDFs of the folder, if there is one."""
    pages, runs = options.size(300, 60), options.size(7, 3)
    with _one_core():
        files = [texts.pdf(pages, seed) for seed in range(runs)]
        spent = _processor_seconds()
        async with contextlib.aclosing(IsolatedParser()) as parser:
            rounds = [await _parse(parser, data) for data in files]
        spent = _processor_seconds() - spent
        async with contextlib.aclosing(IsolatedParser()) as parser:
            single = [await _parse(parser, texts.pdf(1, seed)) for seed in range(runs)]
            found = [await _parse_all(parser, options.data)] if options.data else []
    figures = [
        Figure("wall clock", tuple(each.pages / each.seconds for each in rounds), "pages/s", _BAR),
        Figure("processor time", (pages * runs / spent,), "pages/s", _BAR, note="with starting the nursery once"),
        Figure("a file of one page", tuple(each.seconds for each in single), "s"),
    ]
    figures += [
        Figure("text PDFs of the folder", (each.pages / each.seconds,), "pages/s", note=f"{each.pages} pages")
        for each in found
        if each.pages
    ]
    return Measured(tuple(figures))


async def _parse(parser: IsolatedParser, data: bytes) -> _Parsed:
    began = time.perf_counter()
    document = await parser.parse(data, MediaType.PDF, _LIMITS)
    return _Parsed(len(document.pages), time.perf_counter() - began)


async def _parse_all(parser: IsolatedParser, folder: Path) -> _Parsed:
    """Parse every PDF of a folder that has text; those without count neither as pages nor as time."""
    parsed = []
    for data in await asyncio.to_thread(_pdfs, folder):
        with contextlib.suppress(ParseFailure):
            parsed.append(await _parse(parser, data))
    return _Parsed(sum(each.pages for each in parsed), sum(each.seconds for each in parsed))


def _pdfs(folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted(folder.rglob("*.pdf"))]


@contextlib.contextmanager
def _one_core() -> Iterator[None]:
    """Bind this process, and so the processes that it starts, to one core where the system can do that."""
    if sys.platform != "linux":
        yield
        return
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def _processor_seconds() -> float:
    """Return the processor time of this process and of those that it and its children have waited for."""
    own, ended = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + ended.ru_utime + ended.ru_stime
