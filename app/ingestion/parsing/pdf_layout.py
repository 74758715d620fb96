"""Puts the pieces of a page into reading order: columns one after the other, all else as pdfium gave it.

A producer may write two columns line by line, and then a sentence runs on in the next column. Here a page is cut
into horizontal bands by white space (the first step of a recursive XY-cut, Nagy and Seth 1984); neighbouring
bands that share a white gutter are one zone; a zone whose sides are both running text is read side after side. What is
not clearly that keeps pdfium's order, which is the order of the content stream and right on most pages.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import NamedTuple

from app.ingestion.parsing.pdf_words import Word, WordLine

_WIDE_GAP = 0.8
"""Line heights between two words from which on they may belong to different columns or cells."""
_MOST_PIECES = 3_000
"""A page with more pieces is a drawing or made to be slow."""
_DEPTH = 8
_GUTTER = 0.6
"""Least width of a gutter, in line heights: columns of LaTeX stand 10 points apart, 0.7 of a loose line height."""
_MOST_GUTTERS = 8
_OVERLAP = 0.2
"""Part of a line's height at each edge that may overlap the next line: boxes are higher than letters."""
_LEAST_LINES = 3
_PROSE_WIDTH = 6.0
"""Median width of the lines of running text, in line heights; cells and labels are narrower."""
_FILL = 0.6
_SWITCHES = 3
_ALTERNATING = 0.8
_RUNNING_ON = 0.3
_VERTICAL_SHARE = 0.2
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_LETTER = re.compile(r"[^\W\d_]")


class Piece(NamedTuple):
    """Words of one line without a wide gap between them, or a table, which no cut goes through.

    Args:
        words: At least one; empty for a table.
        left: Left edge in points.
        top: Upper edge.
        right: Right edge.
        bottom: Lower edge.
        line: Number of its line in the order of pdfium.
        word: Position of its first word in that line.
        size: Size of that line's type in points.
        bold: Whether that line is bold.
        table: Position among the page's tables; -1 for words.
    """

    words: tuple[Word, ...]
    left: float
    top: float
    right: float
    bottom: float
    line: int
    word: int
    size: float
    bold: bool
    table: int = -1

    @property
    def height(self) -> float:
        """Height in points."""
        return self.bottom - self.top


@dataclass(frozen=True, slots=True)
class _Band:
    """Pieces between two horizontal white gaps, and the parts of the width that they cover, from left to right."""

    pieces: list[Piece]
    covered: list[tuple[float, float]]


def median(numbers: Iterable[float]) -> float:
    """Return the middle of numbers, at least one; `statistics`, which has this, takes as long to load as a page."""
    ordered = sorted(numbers)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def pieces_of(lines: Sequence[WordLine]) -> list[Piece]:
    """Cut lines at wide gaps and where they jump back."""
    return [piece for number, line in enumerate(lines) if line.words for piece in _pieces(line, number)]


def _pieces(line: WordLine, number: int) -> Iterator[Piece]:
    words = line.words
    begin = 0
    _, left_before, _, right_before, _ = words[0]
    for index, (_, left, top, right, bottom) in enumerate(words):
        # The distance between the two, whichever comes first: right-to-left text runs the other way.
        gap = left - right_before if left > left_before else left_before - right
        if gap > _WIDE_GAP * (bottom - top) and index:
            before = words[index - 1]
            if gap > _WIDE_GAP * (before.bottom - before.top):
                yield _piece(line, begin, index, number)
                begin = index
        left_before, right_before = left, right
    yield _piece(line, begin, len(words), number)


def _piece(line: WordLine, begin: int, end: int, number: int) -> Piece:
    words = line.words[begin:end]
    _, lefts, tops, rights, bottoms = zip(*words, strict=True)
    return Piece(words, min(lefts), min(tops), max(rights), max(bottoms), number, begin, line.size, line.bold)


def reading_order(pieces: Sequence[Piece]) -> list[Piece]:
    """Return the pieces of a page in the order in which they are read.

    Args:
        pieces: In pdfium's order.
    """
    if len(pieces) > _MOST_PIECES or _is_turned(pieces):
        return list(pieces)
    return _ordered(list(pieces), _DEPTH)


def visual_lines(pieces: Sequence[Piece]) -> list[list[Piece]]:
    """Group neighbours in reading order that pdfium found on one line."""
    return [list(group) for _, group in groupby(pieces, key=lambda piece: (piece.line, piece.table))]


