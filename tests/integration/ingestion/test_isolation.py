"""Real child processes: each way to end has its type, and none delays the next file."""

import asyncio
import base64
import io
import json
import os
import resource
import select
import signal
import subprocess
import sys
import time
from asyncio.subprocess import Process
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import pytest

from app.core.boxes import Box, pack, unpack
from app.documents.media_types import MediaType
from app.ingestion.parsing import isolation
from app.ingestion.parsing.isolation import parse_isolated
from app.ingestion.parsing.types import ParsedDocument, ParseFailure, ParseLimits, ParseReason
from tests.support.pdfs import drawn, put, raw_pdf, saved, shown

MIB = 2**20
LIMITS = ParseLimits(
    seconds=30, memory_bytes=1024 * MIB, max_pages=5_000, max_characters=50_000_000, max_unpacked_bytes=2**29
)
HEAVY = b"many different words stand here e\xcc\x81\r\n" * 1_000_000
PAGE = {"number": 1, "label": "1", "text": "a", "furniture": [], "has_text": True}


def _boxes(*boxes: Box) -> str:
    return base64.urlsafe_b64encode(pack(boxes)).decode()


def _mark(start: int, end: int) -> dict[str, Any]:
    return {"start": start, "end": end, "kind": "heading", "level": 1}


BOXED = PAGE | {"text": "ab", "width": 10.0, "height": 10.0, "boxes": _boxes(Box(0, 2, 0, 0, 1, 1))}


async def _reason(data: bytes, media_type: MediaType, limits: ParseLimits) -> ParseReason:
    with pytest.raises(ParseFailure) as caught:
        await parse_isolated(data, media_type, limits)
    return caught.value.reason


async def _next_file_is_fine() -> None:
    started = time.perf_counter()
    document = await parse_isolated("caf\u00e9\n".encode(), MediaType.TEXT, LIMITS)
    assert document.pages[0].text == "caf\u00e9\n"
    assert time.perf_counter() - started < 25  # 0.3 s on an idle machine; the limit is 30


async def test_a_file_is_parsed_with_its_warnings_and_pages() -> None:
    document = await parse_isolated(b"one\x0ctwo", MediaType.TEXT, LIMITS)
    assert [page.text for page in document.pages] == ["one\n", "two\n"]
    assert document.warnings == ()


async def test_words_and_marks_of_a_pdf_cross_the_process_border() -> None:
    document = drawn()
    put(document, 20, 20, "Starting the pump", size=18)
    document.set_font(size=10)
    document.ln(10)
    document.multi_cell(0, 5, "The pump starts at forty degrees, as the operator sees on the panel. " * 5)
    parsed = await parse_isolated(saved(document), MediaType.PDF, LIMITS)
    page = parsed.pages[0]
    words = [page.text[box.start : box.end] for box in unpack(page.boxes)]
    assert words == page.text.split()
    assert [page.text[mark.start : mark.end] for mark in parsed.marks] == ["Starting the pump"]


def _many_texts() -> list[bytes]:
    """A page of 30,000 small texts."""
    places = (b"1 0 0 1 %d %d Tm (ab) Tj" % (number * 7 % 590, number * 11 % 790) for number in range(30_000))
    return [b"BT /F1 4 Tf " + b" ".join(places) + b" ET"]


def _many_lines() -> list[bytes]:
    """Forty pages of a text among 1,200 lines that cross each other."""
    lines = b"".join(b"%d 9 m %d 700 l S\n9 %d m 590 %d l S\n" % ((number,) * 4) for number in range(600))
    return [lines + shown("a", 50, 700)] * 40


def _many_pages() -> list[bytes]:
    return [shown("one line of text on a page", 50, 700)] * 1_500


@pytest.mark.parametrize("made", [_many_texts, _many_lines, _many_pages])
async def test_a_pdf_made_to_be_slow_is_read_in_time(made: Callable[[], list[bytes]]) -> None:
    contents = made()
    parsed = await parse_isolated(raw_pdf(contents), MediaType.PDF, replace(LIMITS, seconds=120))
    assert len(parsed.pages) == len(contents)


