"""Keeps what was read of a page in a compact form, and makes its canonical text with a box for each word.

Thousands of pages wait for the document's last page, since only then is it known what repeats and which words it has.
So a page keeps its lines as text and four numbers for each word. The words of a line are its runs without white space,
and each has its four numbers, in order: text and boxes cannot come apart.
"""

import re
from array import array
from collections.abc import Sequence
from enum import IntEnum
from operator import add
from typing import NamedTuple

from app.core.boxes import FULL, pack_columns
from app.core.glyphs import is_visible
from app.ingestion.parsing.canonical import broken_words, clean, tidy
from app.ingestion.parsing.pdf_layout import Piece, median, visual_lines
from app.ingestion.parsing.pdf_tables import Row, Table
from app.ingestion.parsing.pdf_words import PageWords, Word, starts_of
from app.ingestion.parsing.quality import quality

_PARAGRAPH_GAP = 0.5
"""Sizes of the type beyond the page's usual gap from which on a new paragraph begins."""
_SEPARATOR = "|"
_WORD = re.compile(r"\S+")
_SOFT = "\n"
"""Ends a line inside a cell, until words are joined over line ends; then a space."""


class LineKind(IntEnum):
    """What a line is."""

    TEXT = 0
    ROW = 1
    HEADER_ROW = 2


class DraftLine(NamedTuple):
    """A line of a page in reading order; a table's row is one line.

    Args:
        text: Its words with single spaces; in a row also line ends within cells.
        first_word: Position of its first word's edges.
        words: Number of its words; 0 on pages without boxes.
        kind: What it is.
        table: Position among the page's tables; -1 for text.
        size: Size of its type in tenths of a point; 0 in tables and where it is not known.
        bold: Whether it is set in bold.
        whole: Whether it has no wide gap, but after a number at its beginning; a heading has none.
        top: Upper edge in tenths of a point; its position where that is not known.
        after_gap: Whether white space sets it apart from the line before.
    """

    text: str
    first_word: int
    words: int
    kind: LineKind
    table: int
    size: int
    bold: bool
    whole: bool
    top: int
    after_gap: bool = False


class DraftPage(NamedTuple):
    """What was read of a page.

    Args:
        label: The number printed on it; empty for none.
        lines: Its lines in reading order.
        quality: How readable they are, from 0 to 1.
        edges: Left, top, right and bottom of each word, as parts of 65,535 of the page; empty without boxes.
        width: Width as shown, in points; None where it is not known.
        height: Height, in points.
    """

    label: str
    lines: list[DraftLine]
    quality: float
    edges: "array[int]"
    width: float | None = None
    height: float | None = None

    def from_top(self) -> list[int]:
        """Return the positions of the lines from the upper edge of the page to the lower one."""
        return sorted(range(len(self.lines)), key=lambda index: self.lines[index].top)


class PlacedLine(NamedTuple):
    """Where a line of a draft stands in the canonical text of its page."""

    start: int
    end: int


class CanonicalPage(NamedTuple):
    """The canonical text of a page.

    Args:
        text: Its text.
        lines: Where each kept line stands in it, in order.
        boxes: Where its words stand on the page, packed.
    """

    text: str
    lines: list[PlacedLine]
    boxes: bytes


def plain_page(label: str, text: str) -> DraftPage:
    """Return a page of which only the text is known."""
    lines: list[DraftLine] = []
    gap = False
    for line in tidy(clean(text)).split("\n"):
        words = " ".join(line.split())
        if words:
            lines.append(
                DraftLine(words, 0, 0, LineKind.TEXT, -1, 0, bold=False, whole=True, top=len(lines), after_gap=gap)
            )
        gap = not words
    return DraftPage(label, lines, _quality(lines), array("H"))