def _is_turned(pieces: Sequence[Piece]) -> bool:
    """Whether much of the text stands upright on the page, where left and right mean nothing."""
    turned = sum(
        sum(len(word.text) for word in piece.words) > 3  # noqa: PLR2004 (a few letters may be high and narrow)
        for piece in pieces
        if piece.bottom - piece.top > 1.5 * (piece.right - piece.left)
    )
    return turned > _VERTICAL_SHARE * len(pieces)


def _ordered(pieces: list[Piece], depth: int) -> list[Piece]:
    if depth == 0 or len(pieces) < 2 * _LEAST_LINES:
        return pieces
    gutter = _GUTTER * median(piece.height for piece in pieces)
    zones = _zones(_bands(pieces), gutter)
    if not any(zone.gutters for zone in zones):
        return pieces
    result: list[Piece] = []
    kept: list[Piece] = []
    for zone in zones:
        columns = _columns(zone, depth)
        if columns is None:
            kept.extend(zone.pieces)
            continue
        result.extend(_as_given(kept))
        kept = []
        result.extend(columns)
    return [*result, *_as_given(kept)] if result else pieces


def _as_given(pieces: list[Piece]) -> list[Piece]:
    return sorted(pieces, key=lambda piece: (piece.line, piece.word))


def _bands(pieces: list[Piece]) -> list[_Band]:
    bands: list[_Band] = []
    current: list[Piece] = []
    lowest = 0.0
    for piece in sorted(pieces, key=lambda piece: piece.top):
        slack = _OVERLAP * piece.height
        if current and piece.top + slack >= lowest:
            bands.append(_band(current))
            current = []
        lowest = max(lowest, piece.bottom - slack) if current else piece.bottom - slack
        current.append(piece)
    if current:
        bands.append(_band(current))
    return bands


def _band(pieces: list[Piece]) -> _Band:
    covered: list[tuple[float, float]] = []
    for left, right in sorted((piece.left, piece.right) for piece in pieces):
        if covered and left <= covered[-1][1]:
            covered[-1] = covered[-1][0], max(covered[-1][1], right)
        else:
            covered.append((left, right))
    return _Band(pieces, covered)


@dataclass(slots=True)
class _Zone:
    """Neighbouring bands with the gutters that none of them covers."""

    bands: list[_Band]
    gutters: list[tuple[float, float]]

    @property
    def pieces(self) -> list[Piece]:
        return [piece for band in self.bands for piece in band.pieces]


def _zones(bands: list[_Band], least: float) -> list[_Zone]:
    """Join neighbouring bands as long as they share a gutter."""
    zones: list[_Zone] = []
    for band in bands:
        if zones and zones[-1].gutters:
            shared = _free(zones[-1].gutters, band.covered, least)
            if shared:
                zones[-1].bands.append(band)
                zones[-1].gutters = shared
                continue
        gaps = [
            (before[1], after[0])
            for before, after in zip(band.covered, band.covered[1:], strict=False)
            if after[0] - before[1] >= least
        ]
        zones.append(_Zone([band], gaps))
    return _with_heads(zones)


def _with_heads(zones: list[_Zone]) -> list[_Zone]:
    """Give a zone the lines above it that begin its right column earlier than its left one, beside a figure."""
    result: list[_Zone] = []
    for zone in zones:
        while zone.gutters and result and not result[-1].gutters and _heads(result[-1].bands[0], zone):
            zone.bands.insert(0, result.pop().bands[0])
        result.append(zone)
    return result


def _heads(band: _Band, zone: _Zone) -> bool:
    edge = zone.gutters[-1][1]
    below = min((piece for piece in zone.bands[0].pieces if piece.left >= edge), key=lambda piece: piece.top)
    left, bottom = band.covered[0][0], max(piece.bottom for piece in band.pieces)
    near = abs(left - below.left) < below.height and below.top - bottom < below.height
    return near and left >= edge


def _free(
    gutters: list[tuple[float, float]], covered: list[tuple[float, float]], least: float
) -> list[tuple[float, float]]:
    """Return the parts of gutters that are not covered and still wide enough; both lists run from left to right."""
    free: list[tuple[float, float]] = []
    first = 0
    for left, right in gutters:
        while first < len(covered) and covered[first][1] <= left:
            first += 1
        begin, index = left, first
        while index < len(covered) and covered[index][0] < right:
            if covered[index][0] - begin >= least:
                free.append((begin, covered[index][0]))
            begin = covered[index][1]
            index += 1
        if right - begin >= least:
            free.append((begin, right))
    return free


