"""Runs the parser in a process of its own, so that no file can stop or slow the worker for long.

pypdf has looped for ever and eaten all memory on real files, where a size limit and `except` do not
help. The process is started for one file, limited by the operating system, killed when it waits for ever or
on cancellation, and its answer is checked like any other input.
"""

import asyncio
import json
import os
import signal
import sys
import tempfile
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from math import inf
from pathlib import Path
from typing import IO

import structlog
from pydantic import TypeAdapter, ValidationError

import app
from app.core.boxes import BOX_BYTES, spans
from app.documents.media_types import MediaType
from app.ingestion.parsing.child import EXIT_MEMORY, answer_bytes
from app.ingestion.parsing.types import Mark, ParsedDocument, ParsedPage, ParseFailure, ParseLimits, ParseReason

log = structlog.get_logger(__name__)

_COMMAND = (sys.executable, "-m", "app.ingestion.parsing.child")
_SOURCE = str(Path(app.__file__).parents[1])
_DEEPEST_HEADING = 100
_WALL_CLOCK_SHARE = 3
"""Wall clock for each second of processor time that a file may take: a busy machine gives its parser a third of a core.

What takes processor time ends by the system's own limit; this one ends what waits for ever."""

# How a process ends when the operating system or its own allocator stops it.
_SIGNALS = {
    -signal.SIGXCPU: ParseReason.PARSE_TIMEOUT,
    -signal.SIGKILL: ParseReason.PARSE_MEMORY,  # by the kernel's out-of-memory killer: the time limit is ours
    -signal.SIGABRT: ParseReason.PARSE_MEMORY,
    -signal.SIGTRAP: ParseReason.PARSE_MEMORY,
    -signal.SIGILL: ParseReason.PARSE_MEMORY,
    -signal.SIGXFSZ: ParseReason.TOO_MANY_CHARACTERS,
    EXIT_MEMORY: ParseReason.PARSE_MEMORY,
}


@dataclass(frozen=True, slots=True)
class _Answer:
    document: ParsedDocument | None = None
    failure: ParseReason | None = None


_ANSWER = TypeAdapter(_Answer)


async def parse_isolated(data: bytes, media_type: MediaType, limits: ParseLimits) -> ParsedDocument:
    """Return the canonical text of a file.

    Args:
        data: The whole file.
        media_type: What it is, as `sniff` told.
        limits: The most that it may take.

    Raises:
        ParseFailure: It has no usable text, exceeds a limit, or ended its parser.
    """
    with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as target:
        await asyncio.to_thread(_fill, source, data)
        process = await asyncio.create_subprocess_exec(
            *_COMMAND,
            media_type.value,
            json.dumps(asdict(limits)),
            str(os.getpid()),
            stdin=source,
            stdout=target,
            stderr=DEVNULL,  # libraries print pieces of documents there
            env={"PYTHONPATH": _SOURCE, "LANG": "C.UTF-8"},  # no secret of the worker's environment
            start_new_session=True,
        )
        with _killed_at_the_end(process):
            status = await _ended(process, limits)
        return await asyncio.to_thread(_answer, status, target, limits)


def _fill(source: IO[bytes], data: bytes) -> None:
    source.write(data)
    source.seek(0)


@contextmanager
def _killed_at_the_end(process: Process) -> Iterator[None]:
    try:
        yield
    finally:
        if process.returncode is None:
            process.kill()


async def _ended(process: Process, limits: ParseLimits) -> int:
    try:
        return await asyncio.wait_for(process.wait(), limits.seconds * _WALL_CLOCK_SHARE)
    except TimeoutError as error:
        raise ParseFailure(ParseReason.PARSE_TIMEOUT) from error


def _answer(status: int, target: IO[bytes], limits: ParseLimits) -> ParsedDocument:
    if status != 0:
        reason = _SIGNALS.get(status, ParseReason.CORRUPT)
        log.info("parsing.ended_by_file", status=status, reason=reason)
        raise ParseFailure(reason)
    target.seek(0)
    try:
        answer = _ANSWER.validate_json(target.read(answer_bytes(limits)), strict=True)
    except ValidationError as error:
        raise ParseFailure(ParseReason.CORRUPT) from error
    if answer.document is None or not _plausible(answer.document, limits):
        raise ParseFailure(answer.failure or ParseReason.CORRUPT)
    return answer.document


def _plausible(document: ParsedDocument, limits: ParseLimits) -> bool:
    """Whether an answer keeps what the parser promises, whoever wrote it."""
    numbers = [page.number for page in document.pages]
    characters = sum(len(page.text) for page in document.pages)
    return (
        numbers == list(range(1, len(numbers) + 1))
        and 0 < len(numbers) <= limits.max_pages
        and characters <= limits.max_characters + len(numbers)
        and not any("\x00" in page.text for page in document.pages)
        and any(page.has_text for page in document.pages)
        and all(map(_is_page_plausible, document.pages))
        and _are_marks_plausible(document.marks, characters)
    )


def _is_page_plausible(page: ParsedPage) -> bool:
    """Whether its size is one, and each box stands after the one before and inside the page's text."""
    if any(side is not None and not 0 < side < inf for side in (page.width, page.height)):
        return False
    if page.boxes and (page.width is None or page.height is None or len(page.boxes) % BOX_BYTES):
        return False
    end = 0
    for start, stop in spans(page.boxes):
        if not end <= start < stop:
            return False
        end = stop
    return end <= len(page.text)


def _are_marks_plausible(marks: Sequence[Mark], characters: int) -> bool:
    """Whether each mark stands after the one before and inside the text."""
    ends = [0, *(mark.end for mark in marks)]
    ordered = all(end <= mark.start < mark.end for end, mark in zip(ends, marks, strict=False))
    return ordered and ends[-1] <= characters and all(0 <= mark.level <= _DEEPEST_HEADING for mark in marks)