async def test_a_pdf_of_too_many_pages_or_characters_says_so() -> None:
    data = raw_pdf([shown("one line of text on a page", 50, 700)] * 30)
    assert await _reason(data, MediaType.PDF, replace(LIMITS, max_pages=29)) is ParseReason.TOO_MANY_PAGES
    assert await _reason(data, MediaType.PDF, replace(LIMITS, max_characters=500)) is ParseReason.TOO_MANY_CHARACTERS


async def test_a_pdf_of_thousands_of_full_pages_is_read_within_the_usual_limits() -> None:
    """A tenth of the largest one, with a tenth of the time."""
    text = "The pump starts at forty degrees and the valve is closed by hand."
    page = b"".join(shown(text, 50, 780 - 14 * line) for line in range(50))
    limits = replace(LIMITS, seconds=12, max_characters=2_000_000)
    document = await parse_isolated(raw_pdf([page] * 500), MediaType.PDF, limits)
    assert len(document.pages) == 500
    assert all(page.boxes for page in document.pages)


async def test_a_pdf_with_too_little_memory_is_parse_memory() -> None:
    page = b"".join(shown("one line of text on a page that goes on", 50, 700 - 14 * line) for line in range(40))
    data = raw_pdf([page] * 600)  # needs 50 MiB
    assert await _reason(data, MediaType.PDF, replace(LIMITS, memory_bytes=40 * MIB)) is ParseReason.PARSE_MEMORY


async def test_a_typed_failure_crosses_the_process_border() -> None:
    assert await _reason(b"%PDF-1.7 garbage", MediaType.PDF, LIMITS) is ParseReason.CORRUPT


@pytest.mark.parametrize("memory", [60 * MIB, 150 * MIB])
async def test_too_little_memory_is_parse_memory_and_the_next_file_is_fine(memory: int) -> None:
    limits = ParseLimits(
        seconds=120, memory_bytes=memory, max_pages=5_000, max_characters=50_000_000, max_unpacked_bytes=2**29
    )
    assert await _reason(HEAVY, MediaType.TEXT, limits) is ParseReason.PARSE_MEMORY
    await _next_file_is_fine()


async def test_too_little_time_is_parse_timeout_and_the_next_file_is_fine() -> None:
    limits = ParseLimits(
        seconds=1, memory_bytes=16_384 * MIB, max_pages=5_000, max_characters=500_000_000, max_unpacked_bytes=2**29
    )
    started = time.perf_counter()
    assert await _reason(HEAVY * 2, MediaType.TEXT, limits) is ParseReason.PARSE_TIMEOUT
    assert time.perf_counter() - started < 60
    await _next_file_is_fine()


async def test_cancellation_kills_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Process] = []
    running = asyncio.Event()
    start = asyncio.create_subprocess_exec

    async def recorded(*arguments: Any, **options: Any) -> Process:
        started.append(await start(*arguments, **options))
        running.set()
        return started[0]

    monkeypatch.setattr(asyncio, "create_subprocess_exec", recorded)
    task = asyncio.create_task(parse_isolated(HEAVY, MediaType.TEXT, LIMITS))
    await running.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.wait_for(started[0].wait(), 60) == -signal.SIGKILL


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process that its parent ended")
@pytest.mark.parametrize("confined", [True, False])
def test_a_parsing_process_ends_with_a_worker_that_is_killed(*, confined: bool) -> None:
    """Also when the worker ended before the process could ask for that."""
    never_ending, hold = os.pipe()
    output, inherited = os.pipe()
    command = f"""import os, subprocess, sys
module, limits = "app.ingestion.parsing.child", {json.dumps(asdict(LIMITS))!r}
child = subprocess.Popen([sys.executable, "-m", module, "text/plain", limits, str(os.getpid())])
print(child.pid, flush=True, file=sys.stderr)
child.wait()
"""
    with subprocess.Popen(
        [sys.executable, "-c", command], stdin=never_ending, stdout=inherited, stderr=subprocess.PIPE
    ) as worker:
        os.close(inherited)
        os.close(never_ending)
        assert worker.stderr is not None
        child = int(worker.stderr.readline())
        deadline = time.monotonic() + 60
        while confined and resource.prlimit(child, resource.RLIMIT_FSIZE) == resource.getrlimit(resource.RLIMIT_FSIZE):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        worker.kill()
    ended, _, _ = select.select([output], [], [], 60)  # its last holder closes it
    assert ended
    assert os.read(output, 1) == b""
    os.close(output)
    os.close(hold)