def placed_page(label: str, page: PageWords, pieces: Sequence[Piece], tables: Sequence[Table]) -> DraftPage:
    """Return a page whose words have places.

    Args:
        label: The number printed on it.
        page: What stands on it.
        pieces: Its pieces in reading order, tables among them.
        tables: Its tables.
    """
    writer = _Writer(page)
    for group in visual_lines(pieces):
        if group[0].table >= 0:
            writer.write_table(tables[group[0].table], group[0].table)
        else:
            writer.write_line(group)
    lines = writer.finished()
    return DraftPage(label, lines, _quality(lines), writer.edges(), page.width, page.height)


def _quality(lines: Sequence[DraftLine]) -> float:
    return quality("\n".join(line.text for line in lines))


class _Writer:
    """Writes lines and the edges of their words."""

    def __init__(self, page: PageWords) -> None:
        self._words: list[Word] = []
        self._across, self._down = FULL / page.width, FULL / page.height
        self._lines: list[DraftLine] = []
        self._gaps: list[float] = []
        self._bottom = 0.0

    def write_line(self, pieces: list[Piece]) -> None:
        words = pieces[0].words if len(pieces) == 1 else [word for piece in pieces for word in piece.words]
        first = self._write(words)
        size = round(10 * pieces[0].size)
        top, bottom = pieces[0].top, pieces[0].bottom
        if len(pieces) > 1:
            top, bottom = min(piece.top for piece in pieces), max(piece.bottom for piece in pieces)
        text = " ".join([word.text for word in words])
        whole = len(pieces) == 1 or (len(pieces) == 2 and len(pieces[0].words) == 1)  # noqa: PLR2004
        line = DraftLine(text, first, len(words), LineKind.TEXT, -1, size, pieces[0].bold, whole, round(10 * top))
        self._add(line, top, bottom)

    def write_table(self, table: Table, number: int) -> None:
        for index, row in enumerate(table.rows):
            kind = LineKind.HEADER_ROW if index == 0 and table.has_header else LineKind.ROW
            text, words = _row(row)
            first = self._write(words)
            filled = [word for word in words if word.text != _SEPARATOR] or words
            top, bottom = min(word.top for word in filled), max(word.bottom for word in filled)
            line = DraftLine(text, first, len(words), kind, number, 0, row.bold, whole=True, top=round(10 * top))
            self._add(line, top, bottom)

    def finished(self) -> list[DraftLine]:
        """Return the lines, with gaps told from what is usual on the page."""
        small = [gap for gap, line in zip(self._gaps, self._lines, strict=True) if 0 <= 10 * gap < 2 * line.size]
        usual = median(small) if small else 0.0
        before: DraftLine | None = None
        lines: list[DraftLine] = []
        for gap, line in zip(self._gaps, self._lines, strict=True):
            apart = before is not None and (
                line.table != before.table or (line.table < 0 and gap - usual > _PARAGRAPH_GAP * line.size / 10)
            )
            lines.append(line._replace(after_gap=True) if apart else line)
            before = line
        return lines

    def _add(self, line: DraftLine, top: float, bottom: float) -> None:
        self._gaps.append(top - self._bottom if self._lines else 0.0)
        self._bottom = bottom
        self._lines.append(line)

    def _write(self, words: Sequence[Word]) -> int:
        first = len(self._words)
        self._words += words
        return first

    def edges(self) -> "array[int]":
        """Return the edges of all words."""
        across, down = self._across, self._down
        places = [
            edge
            for _, left, top, right, bottom in self._words
            for edge in (left * across + 0.5, top * down + 0.5, right * across + 0.5, bottom * down + 0.5)
        ]
        if places and (min(places) < 0 or max(places) > FULL):
            places = [min(FULL, max(0, place)) for place in places]
        return array("H", list(map(int, places)))


def _row(row: Row) -> tuple[str, list[Word]]:
    """Return a row's text and words, with a separator between cells that takes no room on the page."""
    words: list[Word] = []
    parts: list[str] = []
    for index, cell in enumerate(row.cells):
        if index:
            last = words[-1] if words else next(word for other in row.cells for line in other.lines for word in line)
            edge = last.right if words else last.left
            words.append(Word(_SEPARATOR, edge, last.top, edge, last.bottom))
        words.extend(word for line in cell.lines for word in line)
        parts.append(_SOFT.join(" ".join(word.text for word in line) for line in cell.lines))
    return " | ".join(parts).strip(" "), words


