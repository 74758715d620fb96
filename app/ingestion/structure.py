"""Finds the blocks of a text: headings, numbered clauses, list items, table rows and paragraphs.

What the parser marked is taken as it is; between the marks the lines decide.
"""

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from app.ingestion.headings import (
    LONGEST_HEADING,
    LOOK,
    Heading,
    Path,
    below,
    guessed_heading,
    is_clause,
    marked_heading,
)
from app.ingestion.parsing.types import Mark, MarkKind
from app.ingestion.tables import Table, ends_table, is_separator, table_under

_FENCE = re.compile(r" {0,3}(?:```|~~~)")
_ITEM = re.compile(r"\s*(?:[-*+\u2022\u25aa\u25cf\u2013o]|\(?(?:\d{1,3}|[a-z]|[ivx]{1,4})[.)])\s+\S")
_ROW = re.compile(r"\s*\|")


class Kind(IntEnum):
    """What a block is."""

    PARAGRAPH = 0
    ITEM = 1
    ROW = 2
    CLAUSE = 3
    HEADING = 4


class Guess(IntEnum):
    """Which lines may be headings without a mark."""

    NONE = 0
    PLAIN = 1
    """Numbered and named ones: on paper "# Description" is the head of a table."""
    MARKDOWN = 2
    """Those of Markdown too."""


@dataclass(frozen=True, slots=True)
class Block:
    """Consecutive lines that belong together.

    Attributes:
        start: Offset of its first character.
        end: Offset after its last one.
        kind: What it is.
        path: The headings above it, outermost first; a heading's own title is the last.
        table: The table that a row belongs to, when that has a header. It begins where the header row does.
    """

    start: int
    end: int
    kind: Kind
    path: Path = ()
    table: Table | None = None


class _Line(NamedTuple):
    """A line; a tuple, since a text may have millions of them."""

    start: int
    end: int
    text: str

    @property
    def blank(self) -> bool:
        return self.start == self.end


class _Piece(NamedTuple):
    """A block that does not know its path yet; `kind` is None for a line that goes on."""

    start: int
    end: int
    kind: Kind | None
    heading: Heading | None = None
    table: Table | None = None


def find_blocks(
    text: str,
    on_line: Callable[[], None] = lambda: None,
    *,
    marks: Sequence[Mark] = (),
    guess: Guess = Guess.MARKDOWN,
) -> Iterator[Block]:
    """Yield the blocks of a text, in order; together they hold every character that is not white space.

    Args:
        text: Canonical text.
        on_line: Called for each line and mark; may raise to stop the work.
        marks: What the parser knows, in order.
        guess: Which other lines may be headings.
    """
    headings: tuple[Heading, ...] = ()
    path: Path = ()
    for piece in _pieces(text, marks, on_line, guess=guess):
        if piece.heading:
            headings = below(headings, piece.heading)
            path = tuple(heading.title for heading in headings)
        yield Block(piece.start, piece.end, piece.kind or Kind.PARAGRAPH, path, piece.table)


def _pieces(text: str, marks: Sequence[Mark], on_line: Callable[[], None], *, guess: Guess) -> Iterator[_Piece]:
    """Yield marked blocks, and between them those that the lines show."""
    offset = 0
    above: tuple[MarkKind, _Piece] | None = None
    limits = itertools.chain((mark.start for mark in marks[1:]), [len(text)])
    for mark, limit in zip(marks, limits, strict=False):
        on_line()
        start, end = _span(text, mark, offset, limit)
        yield from _between(text, offset, start, on_line, guess=guess)
        offset = end
        start, end = _stripped(text, start, end)
        if start < end:
            piece = _marked(text, mark, start, end, above)
            yield piece
            above = mark.kind, piece
    yield from _between(text, offset, len(text), on_line, guess=guess)


def _span(text: str, mark: Mark, lowest: int, highest: int) -> tuple[int, int]:
    """Return a mark's span; a heading's with the rest of its lines, such as its number, unless that is running text."""
    if mark.kind is not MarkKind.HEADING:
        return mark.start, mark.end
    start = max(lowest, text.rfind("\n", lowest, mark.start) + 1)
    end = text.find("\n", mark.end, highest)
    end = end if end >= 0 else highest
    return (start, end) if end - start <= LONGEST_HEADING else (mark.start, mark.end)


