"""Puts a document's canonical text together from blocks, with marks and page borders at its offsets."""

import bisect
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

from app.core.glyphs import is_visible
from app.ingestion.parsing.canonical import clean, split_long, tidy
from app.ingestion.parsing.types import (
    PARSER_VERSION,
    Mark,
    MarkKind,
    ParsedDocument,
    ParsedPage,
    ParseFailure,
    ParseLimits,
    ParseReason,
)
from app.ingestion.parsing.warnings import no_text_warnings

PAGE_BORDER = "\f"
"""Inside the text of a block: here the next page begins."""

_LEAST_PAGE = 2_000
"""Characters before a heading may begin a new page of a document without pages of its own."""
_MOST_HEADING_PAGES = 1_000
_SOLID = re.compile(r"\S")
_PLAIN_SIGN = re.compile("[0-9A-Za-z]")


@dataclass(frozen=True, slots=True)
class Passage:
    """A block of text as a format knows it.

    Attributes:
        text: Its lines; white space at line ends and blank lines in a row are taken out.
        kind: What it is, when more than plain text; such a block becomes one line.
        level: Depth of a heading, from 1.
        apart: Whether a blank line stands before it.
    """

    text: str
    kind: MarkKind | None = None
    level: int = 0
    apart: bool = True


class Furniture(NamedTuple):
    """Headers and footers of the pages that begin between two offsets."""

    start: int
    end: int
    lines: tuple[str, ...]


class Composer:
    """Takes blocks in order and gives the document. Limits are kept at every step."""

    def __init__(self, limits: ParseLimits) -> None:
        self._limits = limits
        self._parts: list[str] = []
        self._length = 0
        self._starts = [0]
        self._marks: list[Mark] = []

    @property
    def length(self) -> int:
        """Characters so far."""
        return self._length

    @property
    def headings(self) -> bool:
        """Whether any heading was seen."""
        return any(mark.kind is MarkKind.HEADING for mark in self._marks)

    def add(self, passage: Passage) -> None:
        """Add a block; one without anything to see is left out, but for the page borders in it.

        Raises:
            ParseFailure: The document has become too long, or has too many pages.
        """
        *before, last = passage.text.split(PAGE_BORDER)
        text = self._plain("".join((*before, last)), passage.kind)
        if _shows(text):
            if self._length > self._starts[-1]:
                self._append("\n\n" if passage.apart else "\n")
            start = self._append(text)
            for border in _borders(text, before):
                self._begin_page(start + border)
            if passage.kind is not None:
                self._marks.append(Mark(start, start + len(text), passage.kind, passage.level))
        elif before:
            self.break_page()

    def break_page(self) -> int | None:
        """Let the next block begin a page; return where, or None when nothing stands on this page yet."""
        if self._length == self._starts[-1]:
            return None
        self._append("\n")
        self._begin_page(self._length)
        return self._length

    def join_pages(self, border: int) -> None:
        """Take back a page border."""
        at = bisect.bisect_left(self._starts, border)
        if 0 < at < len(self._starts) and self._starts[at] == border:
            del self._starts[at]

    def finish(
        self, *, furniture: Sequence[Furniture] = (), at_headings: bool = False, all_headings_marked: bool = False
    ) -> ParsedDocument:
        """Return the document.

        Args:
            furniture: What is printed around the text.
            at_headings: Whether pages begin at the topmost headings, where they are not tiny.
            all_headings_marked: Whether no other line can be a heading.

        Raises:
            ParseFailure: It has no text, or too many pages.
        """
        if self._length > self._starts[-1]:
            self._append("\n")
        text = "".join(self._parts)
        starts = self._heading_starts() if at_headings else self._starts
        pages = tuple(self._pages(text, starts, furniture))
        if not any(page.has_text for page in pages):
            raise ParseFailure(ParseReason.NO_TEXT)
        return ParsedDocument(pages, no_text_warnings(pages), PARSER_VERSION, tuple(self._marks), all_headings_marked)

    def _plain(self, text: str, kind: MarkKind | None) -> str:
        if len(text) > self._limits.max_characters:
            raise ParseFailure(ParseReason.TOO_MANY_CHARACTERS)
        # Most blocks are a line of ASCII, which needs no cleaning; that halves the time of a long table.
        cleaned = text if text.isascii() and text.isprintable() else clean(text)
        return tidy(cleaned) if kind is None else " ".join(cleaned.split())

    def _append(self, text: str) -> int:
        start = self._length
        self._parts.append(text)
        self._length += len(text)
        if self._length > self._limits.max_characters + len(self._starts):
            raise ParseFailure(ParseReason.TOO_MANY_CHARACTERS)
        return start

    def _begin_page(self, start: int) -> None:
        if start > self._starts[-1]:
            self._starts.append(start)
        if len(self._starts) > self._limits.max_pages:
            raise ParseFailure(ParseReason.TOO_MANY_PAGES)

    def _heading_starts(self) -> list[int]:
        headings = [mark for mark in self._marks if mark.kind is MarkKind.HEADING]
        levels = sorted({mark.level for mark in headings})
        top = next((level for level in levels if sum(mark.level <= level for mark in headings) > 1), 0)
        least = max(_LEAST_PAGE, self._length // _MOST_HEADING_PAGES)
        starts = [0]
        for mark in headings:
            if mark.level <= top and mark.start - starts[-1] >= least:
                starts.append(mark.start)
        return starts

    def _pages(self, text: str, starts: list[int], furniture: Sequence[Furniture]) -> Iterable[ParsedPage]:
        number = 0
        for start, end in pairwise([*starts, len(text)]):
            lines = next((part.lines for part in furniture if part.start <= start < part.end), ())
            for piece in split_long(text[start:end]):
                number += 1
                if number > self._limits.max_pages:
                    raise ParseFailure(ParseReason.TOO_MANY_PAGES)
                yield ParsedPage(number, str(number), piece, lines, has_text=_shows(piece))


def collapse(text: str) -> str:
    """Return a line's text with one space for each run of white space, without soft hyphens."""
    return " ".join(text.replace("\u00ad", "").split())


def row(cells: Sequence[str]) -> str:
    """Return the line of a table row; empty when all of its cells are. An empty cell keeps its place."""
    plain = [collapse(cell) for cell in cells]
    return " ".join(" | ".join(plain).split()) if any(plain) else ""


def flatten(passages: Iterable[Passage]) -> str:
    """Return blocks inside a table cell as its text; the rows of a table in it lose their borders."""
    texts = (replace(passage, text=passage.text.replace(PAGE_BORDER, "")) for passage in passages)
    return " ".join(
        text.text.replace(" | ", ", ") if text.kind in {MarkKind.ROW, MarkKind.HEADER_ROW} else text.text
        for text in texts
    )


def _shows(text: str) -> bool:
    return _PLAIN_SIGN.search(text) is not None or is_visible(text)


def _borders(text: str, before: Sequence[str]) -> Iterable[int]:
    """Yield where page borders fall in a block's text, found by counting what is not white space."""
    if not before:
        return
    ends = [match.end() for match in _SOLID.finditer(text)]
    solid = 0
    for part in before:
        solid += len(_SOLID.findall(clean(part)))
        if 0 < solid < len(ends):
            yield ends[solid] - 1
