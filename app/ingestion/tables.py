"""Tables as lines of text: cells between bars, and a header that belongs to each row below it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

_LONGEST_HEADER = 300
"""Characters of a header that are shown beside a chunk."""
_LOOK = 2 * _LONGEST_HEADER
_SEPARATOR = re.compile(r"(?=[^-]*-)(?=[^|]*\|)[\s|:-]+")
_CELL_END = re.compile(r"(?<=\|)\s+")
_BLANK_LINE = re.compile(r"\n[^\S\n]*\n")


@dataclass(frozen=True, slots=True)
class Table:
    """A table that has a header.

    Attributes:
        start: Offset of its header; tells tables apart.
        header: The header's cells, such as "Timer | Value | Stop", cut at 300 characters; empty when they are.
    """

    start: int
    header: str

    def with_header_row(self, text: str, start: int, end: int) -> "Table":
        """Return it with a further row of the text in its header."""
        cells = _cells(text, start, end)
        return replace(self, header=" / ".join(filter(None, (self.header, cells)))[:_LONGEST_HEADER])


def table_under(text: str, start: int, end: int) -> Table:
    """Return the table whose header is a row of the text."""
    return Table(start, _cells(text, start, end)[:_LONGEST_HEADER])


def is_separator(line: str) -> bool:
    """Whether a line is what Markdown writes below a header, such as `|---|:--:|`."""
    return _SEPARATOR.fullmatch(line) is not None


def ends_table(between: str) -> bool:
    """Whether what stands between two rows, where nobody says more, makes them rows of two tables."""
    return bool(between.strip() or _BLANK_LINE.search(between))


def cell_spans(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the spans of a row's cells, each with the bar behind it, without the white space between them."""
    for match in _CELL_END.finditer(text, start, end):
        if match.start() > start:
            yield start, match.start()
        start = match.end()
    if start < end:
        yield start, end


def _cells(text: str, start: int, end: int) -> str:
    cells = " ".join(text[start : min(end, start + _LOOK)].split()).removeprefix("|").removesuffix("|").strip()
    return cells if any(character.isalnum() for character in cells) else ""
