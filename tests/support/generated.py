"""Documents that no person writes, and what has to hold for the chunks of each.

`check_generated(10_000)` or `python -m tests.support.generated 10000` checks so many, from the bytes of a text file
to its chunks; marks at random places stand for the parsers of other formats.
"""

import argparse
import bisect
import itertools
import math
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from hypothesis import HealthCheck, given, settings, strategies as st

from app.core.tokens import TokenCounter
from app.ingestion.chunking import Chunk, chunk
from app.ingestion.cutting import MAX_CHARACTERS
from app.ingestion.packing import MAX_TOKENS
from app.ingestion.parsing.text import parse_text
from app.ingestion.parsing.types import (
    Mark,
    MarkKind,
    ParsedDocument,
    ParsedPage,
    ParseFailure,
    ParseLimits,
    ParseReason,
)

LIMITS = ParseLimits(
    seconds=60, memory_bytes=2**30, max_pages=50_000, max_characters=20_000_000, max_unpacked_bytes=2**29
)
_PIECES = (
    *("word", "several words of a line ", "This is a sentence. ", "Dr. No said so. ", "Is it? ", "e.g. ", "1,000 "),
    *("# H\n\n", "## Sub ##\n", "# a\n\nb\n\n", "3 Timers\n\n", "3.1 T3410\n\n", "Chapter 2: Two\n", "Appendix A\n\n"),
    *("1.2 Verify ", "V5.1.3 x.", "2.13\n", "- item\n", "(a) point\n", "12. step\n", "\u2022 dot\n"),
    *("| a | b |\n", "| a | b |\n|---|---|\n", "| 1 | 2 |\n", "x | y\n-- | --\n", "| " + "cell " * 30, " | ", "|"),
    *("|" + "-" * 300 + "|\n", "|:-:|", "+---+\n", "```\n", "~~~\n", "    code\n", "> quote\n", "=====\n"),
    *("\n", "\n\n", "\r\n", "\r", "\f", "\v", "\x85", "\u2028", "\t", " ", "\u00a0", "\u3000", "\n \n", " " * 300),
    *("\x00", "\ud800", "\udfff", "\ufeff", "\u200b", "\u00ad\n", "soft-\nware ", "\ufffe", "\x1b[0m", "\u202e"),
    *("e\u0301", "\u0301" * 120, "\u0323\u0301", "\ufb01n ", "\u1e9e", "\u0130", "\U0001f468\u200d\U0001f469"),
    *("\u05e9\u05dc\u05d5\u05dd ", "\u0645\u0631\u062d\u0628\u0627 ", "\u4f60\u597d\u3002", "\u4f60\u597d" * 200),
    *("\ud55c\uad6d\uc5b4 ", "\u0e44\u0e17\u0e22" * 40, "x" * 400, "A" * 101, "0123456789" * 30, "!?" * 50, "'" * 90),
)
_ENCODINGS = ("utf-8", "utf-8", "utf-8-sig", "utf-16", "utf-32")
_NUMBERS = st.integers(0, 2**20)
_MOST_LINES_MARKED = 200
_WORD_OR_SIGN = re.compile(r"[^\W_]+|[^\w\s]|_")


def document_of(*texts: str, marks: Sequence[Mark] = ()) -> ParsedDocument:
    """Return a document with a page for each text."""
    pages = tuple(
        ParsedPage(number, str(number), text, (), has_text=bool(text.strip())) for number, text in enumerate(texts, 1)
    )
    return ParsedDocument(pages, (), "1", tuple(marks))


def count_letters(text: str) -> int:
    """Count as word-piece tokenisers do: about one token for four letters, and one for each sign."""
    return sum(math.ceil(len(word) / 4) for word in _WORD_OR_SIGN.findall(text))


