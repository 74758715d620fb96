"""Every expression and loop between a file's text and its chunks, against what was made to slow it down."""

import statistics
import time
from collections.abc import Callable

import pytest

from app.core.identifiers import extract_identifiers
from app.ingestion.chunking import chunk
from app.ingestion.parsing.canonical import clean, join_broken_words, tidy, vocabulary
from app.ingestion.parsing.text import parse_text
from app.ingestion.parsing.types import ParseFailure, ParseLimits, ParseReason
from tests.support.generated import document_of

LIMITS = ParseLimits(
    seconds=30, memory_bytes=2**30, max_pages=50_000, max_characters=20_000_000, max_unpacked_bytes=2**29
)
SIZE = 12_000
"""Characters of the small input; the large one has four times as many."""
MOST_GROWTH = 8.0
NOISE_SECONDS = 0.03
MOST_SECONDS = 8.0
"""Processor time for the large input, which takes below 1 second."""
RUNS = 3


def _repeated(unit: str) -> Callable[[int], str]:
    return lambda size: unit * (size // len(unit))


def _long_line(start: str, filler: str, end: str = "") -> Callable[[int], str]:
    return lambda size: start + filler * (size // len(filler)) + end


def _numbered_headings(size: int) -> str:
    return "".join(f"# Heading {number}\n\ntext {number} is a sentence.\n\n" for number in range(size // 42))


HOSTILE = {
    "spaces inside a heading": _repeated("# x" + " " * 190 + "y\n"),
    "marks inside a heading": _repeated("# x" + "# " * 95 + "y\n"),
    "blanks between closing marks": _repeated("# x" + " #" * 95 + "\u00a0y\n"),
    "one heading of blanks": _long_line("# x", " ", "y"),
    "one line of heading marks": _long_line("", "#"),
    "many headings": _numbered_headings,
    "headings alone": _repeated("# H\n"),
    "numbers of 90 parts": _repeated(".".join(["1"] * 90) + " Title\n"),
    "one line of digits and dots": _long_line("", "1."),
    "one line of dotted numbers": _long_line("\n", "111.", "x"),
    "full stops": _long_line("", "."),
    "full stops and blanks": _long_line("", ". "),
    "full stops and closers": _long_line(".", '"', "x"),
    "exclamation marks": _long_line("", "! "),
    "quotation marks": _long_line("", '"'),
    "rows of a table": _repeated("|a|b|\n"),
    "one row of a table": _long_line("", "|"),
    "cells of one row": _long_line("a |\n|-|\n", "| a "),
    "a table with a header": _long_line("| a | b |\n|---|---|\n", "| 1 | 2 |\n"),
    "separators below a header": _long_line("| a |\n|---|\n", "|---|\n"),
    "one separator": _long_line("| a |\n|", "-", "|"),
    "headers of tables": _repeated("| a |\n|---|\n\n"),
    "sections of one word": _repeated("# a\n\nb\n\n"),
    "hyphens at line ends": _repeated("-\n"),
    "broken words": _repeated("a-\n"),
    "blanks after hyphens": _repeated("a-\n" + " " * 500),
    "list markers": _repeated("- (a) 1) x\n"),
    "brackets": _long_line("", "("),
    "blank lines": _long_line("a", "\n", "b"),
    "blanks on lines": _long_line("a", "\n" + " " * 300, "b"),
    "form feeds": _long_line("a", "\f" * 20 + " " * 200, "b"),
    "separated thousands": _long_line("1", ",111", ","),
    "dates without an end": _long_line("", "11/1/11/"),
    "one combining mark": _long_line("a", "\u0301"),
    "combining marks out of order": _long_line("a", "\u0301\u0323"),
    "wide stops": _long_line("", "\u3002"),
    "one word": _long_line("", "x"),
    "capitals and stops": _long_line("", "A.B. "),
}


def _ingest(text: str) -> None:
    """Do all that happens between a text and its chunks, with the steps of a PDF too."""
    document = parse_text(text.encode(), LIMITS)
    body = tidy(clean(text))
    join_broken_words(body, vocabulary([body]))
    for piece in chunk(document, lambda part: len(part) // 4 + 1, seconds=LIMITS.seconds):
        extract_identifiers(piece.text)


def _seconds(text: str) -> float:
    def once() -> float:
        began = time.process_time()
        _ingest(text)
        return time.process_time() - began

    return statistics.median(once() for _ in range(RUNS))


@pytest.mark.parametrize("make", HOSTILE.values(), ids=HOSTILE.keys())
def test_time_grows_with_the_size_of_a_hostile_text(make: Callable[[int], str]) -> None:
    small, large = _seconds(make(SIZE)), _seconds(make(4 * SIZE))
    assert large < MOST_SECONDS
    assert large <= MOST_GROWTH * small + NOISE_SECONDS, f"{small:.3f} s became {large:.3f} s"


@pytest.mark.parametrize("filler", [" ", "#", "1.", '"', "\u0301\u0323", "- "])
def test_a_line_of_900_kb_ends_soon(filler: str) -> None:
    began = time.process_time()
    _ingest("# x" + filler * (900_000 // len(filler)) + "y")
    assert time.process_time() - began < MOST_SECONDS


@pytest.mark.parametrize("text", ["word " * 100, "a\n" * 100, "\n" * 100 + "a", "# H\n\n" * 100])
def test_chunking_that_takes_too_long_ends_as_a_timeout(text: str) -> None:
    with pytest.raises(ParseFailure) as caught:
        chunk(document_of(text), len, seconds=-1)
    assert caught.value.reason is ParseReason.PARSE_TIMEOUT


def test_a_slow_tokeniser_is_stopped_within_the_time() -> None:
    def count(text: str) -> int:
        busy_until = time.thread_time() + 0.01
        while time.thread_time() < busy_until:
            pass
        return len(text)

    began = time.monotonic()
    with pytest.raises(ParseFailure, match="parse_timeout"):
        chunk(document_of("Word. " * 100_000), count, seconds=0.1)
    assert time.monotonic() - began < MOST_SECONDS