def canonical_page(page: DraftPage, kept: Sequence[int], words: frozenset[str], headings: set[int]) -> CanonicalPage:
    """Return the canonical text of a page: hyphenation undone, a blank line where white space parts lines.

    Args:
        page: What was read of it.
        kept: Positions of the lines that are no furniture, in order.
        words: The document's vocabulary.
        headings: Positions of lines that end a heading: no word goes on over their end.
    """
    lines = [page.lines[index] for index in kept]
    text, spans = _joined(lines)
    if not is_visible(text):
        return CanonicalPage("", [], b"")
    closed = {
        span.end for span, index, line in zip(spans, kept, lines, strict=True) if line.table >= 0 or index in headings
    }
    # A cut ends where the next line begins, so the line end is the character before.
    cuts = [cut for cut in broken_words(text, words) if cut[1] - 1 not in closed]
    placed = zip(_moved([span.start for span in spans], cuts), _moved([span.end for span in spans], cuts), strict=True)
    boxes = _boxes(page, lines, spans, cuts) if page.edges else b""
    return CanonicalPage(
        _without(_hardened(text, lines, spans), cuts) + "\n", [PlacedLine(*span) for span in placed], boxes
    )


def _joined(lines: Sequence[DraftLine]) -> tuple[str, list[PlacedLine]]:
    parts: list[str] = []
    spans: list[PlacedLine] = []
    offset = 0
    for line in lines:
        if parts:
            parts.append("\n\n" if line.after_gap else "\n")
            offset += len(parts[-1])
        parts.append(line.text)
        spans.append(PlacedLine(offset, offset + len(line.text)))
        offset = spans[-1].end
    return "".join(parts), spans


def _hardened(text: str, lines: Sequence[DraftLine], spans: Sequence[PlacedLine]) -> str:
    """Return the text with spaces for the line ends within cells."""
    parts: list[str] = []
    offset = 0
    for line, (start, end) in zip(lines, spans, strict=True):
        if line.table >= 0:
            parts += [text[offset:start], text[start:end].replace(_SOFT, " ")]
            offset = end
    return "".join([*parts, text[offset:]])


def _without(text: str, cuts: Sequence[tuple[int, int]]) -> str:
    parts: list[str] = []
    offset = 0
    for start, end in cuts:
        parts.append(text[offset:start])
        offset = end
    return "".join([*parts, text[offset:]])


def _moved(offsets: list[int], cuts: Sequence[tuple[int, int]]) -> list[int]:
    """Return rising offsets as they are after the cuts; one inside a cut falls on its start."""
    if not cuts:
        return offsets
    moved: list[int] = []
    gone = index = 0
    for offset in offsets:
        while index < len(cuts) and cuts[index][1] <= offset:
            gone += cuts[index][1] - cuts[index][0]
            index += 1
        inside = max(0, offset - cuts[index][0]) if index < len(cuts) else 0
        moved.append(offset - gone - inside)
    return moved


def _boxes(
    page: DraftPage, lines: Sequence[DraftLine], spans: Sequence[PlacedLine], cuts: Sequence[tuple[int, int]]
) -> bytes:
    starts: list[int] = []
    ends: list[int] = []
    edges = array("H")
    for line, (begin, _) in zip(lines, spans, strict=True):
        words = line.text.split()
        if line.kind is LineKind.TEXT:
            at = list(starts_of(words, begin))
        else:  # empty cells have no words, but their spaces
            at = [begin + match.start() for match in _WORD.finditer(line.text)]
        starts += at
        ends += map(add, at, map(len, words))
        edges += page.edges[4 * line.first_word : 4 * (line.first_word + line.words)]
    starts, ends = _moved(starts, cuts), _moved(ends, cuts)
    return pack_columns(starts, ends, (edges[0::4], edges[1::4], edges[2::4], edges[3::4]))