def _marked(text: str, mark: Mark, start: int, end: int, above: tuple[MarkKind, _Piece] | None) -> _Piece:
    """Return a marked block; a row belongs to the table of the marked row right above it."""
    if mark.kind is MarkKind.HEADING:
        return _Piece(start, end, Kind.HEADING, marked_heading(text[start : min(end, start + LOOK)], mark.level))
    kind, upper = above or (MarkKind.HEADING, None)
    table = upper.table if upper and not ends_table(text[upper.end : start]) else None
    if mark.kind is MarkKind.HEADER_ROW:
        more = table if kind is MarkKind.HEADER_ROW else None
        table = more.with_header_row(text, start, end) if more else table_under(text, start, end)
    return _Piece(start, end, Kind.ROW, table=table)


def _between(text: str, start: int, end: int, on_line: Callable[[], None], *, guess: Guess) -> Iterator[_Piece]:
    """Yield the blocks that the lines of a part of the text show."""
    open_piece: _Piece | None = None
    for line, piece in _classified(text, start, end, guess=guess):
        on_line()
        if open_piece and (line.blank or piece.kind is not None or open_piece.heading):
            yield open_piece
            open_piece = None
        if not line.blank:
            open_piece = open_piece._replace(end=line.end) if open_piece else piece
    if open_piece:
        yield open_piece


def _stripped(text: str, start: int, end: int) -> tuple[int, int]:
    """Return a span without the white space around it; an empty one when there is nothing else."""
    piece = text[start:end]
    begin = start + len(piece) - len(piece.lstrip())
    return begin, max(begin, start + len(piece.rstrip()))


def _lines(text: str, offset: int, stop: int) -> Iterator[_Line]:
    """Yield every line without the white space around it; what tells its kind is in its first characters."""
    while offset <= stop:
        end = text.find("\n", offset, stop)
        line = text[offset : end if end >= 0 else stop]
        words = line.strip()
        start = offset + len(line) - len(line.lstrip()) if words else offset
        yield _Line(start, start + len(words), line[:LOOK] if words else "")
        offset += len(line) + 1


def _with_neighbours(text: str, start: int, end: int) -> Iterator[tuple[str, _Line, str]]:
    """Yield each line between the texts of the lines around it, without keeping all lines in memory.

    What is marked ends and begins with its line: the newline beside it makes no blank line.
    """
    first, last = start + text.startswith("\n", start), end - text.endswith("\n", start, end)
    above = text[max(0, first - LOOK) : first].removesuffix("\n").rpartition("\n")[2]
    below = text[last : last + LOOK].removeprefix("\n").partition("\n")[0]
    lines = itertools.chain([_Line(0, 0, above)], _lines(text, first, max(first, last)), [_Line(0, 0, below)])
    before, line = next(lines), next(lines)
    for after in lines:
        yield before.text, line, after.text
        before, line = line, after


def _classified(text: str, start: int, end: int, *, guess: Guess) -> Iterator[tuple[_Line, _Piece]]:
    """Yield each line with the block that it begins or goes on."""
    if start == end or text[start:end].isspace():
        return  # between the rows of a table, a million times
    fenced = False
    table: Table | None = None
    for before, line, after in _with_neighbours(text, start, end):
        if is_fence := bool(_FENCE.match(line.text)):
            fenced = not fenced
        if is_fence or line.blank:
            table = None
            yield line, _Piece(line.start, line.end, Kind.PARAGRAPH)
            continue
        upper, table = table, None if fenced else _table_of(text, line, after, table)
        heading = None
        if guess and not table:
            is_markdown = guess is Guess.MARKDOWN and not fenced
            heading = guessed_heading(line.text, before, after, is_markdown=is_markdown)
        kind = Kind.HEADING if heading else _kind(line.text)
        if table:
            kind = None if upper and is_separator(line.text) else Kind.ROW
        elif upper and kind is None:
            kind = Kind.PARAGRAPH  # the words below a table are none of its rows
        yield line, _Piece(line.start, line.end, kind, heading, table)


def _table_of(text: str, line: _Line, after: str, upper: Table | None) -> Table | None:
    """Return the table whose row a line is: that of the line above, or one that begins here."""
    if text.find("|", line.start, line.end) < 0:
        return None
    return upper or (table_under(text, line.start, line.end) if is_separator(after) else None)


def _kind(line: str) -> Kind | None:
    if is_clause(line):
        return Kind.CLAUSE
    if _ROW.match(line):
        return Kind.ROW
    return Kind.ITEM if _ITEM.match(line) else None
