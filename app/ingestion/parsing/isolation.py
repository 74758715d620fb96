"""Runs the parser in a process of its own, so that no file can stop or slow the worker for long.

pypdf has looped for ever and eaten all memory on real files, where a size limit and `except` do not
help. The process is forked for one file by the nursery, limited by the operating system, killed when it waits for
ever or on cancellation, and its answer is checked like any other input.
"""

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import IO

import structlog
from pydantic import TypeAdapter, ValidationError

import app
from app.core.boxes import BOX_BYTES, spans
from app.documents.media_types import MediaType
from app.ingestion.parsing.orders import EXIT_MEMORY, EXIT_NOT_READ, Order, answer_bytes
from app.ingestion.parsing.types import Mark, ParsedDocument, ParsedPage, ParseFailure, ParseLimits, ParseReason

log = structlog.get_logger(__name__)

_COMMAND = (sys.executable, "-P", "-m", "app.ingestion.parsing.nursery")
"""Without -P, a file named like a module in the folder that the worker was started from would be loaded instead."""
_SOURCE = str(Path(app.__file__).parents[1])
_DEEPEST_HEADING = 100
_WALL_CLOCK_SHARE = 3
"""Wall clock for each second of processor time that a file may take: a busy machine gives its parser a third of a core.

What takes processor time ends by the system's own limit; this one ends what waits for ever."""
_STATUS_BYTES = 16
_CLOSE_SECONDS = 10
"""Most that a nursery may take to end a parser, or its parsers and itself: usually milliseconds."""

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


class ParserFailedError(Exception):
    """A file was not read, which is not the file's fault."""


class _NurseryLostError(Exception):
    """The nursery ended, or hangs, and has not told how the parser ended."""


@dataclass(frozen=True, slots=True)
class _Answer:
    document: ParsedDocument | None = None
    failure: ParseReason | None = None


_ANSWER = TypeAdapter(_Answer)


class _Nursery:
    """The process that forks parsers, at the other end of a socket."""

    def __init__(self) -> None:
        self._requests, theirs = socket.socketpair()
        with theirs:
            try:
                self._process = _start(theirs)
            except OSError as error:
                self._requests.close()
                raise ParserFailedError(f"no nursery can be started: {error.strerror}") from error
        self._requests.settimeout(0)

    def request(self, source: IO[bytes], target: IO[bytes]) -> socket.socket:
        """Ask for a parser; return the socket that tells how it ended, and kills it when closed.

        Raises:
            _NurseryLostError: The process has ended.
        """
        control, theirs = socket.socketpair()
        control.settimeout(0)
        with theirs:
            try:
                files = [theirs.fileno(), source.fileno(), target.fileno()]
                socket.send_fds(self._requests, [b"1"], files)
            except (BrokenPipeError, ConnectionResetError) as error:
                control.close()
                raise _NurseryLostError from error
            except OSError as error:
                control.close()
                raise ParserFailedError(f"the nursery takes no request: {error.strerror}") from error
        return control

    def close(self) -> None:
        """End the process and its parsers."""
        self._requests.close()
        try:
            self._process.wait(_CLOSE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _start(requests: socket.socket) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*_COMMAND, str(os.getpid())],
        stdin=requests.fileno(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,  # libraries print pieces of documents there
        env={"PYTHONPATH": _SOURCE, "LANG": "C.UTF-8"},  # no secret of the worker's environment
        start_new_session=True,
    )


class IsolatedParser:
    """Reads files, each in a process of its own. The nursery of these processes is started when first needed."""

    def __init__(self) -> None:
        self._nursery: _Nursery | None = None

    async def parse(self, data: bytes, media_type: MediaType, limits: ParseLimits) -> ParsedDocument:
        """Return the canonical text of a file.

        Args:
            data: The whole file.
            media_type: What it is, as `sniff` told.
            limits: The most that it may take.

        Raises:
            ParseFailure: It has no usable text, exceeds a limit, or ended its parser.
            ParserFailedError: The system gives no process or no room, or the nursery was lost twice.
        """
        order = Order(media_type, limits)
        try:
            return await self._parse(data, order)
        except _NurseryLostError:
            log.warning("parsing.nursery_lost")
        try:
            return await self._parse(data, order)
        except _NurseryLostError as error:
            raise ParserFailedError("the nursery of the parsers was lost twice") from error

    async def aclose(self) -> None:
        """End the nursery, and with it every parser."""
        await self._discard(self._nursery)

    async def _parse(self, data: bytes, order: Order) -> ParsedDocument:
        with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as target:
            await asyncio.to_thread(_fill, source, order.pack(), data)
            status = await self._status(source, target, order.limits)
            return await asyncio.to_thread(_answer, status, target, order.limits)

    async def _status(self, source: IO[bytes], target: IO[bytes], limits: ParseLimits) -> int:
        """Run a parser; return its exit status. It is killed when this ends in another way."""
        if self._nursery is None:
            self._nursery = _Nursery()
        nursery = self._nursery
        try:
            with nursery.request(source, target) as control:
                status = await _ended(control, limits)
        except _NurseryLostError:
            await self._discard(nursery)
            raise
        if status == EXIT_NOT_READ:
            raise ParserFailedError("the system gives no process, refuses it a limit, or has no room for its answer")
        return status

    async def _discard(self, nursery: _Nursery | None) -> None:
        """Close a nursery, unless another task has."""
        if nursery is not None and nursery is self._nursery:
            self._nursery = None
            await asyncio.to_thread(nursery.close)


def _fill(source: IO[bytes], order: bytes, data: bytes) -> None:
    source.write(order)
    source.write(data)
    source.seek(0)


async def _ended(control: socket.socket, limits: ParseLimits) -> int:
    """Return the exit status of a parser, which is killed at the limit of wall clock.

    A nursery that does not even then tell of its end is the one that hangs, and no fault of the file.
    """
    try:
        async with asyncio.timeout(limits.seconds * _WALL_CLOCK_SHARE):
            return await _told(control)
    except TimeoutError:
        with contextlib.suppress(OSError):  # the nursery has ended too
            control.shutdown(socket.SHUT_WR)
    try:
        async with asyncio.timeout(_CLOSE_SECONDS):
            status = await _told(control)
    except TimeoutError as error:
        raise _NurseryLostError from error
    if status == -signal.SIGKILL:
        raise ParseFailure(ParseReason.PARSE_TIMEOUT)
    return status


async def _told(control: socket.socket) -> int:
    try:
        status = await asyncio.get_running_loop().sock_recv(control, _STATUS_BYTES)
    except ConnectionResetError as error:
        raise _NurseryLostError from error
    if not status:
        raise _NurseryLostError
    return int(status)


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
