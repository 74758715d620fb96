"""Real child processes: each way to end has its type, and none delays the next file."""

import asyncio
import base64
import io
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import aclosing, suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import pytest

from app.core.boxes import Box, pack, unpack
from app.documents.media_types import MediaType
from app.ingestion.parsing import isolation
from app.ingestion.parsing.isolation import IsolatedParser, ParserFailedError
from app.ingestion.parsing.types import ParsedDocument, ParseFailure, ParseLimits, ParseReason
from tests.support.nurseries import children_of, nursery_of, parsers_of, until
from tests.support.pdfs import drawn, put, raw_pdf, saved, shown

MIB = 2**20
LIMITS = ParseLimits(
    seconds=30, memory_bytes=1024 * MIB, max_pages=5_000, max_characters=50_000_000, max_unpacked_bytes=2**29
)
HEAVY = b"many different words stand here e\xcc\x81\r\n" * 1_000_000
IDLE_FILES = 5
"""Of a nursery: its three standard files, and both ends of what tells it of ended children."""
SLOW = HEAVY[: len(HEAVY) // 10]
PAGE = {"number": 1, "label": "1", "text": "a", "furniture": [], "has_text": True}


on_linux = pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")


@pytest.fixture
async def parser() -> AsyncIterator[IsolatedParser]:
    async with aclosing(IsolatedParser()) as parser:
        yield parser


def _boxes(*boxes: Box) -> str:
    return base64.urlsafe_b64encode(pack(boxes)).decode()


def _mark(start: int, end: int) -> dict[str, Any]:
    return {"start": start, "end": end, "kind": "heading", "level": 1}


BOXED = PAGE | {"text": "ab", "width": 10.0, "height": 10.0, "boxes": _boxes(Box(0, 2, 0, 0, 1, 1))}


async def _reason(parser: IsolatedParser, data: bytes, media_type: MediaType, limits: ParseLimits) -> ParseReason:
    with pytest.raises(ParseFailure) as caught:
        await parser.parse(data, media_type, limits)
    return caught.value.reason


async def _next_file_is_fine(parser: IsolatedParser) -> None:
    started = time.perf_counter()
    document = await parser.parse("caf\u00e9\n".encode(), MediaType.TEXT, LIMITS)
    assert document.pages[0].text == "caf\u00e9\n"
    assert time.perf_counter() - started < 25  # 0.01 s on an idle machine; the limit is 30


async def test_a_file_is_parsed_with_its_warnings_and_pages(parser: IsolatedParser) -> None:
    document = await parser.parse(b"one\x0ctwo", MediaType.TEXT, LIMITS)
    assert [page.text for page in document.pages] == ["one\n", "two\n"]
    assert document.warnings == ()


async def test_words_and_marks_of_a_pdf_cross_the_process_border(parser: IsolatedParser) -> None:
    document = drawn()
    put(document, 20, 20, "Starting the pump", size=18)
    document.set_font(size=10)
    document.ln(10)
    document.multi_cell(0, 5, "The pump starts at forty degrees, as the operator sees on the panel. " * 5)
    parsed = await parser.parse(saved(document), MediaType.PDF, LIMITS)
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
async def test_a_pdf_made_to_be_slow_is_read_in_time(parser: IsolatedParser, made: Callable[[], list[bytes]]) -> None:
    contents = made()
    parsed = await parser.parse(raw_pdf(contents), MediaType.PDF, replace(LIMITS, seconds=120))
    assert len(parsed.pages) == len(contents)


async def test_a_pdf_of_too_many_pages_or_characters_says_so(parser: IsolatedParser) -> None:
    data = raw_pdf([shown("one line of text on a page", 50, 700)] * 30)
    assert await _reason(parser, data, MediaType.PDF, replace(LIMITS, max_pages=29)) is ParseReason.TOO_MANY_PAGES
    assert (
        await _reason(parser, data, MediaType.PDF, replace(LIMITS, max_characters=500))
        is ParseReason.TOO_MANY_CHARACTERS
    )


async def test_a_pdf_of_thousands_of_full_pages_is_read_within_the_usual_limits(parser: IsolatedParser) -> None:
    """A tenth of the largest one, with a tenth of the time."""
    text = "The pump starts at forty degrees and the valve is closed by hand."
    page = b"".join(shown(text, 50, 780 - 14 * line) for line in range(50))
    limits = replace(LIMITS, seconds=12, max_characters=2_000_000)
    document = await parser.parse(raw_pdf([page] * 500), MediaType.PDF, limits)
    assert len(document.pages) == 500
    assert all(page.boxes for page in document.pages)


async def test_a_pdf_with_too_little_memory_is_parse_memory(parser: IsolatedParser) -> None:
    page = b"".join(shown("one line of text on a page that goes on", 50, 700 - 14 * line) for line in range(40))
    data = raw_pdf([page] * 600)  # needs 50 MiB
    assert (
        await _reason(parser, data, MediaType.PDF, replace(LIMITS, memory_bytes=40 * MIB)) is ParseReason.PARSE_MEMORY
    )


async def test_a_typed_failure_crosses_the_process_border(parser: IsolatedParser) -> None:
    assert await _reason(parser, b"%PDF-1.7 garbage", MediaType.PDF, LIMITS) is ParseReason.CORRUPT


@pytest.mark.parametrize("memory", [60 * MIB, 150 * MIB])
async def test_too_little_memory_is_parse_memory_and_the_next_file_is_fine(parser: IsolatedParser, memory: int) -> None:
    limits = ParseLimits(
        seconds=120, memory_bytes=memory, max_pages=5_000, max_characters=50_000_000, max_unpacked_bytes=2**29
    )
    assert await _reason(parser, HEAVY, MediaType.TEXT, limits) is ParseReason.PARSE_MEMORY
    await _next_file_is_fine(parser)


async def test_too_little_time_is_parse_timeout_and_the_next_file_is_fine(parser: IsolatedParser) -> None:
    limits = ParseLimits(
        seconds=1, memory_bytes=16_384 * MIB, max_pages=5_000, max_characters=500_000_000, max_unpacked_bytes=2**29
    )
    started = time.perf_counter()
    assert await _reason(parser, HEAVY * 2, MediaType.TEXT, limits) is ParseReason.PARSE_TIMEOUT
    assert time.perf_counter() - started < 60
    await _next_file_is_fine(parser)


@on_linux
async def test_cancellation_kills_the_process_and_leaves_no_zombie(parser: IsolatedParser) -> None:
    task = asyncio.create_task(parser.parse(HEAVY, MediaType.TEXT, LIMITS))
    await parsers_of(parser, 1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await parsers_of(parser, 0)
    await _next_file_is_fine(parser)


@on_linux
async def test_a_process_that_waits_for_ever_is_killed(parser: IsolatedParser, monkeypatch: pytest.MonkeyPatch) -> None:
    await _next_file_is_fine(parser)
    monkeypatch.setattr(isolation, "_WALL_CLOCK_SHARE", 0.01)
    assert await _reason(parser, HEAVY, MediaType.TEXT, LIMITS) is ParseReason.PARSE_TIMEOUT
    await parsers_of(parser, 0)


@on_linux
async def test_a_nursery_that_hangs_is_replaced_and_no_fault_of_the_file(
    parser: IsolatedParser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(isolation, "_CLOSE_SECONDS", 0.5)
    await _next_file_is_fine(parser)
    nursery = nursery_of(parser)
    os.kill(nursery, signal.SIGSTOP)
    with monkeypatch.context() as patch:
        patch.setattr(isolation, "_WALL_CLOCK_SHARE", 0.01)
        task = asyncio.create_task(parser.parse(b"a", MediaType.TEXT, LIMITS))
        await until(lambda: nursery_of(parser) != nursery)
    assert (await task).pages
    assert _has_ended(nursery)


@on_linux
async def test_a_nursery_that_stops_while_it_reads_takes_its_parser_with_it(
    parser: IsolatedParser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(isolation, "_CLOSE_SECONDS", 0.5)
    program = """import time
from app.ingestion.parsing import child, nursery
child.run = lambda parent: (child.end_with(parent), time.sleep(60))
nursery.main()
"""
    with monkeypatch.context() as patch:
        patch.setattr(isolation, "_COMMAND", (sys.executable, "-c", program))
        patch.setattr(isolation, "_WALL_CLOCK_SHARE", 0.1)
        task = asyncio.create_task(parser.parse(b"a", MediaType.TEXT, LIMITS))
        (child,) = await parsers_of(parser, 1)
        nursery = nursery_of(parser)
        os.kill(nursery, signal.SIGSTOP)
        await until(lambda: nursery_of(parser) != nursery)
    assert (await task).pages
    await until(lambda: _has_ended(child))


async def test_a_nursery_that_never_starts_is_no_fault_of_the_file(
    parser: IsolatedParser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(isolation, "_WALL_CLOCK_SHARE", 0.01)
    monkeypatch.setattr(isolation, "_CLOSE_SECONDS", 0.1)
    monkeypatch.setattr(isolation, "_COMMAND", (sys.executable, "-c", "import time; time.sleep(60)"))
    with pytest.raises(ParserFailedError):
        await parser.parse(b"a", MediaType.TEXT, LIMITS)
    assert nursery_of(parser) == 0


async def test_many_files_are_read_at_once(parser: IsolatedParser) -> None:
    texts = [f"file {number}\n" for number in range(20)]
    parsed = await asyncio.gather(*[parser.parse(text.encode(), MediaType.TEXT, LIMITS) for text in texts])
    assert [document.pages[0].text for document in parsed] == texts


@on_linux
async def test_a_parser_holds_its_own_files_alone(parser: IsolatedParser) -> None:
    tasks = [asyncio.create_task(parser.parse(HEAVY, MediaType.TEXT, LIMITS)) for _ in range(3)]
    children = await parsers_of(parser, 3)
    await until(lambda: all(resource.prlimit(child, resource.RLIMIT_CORE) == (0, 0) for child in children))
    held = [file for child in children for file in _open_files(child).values() if file != "/dev/null"]
    assert held
    assert all(file.endswith("(deleted)") for file in held)
    assert len(set(held)) == len(held) <= 2 * len(children)
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)


@on_linux
async def test_the_nursery_has_nothing_of_the_workers_environment(
    parser: IsolatedParser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_SECRET", "of the worker")
    await _next_file_is_fine(parser)
    environment = _proc(nursery_of(parser), "environ").split(b"\0")
    assert {entry.partition(b"=")[0] for entry in environment if entry} == {b"PYTHONPATH", b"LANG"}


async def test_modules_in_the_folder_of_the_worker_are_not_loaded(
    parser: IsolatedParser, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It may be one of files to upload."""
    (tmp_path / "selectolax.py").write_text("raise SystemExit('loaded')")
    monkeypatch.chdir(tmp_path)
    assert (await parser.parse(b"<p>words", MediaType.HTML, LIMITS)).pages[0].text == "words\n"


async def test_signals_for_the_worker_do_not_end_the_nursery(parser: IsolatedParser) -> None:
    await _next_file_is_fine(parser)
    nursery = nursery_of(parser)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        os.kill(nursery, number)
    await _next_file_is_fine(parser)
    assert nursery_of(parser) == nursery


async def test_a_nursery_that_ended_between_two_files_is_replaced(parser: IsolatedParser) -> None:
    await _next_file_is_fine(parser)
    nursery = nursery_of(parser)
    os.kill(nursery, signal.SIGKILL)
    await _next_file_is_fine(parser)
    assert nursery_of(parser) != nursery


@on_linux
async def test_a_file_whose_nursery_ends_is_read_again(parser: IsolatedParser) -> None:
    task = asyncio.create_task(parser.parse(SLOW, MediaType.TEXT, LIMITS))
    (child,) = await parsers_of(parser, 1)
    nursery = nursery_of(parser)
    os.kill(nursery, signal.SIGKILL)
    assert (await task).pages
    assert nursery_of(parser) != nursery
    await until(lambda: _has_ended(child))


@on_linux
async def test_a_nursery_that_ends_twice_is_no_fault_of_the_file(parser: IsolatedParser) -> None:
    task = asyncio.create_task(parser.parse(HEAVY, MediaType.TEXT, LIMITS))
    await parsers_of(parser, 1)
    first = nursery_of(parser)
    os.kill(first, signal.SIGKILL)
    await until(lambda: nursery_of(parser) not in {0, first})
    await parsers_of(parser, 1)
    os.kill(nursery_of(parser), signal.SIGKILL)
    with pytest.raises(ParserFailedError):
        await task
    await _next_file_is_fine(parser)


def _a_file_and_a_full_one(temporary: Callable[[], IO[bytes]]) -> Iterator[IO[bytes]]:
    with temporary() as source, Path("/dev/full").open("r+b", buffering=0) as full:
        yield source
        yield full


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="what is full is made by /dev/full")
async def test_a_full_disk_is_no_fault_of_the_file(parser: IsolatedParser, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(tempfile, "TemporaryFile", _a_file_and_a_full_one(tempfile.TemporaryFile).__next__)
        with pytest.raises(ParserFailedError):
            await parser.parse(b"a", MediaType.TEXT, LIMITS)
    await _next_file_is_fine(parser)


async def test_a_limit_that_the_system_refuses_is_no_fault_of_the_file(
    parser: IsolatedParser, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = """from app.ingestion.parsing import child, nursery
def refuse(kind, limits):
    raise ValueError
child.resource.setrlimit, nursery._limit_open_files = refuse, int
nursery.main()
"""
    monkeypatch.setattr(isolation, "_COMMAND", (sys.executable, "-c", program))
    with pytest.raises(ParserFailedError):
        await parser.parse(b"a", MediaType.TEXT, LIMITS)


async def test_an_answer_that_is_too_large_is_too_many_characters(
    parser: IsolatedParser, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = """from app.ingestion.parsing import child, nursery
child.answer_bytes = lambda _: 10
nursery.main()
"""
    monkeypatch.setattr(isolation, "_COMMAND", (sys.executable, "-c", program))
    assert await _reason(parser, b"a", MediaType.TEXT, LIMITS) is ParseReason.TOO_MANY_CHARACTERS


@pytest.mark.skipif(sys.platform == "darwin", reason="lets an unprivileged process alone change its account")
async def test_a_parser_starts_no_process(parser: IsolatedParser, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would outlive the parser and its limit of time. The administrator's own may: as nobody it is shown."""
    program = """import os
from app.ingestion.parsing import child, nursery
if os.getuid() == 0:
    os.setuid(65534)
parse = child.parse
def parse_after_fork(*args):
    try:
        os.fork()
    except BlockingIOError:
        return parse(*args)
child.parse = parse_after_fork
nursery.main()
"""
    monkeypatch.setattr(isolation, "_COMMAND", (sys.executable, "-c", program))
    assert (await parser.parse(b"a", MediaType.TEXT, LIMITS)).pages


async def test_a_file_is_read_where_the_system_takes_no_limit_of_memory(
    parser: IsolatedParser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As macOS does, which has no `prctl` either."""
    program = """import sys
from app.ingestion.parsing import child, nursery
sys.platform = "darwin"
setrlimit = child.resource.setrlimit
def refuse(kind, limits):
    if kind == child.resource.RLIMIT_AS:
        raise ValueError
    setrlimit(kind, limits)
child.resource.setrlimit = refuse
del child.ctypes.CDLL
nursery.main()
"""
    monkeypatch.setattr(isolation, "_COMMAND", (sys.executable, "-c", program))
    assert (await parser.parse(b"a", MediaType.TEXT, LIMITS)).pages


async def test_a_library_that_raises_anything_is_the_fault_of_the_file(
    parser: IsolatedParser, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = """import os
from app.ingestion.parsing import child, nursery
child.parse = lambda *_: os.stat("/missing")
nursery.main()
"""
    monkeypatch.setattr(isolation, "_COMMAND", (sys.executable, "-c", program))
    assert await _reason(parser, b"a", MediaType.TEXT, LIMITS) is ParseReason.CORRUPT


async def test_a_nursery_that_cannot_be_started_is_no_fault_of_the_file(
    parser: IsolatedParser, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(isolation, "_COMMAND", ("/missing",))
        with pytest.raises(ParserFailedError):
            await parser.parse(b"a", MediaType.TEXT, LIMITS)
    await _next_file_is_fine(parser)


async def test_a_system_that_gives_no_process_is_no_fault_of_the_file(
    parser: IsolatedParser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The nursery says so, and goes on."""
    program = """import os
from app.ingestion.parsing import nursery
fork = os.fork
def refuse():
    os.fork = fork
    raise BlockingIOError
os.fork = refuse
nursery.main()
"""
    monkeypatch.setattr(isolation, "_COMMAND", (sys.executable, "-c", program))
    with pytest.raises(ParserFailedError):
        await parser.parse(b"a", MediaType.TEXT, LIMITS)
    nursery = nursery_of(parser)
    await _next_file_is_fine(parser)
    assert nursery_of(parser) == nursery


@on_linux
async def test_a_nursery_with_too_many_open_files_says_so_or_is_replaced(parser: IsolatedParser) -> None:
    await _next_file_is_fine(parser)
    nursery = nursery_of(parser)
    await until(lambda: len(_open_files(nursery)) == IDLE_FILES)
    none_left, one_left = sorted(set(range(64)) - _open_files(nursery).keys())[:2]
    resource.prlimit(nursery, resource.RLIMIT_NOFILE, (one_left, 1024))
    with pytest.raises(ParserFailedError):
        await parser.parse(b"a", MediaType.TEXT, LIMITS)
    assert nursery_of(parser) == nursery
    resource.prlimit(nursery, resource.RLIMIT_NOFILE, (none_left, 1024))
    await _next_file_is_fine(parser)
    assert nursery_of(parser) != nursery


async def test_closing_ends_the_nursery_and_its_parsers() -> None:
    parser = IsolatedParser()
    await parser.aclose()
    task = asyncio.create_task(parser.parse(HEAVY, MediaType.TEXT, LIMITS))
    await until(lambda: nursery_of(parser) > 0)
    assert parser._nursery
    process = parser._nursery._process
    await parser.aclose()
    assert process.returncode == 0
    task.cancel()
    await asyncio.wait([task])
    await parser.aclose()


@on_linux
async def test_nursery_and_parser_end_with_a_worker_that_is_killed() -> None:
    command = f"""import asyncio
from app.documents.media_types import MediaType
from app.ingestion.parsing.isolation import IsolatedParser
from app.ingestion.parsing.types import ParseLimits
asyncio.run(IsolatedParser().parse(b"many words " * 10_000_000, MediaType.TEXT, {LIMITS!r}))
"""
    worker = await asyncio.create_subprocess_exec(sys.executable, "-c", command)
    (nursery,) = await children_of(worker.pid, 1)
    (child,) = await children_of(nursery, 1)
    worker.kill()
    await worker.wait()
    await until(lambda: _has_ended(nursery) and _has_ended(child))


@on_linux
@pytest.mark.parametrize("alive", [True, False])
def test_a_process_whose_parent_ended_before_it_could_ask_ends_too(*, alive: bool) -> None:
    parent = "os.getppid()" if alive else "os.getpid()"
    program = f"import os; from app.ingestion.parsing import child; child.end_with({parent}); print('goes on')"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, timeout=60)
    assert (done.stdout == b"goes on\n") == alive


def _has_ended(number: int) -> bool:
    try:
        return b") Z" in _proc(number, "stat")
    except (FileNotFoundError, ProcessLookupError):
        return True


def _open_files(number: int) -> Mapping[int, str]:
    found = {}
    for file in Path(f"/proc/{number}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile
            found[int(file.name)] = str(file.readlink())
    return found


def _proc(number: int, name: str) -> bytes:
    return Path(f"/proc/{number}/{name}").read_bytes()


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