def _answer(answer: object, status: int = 0) -> ParsedDocument:
    raw = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
    return isolation._answer(status, io.BytesIO(raw), LIMITS)


def test_places_and_marks_of_a_sound_answer_are_taken() -> None:
    marks = [_mark(0, 1), _mark(1, 2)]
    document = _answer({"document": {"pages": [BOXED], "warnings": [], "parser_version": "1", "marks": marks}})
    assert list(unpack(document.pages[0].boxes)) == [Box(0, 2, 0, 0, 1, 1)]
    assert [(mark.start, mark.end) for mark in document.marks] == [(0, 1), (1, 2)]


def test_a_sound_answer_is_taken() -> None:
    assert _answer({"document": {"pages": [PAGE], "warnings": [], "parser_version": "1"}}).pages[0].text == "a"


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"\x80\x04K\x01.",
        b'{"document": {"pages": [{"text": "\\ud800"}]}}',
        {},
        {"failure": "made up"},
        {"document": {"pages": [], "warnings": [], "parser_version": "1"}},
        {"document": {"pages": [PAGE | {"number": 2}], "warnings": [], "parser_version": "1"}},
        {"document": {"pages": [PAGE | {"text": "a\x00"}], "warnings": [], "parser_version": "1"}},
        {"document": {"pages": [PAGE | {"has_text": False}], "warnings": [], "parser_version": "1"}},
        {"document": {"pages": [PAGE | {"text": 7}], "warnings": [], "parser_version": "1"}},
        *[
            {"document": {"pages": [BOXED | wrong], "warnings": [], "parser_version": "1"}}
            for wrong in (
                {"width": 0.0},
                {"height": -1.0},
                {"width": 1e999},
                {"width": None},
                {"boxes": _boxes(Box(0, 3, 0, 0, 1, 1))},
                {"boxes": _boxes(Box(0, 0, 0, 0, 1, 1))},
                {"boxes": _boxes(Box(1, 2, 0, 0, 1, 1), Box(0, 1, 0, 0, 1, 1))},
                {"boxes": _boxes(Box(0, 2, 0, 0, 1, 1), Box(1, 2, 0, 0, 1, 1))},
                {"boxes": "AAAA"},
                {"boxes": "no base 64"},
            )
        ],
        *[
            {"document": {"pages": [BOXED], "warnings": [], "parser_version": "1", "marks": marks}}
            for marks in (
                [_mark(0, 3)],
                [_mark(-1, 1)],
                [_mark(1, 1)],
                [_mark(0, 2), _mark(1, 2)],
                [_mark(1, 2), _mark(0, 1)],
                [_mark(0, 1) | {"level": -1}],
                [_mark(0, 1) | {"kind": "made up"}],
            )
        ],
    ],
)
def test_an_answer_that_breaks_the_promise_is_corrupt(answer: object) -> None:
    with pytest.raises(ParseFailure) as caught:
        _answer(answer)
    assert caught.value.reason is ParseReason.CORRUPT


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (-signal.SIGSEGV, ParseReason.CORRUPT),
        (-signal.SIGKILL, ParseReason.PARSE_MEMORY),
        (-signal.SIGXCPU, ParseReason.PARSE_TIMEOUT),
        (1, ParseReason.CORRUPT),
    ],
)
def test_every_way_to_die_has_a_type(status: int, reason: ParseReason) -> None:
    with pytest.raises(ParseFailure) as caught:
        _answer(b"", status)
    assert caught.value.reason is reason