def count_long_words(text: str) -> int:
    """Count more tokens for a word than for its parts, so that words which are cut and joined show; and each sign."""
    return sum(1 + len(word) ** 2 // 64 for word in _WORD_OR_SIGN.findall(text))


def count_characters(text: str) -> int:
    """Count every character but white space."""
    return sum(len(word) for word in text.split())


@dataclass(frozen=True, slots=True)
class Generated:
    """A document as it is generated: a file, how to mark its text, and a tokeniser."""

    data: bytes
    mark: Callable[[str], tuple[Mark, ...]]
    all_headings_marked: bool
    count_tokens: TokenCounter


def check_chunks(document: ParsedDocument, chunks: Sequence[Chunk], count_tokens: TokenCounter) -> None:
    """Assert what holds for the chunks of every document."""
    text = "".join(page.text for page in document.pages)
    starts = [0, *itertools.accumulate(len(page.text) for page in document.pages)]
    assert [page.number for page in document.pages] == list(range(1, len(document.pages) + 1))
    assert [item.ordinal for item in chunks] == list(range(len(chunks)))
    assert all(text[item.start : item.end] == item.text and item.text == item.text.strip() for item in chunks)
    assert all(left.end <= right.start for left, right in itertools.pairwise(chunks))
    assert "".join("".join(item.text.split()) for item in chunks) == "".join(text.split())
    for item in chunks:
        assert item.page_start == bisect.bisect_right(starts, item.start)
        assert item.page_end == bisect.bisect_right(starts, item.end - 1)
        assert 0 < len(item.text) <= MAX_CHARACTERS
        assert item.token_count == count_tokens(item.text) <= MAX_TOKENS


def check(generated: Generated) -> None:
    """Parse and chunk a generated document; assert what holds for each.

    Only one without text fails, or without text that can be read (private use, controls, no known encoding).
    """
    try:
        parsed = parse_text(generated.data, LIMITS)
    except ParseFailure as failure:
        assert failure.reason in {ParseReason.NO_TEXT, ParseReason.LOW_TEXT_QUALITY}  # noqa: PT017 (any other reason is wrong)
        return
    text = "".join(page.text for page in parsed.pages)
    document = replace(parsed, marks=generated.mark(text), all_headings_marked=generated.all_headings_marked)
    chunks = chunk(document, generated.count_tokens, seconds=LIMITS.seconds)
    assert chunks
    check_chunks(document, chunks, generated.count_tokens)


def check_generated(examples: int) -> None:
    """Check so many generated documents; raises with the smallest one that fails."""
    run = given(generated_documents())(check)
    settings(max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck))(run)()


def texts() -> st.SearchStrategy[str]:
    """Texts of pieces that mean something to the parser or the chunker, repeated, and of any characters."""
    anything = st.text(alphabet=st.characters(exclude_categories=()), max_size=60)
    piece = st.sampled_from(_PIECES) | anything
    run = st.tuples(piece, st.sampled_from((1, 1, 1, 2, 7, 60))).map(lambda drawn: drawn[0] * drawn[1])
    return st.sampled_from((0, 5, 30)).flatmap(lambda least: st.lists(run, min_size=least, max_size=60)).map("".join)


@st.composite
def generated_documents(draw: st.DrawFn) -> Generated:
    """Return text files of odd content in several encodings, marked at random or by line."""
    data = draw(texts()).encode(draw(st.sampled_from(_ENCODINGS)), "surrogatepass")
    numbers = draw(st.sampled_from((0, 8)).flatmap(lambda least: st.lists(_NUMBERS, min_size=least, max_size=60)))
    mark = draw(st.sampled_from((_no_marks, _marks_anywhere, _marks_of_lines)))
    return Generated(
        data,
        lambda text: mark(text, numbers),
        draw(st.booleans()),
        draw(st.sampled_from((count_letters, count_long_words, count_characters))),
    )


def _no_marks(text: str, numbers: list[int]) -> tuple[Mark, ...]:
    return ()


def _marks_anywhere(text: str, numbers: list[int]) -> tuple[Mark, ...]:
    """Mark spans between random offsets, some of them empty or next to each other."""
    offsets = sorted(number % (len(text) + 1) for number in numbers)
    spans = zip(itertools.pairwise(offsets), numbers, strict=False)
    return tuple(_mark(start, end, number) for (start, end), number in spans if number % 5)


def _marks_of_lines(text: str, numbers: list[int]) -> tuple[Mark, ...]:
    """Mark whole lines."""
    ends = itertools.accumulate(len(line) + 1 for line in text.split("\n")[:_MOST_LINES_MARKED])
    lines = zip(itertools.pairwise([0, *ends]), itertools.cycle(numbers or [0]), strict=False)
    return tuple(_mark(start, end - 1, number) for (start, end), number in lines if number % 5)


def _mark(start: int, end: int, number: int) -> Mark:
    kind = (MarkKind.HEADING, MarkKind.HEADER_ROW, MarkKind.ROW, MarkKind.ROW)[number % 4]
    return Mark(start, end, kind, 1 + number // 4 % 12 if kind is MarkKind.HEADING else 0)


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("examples", type=int)
    examples = parser.parse_args().examples
    began = time.monotonic()
    check_generated(examples)
    print(f"{examples} generated documents checked in {time.monotonic() - began:.0f} s")  # noqa: T201


if __name__ == "__main__":
    _main()
