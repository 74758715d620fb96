"""Real child processes: each way to end has its type, and none delays the next file."""

import asyncio
import io
import json
import signal
import time
from asyncio.subprocess import Process
from typing import Any

import pytest

from app.documents.media_types import MediaType
from app.ingestion.parsing import isolation
from app.ingestion.parsing.isolation import parse_isolated
from app.ingestion.parsing.types import ParsedDocument, ParseFailure, ParseLimits, ParseReason

MIB = 2**20
LIMITS = ParseLimits(
    seconds=30, memory_bytes=1024 * MIB, max_pages=5_000, max_characters=50_000_000, max_unpacked_bytes=2**29
)
HEAVY = b"many different words stand here e\xcc\x81\r\n" * 1_000_000
PAGE = {"number": 1, "label": "1", "text": "a", "furniture": [], "has_text": True}


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


def _answer(answer: object, status: int = 0) -> ParsedDocument:
    raw = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
    return isolation._answer(status, io.BytesIO(raw), LIMITS)


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
