"""Finds the blocks of a text: headings, numbered clauses, list items, table rows and paragraphs.

It sees lines only, since canonical text has no fonts. Where a line may be a heading or the first line of
a clause, what follows decides: a heading is short, ends without a stop, and no sentence runs on below.
"""

import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

_LONGEST_HEADING = 100
_LONGEST_PATH = 300
_LOOK = 200
"""Characters of a line that tell its kind: no expression below ever sees more, however long the line is."""
_BODY_LINE = 40
"""From this length on, a line below a number and a title is running text, not the next entry of a list."""

_ATX = re.compile(r" {0,3}(?P<marks>#{1,6})\s++(?P<title>\S.*)")
_FENCE = re.compile(r" {0,3}(?:```|~~~)")
_NUMBERED = re.compile(r"\s{0,6}(?P<number>(?:[A-Z]\.)?\d{1,3}(?:\.\d{1,3})*)\.?\s+(?P<title>[^\W\d_a-z].*)")
_NAMED = re.compile(
    r"\s{0,4}(?:(?:Item|ITEM)\s+\d|V\d{1,2}[:.]\s*\D"
    r"|(?:Chapter|CHAPTER|Appendix|APPENDIX|Annex|ANNEX)\s+\w+(?:\s*$|\s*[:.\u2013\u2014-]|\s+[^\Wa-z]))"
)
_CLAUSE = re.compile(r"\s*[A-Z]{0,2}\d{1,3}(?:\.\d{1,4})+[.)]?(?:\s|$)")
_ITEM = re.compile(r"\s*(?:[-*+\u2022\u25aa\u25cf\u2013o]|\(?(?:\d{1,3}|[a-z]|[ivx]{1,4})[.)])\s+\S")
_ROW = re.compile(r"\s*\|")
_RUNS_ON = re.compile(r"\s*[^\W\d_A-Z]")
_ENDS_OPEN = re.compile(r"(?:[.;:,!]|\s\d{1,4})\s*$")


class Kind(IntEnum):
    """What a block is."""

    PARAGRAPH = 0
    ITEM = 1
    ROW = 2
    CLAUSE = 3
    HEADING = 4


@dataclass(frozen=True, slots=True)
class Block:
    """Consecutive lines that belong together.

    Attributes:
        start: Offset of its first character.
        end: Offset after its last one.
        kind: What it is.
        heading: The headings above it, outermost first, such as "3 Timers > 3.1 T3410".
    """

    start: int
    end: int
    kind: Kind
    heading: str


class _Line(NamedTuple):
    """A line; a tuple, since a text may have millions of them."""

    start: int
    end: int
    text: str

    @property
    def blank(self) -> bool:
        return self.start == self.end


def find_blocks(text: str, on_line: Callable[[], None] = lambda: None) -> Iterator[Block]:
    """Yield the blocks of a text, in order; together they hold every character that is not white space.

    Args:
        text: Canonical text.
        on_line: Called for each line; may raise to stop the work.
    """
    path: list[tuple[int, str]] = []
    heading = ""
    open_block: Block | None = None
    for line, kind, level in _classified(text):
        on_line()
        if kind is not None or line.blank:
            if open_block:
                yield open_block
            open_block = None
        if line.blank:
            continue
        if kind is Kind.HEADING:
            path = [*(entry for entry in path if entry[0] < level), (level, _title(line.text))]
            heading = _path(path)
        if open_block is None:
            open_block = Block(line.start, line.end, kind or Kind.PARAGRAPH, heading)
        else:
            open_block = Block(open_block.start, line.end, open_block.kind, open_block.heading)
        if kind is Kind.HEADING:
            yield open_block
            open_block = None
    if open_block:
        yield open_block


def _lines(text: str) -> Iterator[_Line]:
    """Yield every line without the white space around it; what tells its kind is in its first characters."""
    offset = 0
    while offset <= len(text):
        end = text.find("\n", offset)
        line = text[offset : end if end >= 0 else len(text)]
        start = offset + len(line) - len(line.lstrip())
        yield _Line(start, max(start, offset + len(line.rstrip())), line[:_LOOK])
        offset += len(line) + 1


def _with_neighbours(text: str) -> Iterator[tuple[str, _Line, str]]:
    """Yield each line between the texts of the lines around it, without keeping all lines in memory."""
    nothing = _Line(0, 0, "")
    lines = itertools.chain([nothing], _lines(text), [nothing])
    before, line = next(lines), next(lines)
    for after in lines:
        yield before.text, line, after.text
        before, line = line, after


def _classified(text: str) -> Iterator[tuple[_Line, Kind | None, int]]:
    """Yield each line with the kind of block that it begins, None when it goes on, and a heading's level."""
    fenced = False
    for before, line, after in _with_neighbours(text):
        if line.blank:
            yield line, None, 0
            continue
        if _FENCE.match(line.text):
            fenced = not fenced
            yield line, Kind.PARAGRAPH, 0
            continue
        level = _heading_level(line.text, before, after, fenced=fenced)
        yield line, Kind.HEADING if level else _kind(line.text), level


def _kind(line: str) -> Kind | None:
    if _CLAUSE.match(line):
        return Kind.CLAUSE
    if _ROW.match(line):
        return Kind.ROW
    return Kind.ITEM if _ITEM.match(line) else None


def _heading_level(line: str, before: str, after: str, *, fenced: bool) -> int:
    """Return 1 to 6 for Markdown marks, 6 for a named part, more for each part of a number; 0 for no heading."""
    atx = _ATX.fullmatch(line)
    if atx and not fenced and (not before.strip() or _ATX.fullmatch(before)):
        return len(atx["marks"])
    stripped = line.strip()
    if len(stripped) > _LONGEST_HEADING or _ENDS_OPEN.search(stripped) or _RUNS_ON.match(after):
        return 0
    if _NAMED.match(line):
        return 6
    numbered = _NUMBERED.fullmatch(line)
    if not numbered:
        return 0
    parts = numbered["number"].count(".") + 1
    if _CLAUSE.match(after) and not after.strip().startswith(numbered["number"]):
        return 0  # a row of a numbered table, whose next row stands below
    alone = not before.strip() and not after.strip()
    return 6 + parts if parts > 1 or alone or len(after.strip()) >= _BODY_LINE else 0


def _title(line: str) -> str:
    atx = _ATX.fullmatch(line)
    return " ".join((_without_closing_marks(atx["title"]) if atx else line).split())[:_LONGEST_HEADING]


def _without_closing_marks(title: str) -> str:
    return title.rstrip().rstrip("#").rstrip() or title[0]


def _path(path: list[tuple[int, str]]) -> str:
    return " > ".join(title for _, title in path)[:_LONGEST_PATH]