def _columns(zone: _Zone, depth: int) -> list[Piece] | None:
    """Return a zone column after column; None when its columns are not all running text."""
    widest = sorted(zone.gutters, key=lambda gutter: gutter[0] - gutter[1])[:_MOST_GUTTERS]
    for gutters in [sorted(widest), *([gutter] for gutter in widest if len(widest) > 1)]:
        bands, rest = _without_tail(zone.bands, gutters)
        pieces = _as_given([piece for band in bands for piece in band.pieces])
        edges = [left for left, _ in gutters]
        columns: list[list[Piece]] = [[] for _ in range(len(edges) + 1)]
        for piece in pieces:
            columns[bisect_right(edges, piece.left)].append(piece)
        if not (all(map(_is_prose, columns)) and _are_columns(pieces, columns, edges)):
            continue
        if _reads_leftwards(pieces):
            columns.reverse()
        tail = _as_given([piece for band in rest for piece in band.pieces])
        return [piece for part in [*columns, tail] for piece in _ordered(part, depth - 1)]
    return None


def _without_tail(bands: list[_Band], gutters: list[tuple[float, float]]) -> tuple[list[_Band], list[_Band]]:
    """Part a zone from what stands below all columns on one side only, after a wider gap, such as a footer."""
    edges = [left for left, _ in gutters]
    for index in range(len(bands) - 1, 0, -1):
        if len({bisect_right(edges, piece.left) for piece in bands[index].pieces}) > 1:
            return bands, []
        above = max(piece.bottom for piece in bands[index - 1].pieces)
        below = min(bands[index].pieces, key=lambda piece: piece.top)
        if below.top - above > below.height:
            return bands[:index], bands[index:]
    return bands, []


def _is_prose(column: list[Piece]) -> bool:
    """Whether the lines of a column are those of running text: wide, and most of them to its right edge."""
    lines = visual_lines([piece for piece in column if piece.table < 0])
    if len(lines) < _LEAST_LINES:
        return False
    widths = [max(piece.right for piece in line) - min(piece.left for piece in line) for line in lines]
    if median(widths) < _PROSE_WIDTH * median(line[0].height for line in lines):
        return False
    whole = max(piece.right for piece in column) - min(piece.left for piece in column)
    return 2 * sum(width >= _FILL * whole for width in widths) >= len(lines)


def _are_columns(pieces: list[Piece], columns: list[list[Piece]], edges: list[float]) -> bool:
    """Whether parts side by side are columns, and not cells of rows: written mostly one after the other, or by turns.

    Cells are written row by row, each with all of its lines, or have gaps between the rows. Lines of columns that
    alternate are evenly spaced and run on below: many begin with a small letter.
    """
    by_column = groupby(pieces, key=lambda piece: bisect_right(edges, piece.left))
    runs = [(at, len(visual_lines(list(group)))) for at, group in by_column]
    longest = [0] * len(columns)
    for at, length in runs:
        longest[at] = max(longest[at], length)
    if len(runs) <= _SWITCHES + len(edges) or all(
        2 * most >= len(visual_lines(column)) for most, column in zip(longest, columns, strict=True)
    ):
        return True
    by_turns = sum(length for _, length in runs if length == 1) >= _ALTERNATING * sum(length for _, length in runs)
    return by_turns and all(_runs_on(column) and _is_even(column) for column in columns)


def _is_even(side: list[Piece]) -> bool:
    tops = sorted(piece.top for piece in side)
    steps = [below - above for above, below in pairwise(tops) if below - above > side[0].height / 2]
    usual = median(steps) if steps else 0.0
    return sum(abs(step - usual) < usual / 4 for step in steps) >= _ALTERNATING * len(steps)


def _runs_on(side: list[Piece]) -> bool:
    """Whether lines begin inside sentences; true for scripts without small letters."""
    starts = [piece.words[0].text[0] for piece in side if piece.words]
    cased = [start for start in starts if _LETTER.match(start) and start.lower() != start.upper()]
    if len(cased) * 2 < len(starts):
        return not cased or any(start.islower() for start in cased)
    return sum(start.islower() for start in cased) >= _RUNNING_ON * len(cased)


def _reads_leftwards(pieces: list[Piece]) -> bool:
    text = "".join(word.text for piece in pieces for word in piece.words)
    return not text.isascii() and 2 * len(_RIGHT_TO_LEFT.findall(text)) > len(_LETTER.findall(text))
