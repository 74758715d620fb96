"""Finds tables without lines: rows whose cells stand in the same columns, with white between them.

Columns of running text, tables of contents and lists with their numbers apart stand like that too, and are left alone.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from app.ingestion.parsing.pdf_layout import Piece
from app.ingestion.parsing.pdf_tables import NUMERIC, Cell, Row, Table, columns_of, has_header, is_table
from app.ingestion.parsing.pdf_words import Word

_GUTTER = 0.5
"""Line heights between columns."""
_MOST_COLUMNS = 30
_MARKER = re.compile(r"\(?(?:\d{1,3}|[A-Za-z]|[ivxIVX]{1,5})[.):]?|[-*+\u2022\u25aa\u25cf\u25e6\u2013o\uf0b7]")
_LEADERS = re.compile(r"\.{4}|(?:\. ){3}|\u2026")
_PAGE = re.compile(r"\d{1,4}|[ivxlc]{1,7}")


class _VisualRow(NamedTuple):
    """Pieces that stand beside each other, from left to right."""

    pieces: list[Piece]
    top: float
    bottom: float


def aligned_tables(pieces: Sequence[Piece], first_number: int) -> tuple[list[Piece], list[Table]]:
    """Return the pieces outside of tables without lines, and the tables.

    Args:
        pieces: The page's pieces in the order of pdfium.
        first_number: Number of the first table.
    """
    tables: list[Table] = []
    gone: set[int] = set()
    for run in _runs(_visual_rows(pieces)):
        if table := _aligned(run, first_number + len(tables)):
            tables.append(table)
            gone |= {id(piece) for row in run for piece in row.pieces}
    return [piece for piece in pieces if id(piece) not in gone], tables


def _visual_rows(pieces: Sequence[Piece]) -> list[_VisualRow]:
    rows: list[list[Piece]] = []
    for piece in sorted(pieces, key=lambda piece: piece.top + piece.bottom):
        middle = (piece.top + piece.bottom) / 2
        if rows and middle < rows[-1][0].bottom - piece.height / 4 and middle > rows[-1][0].top:
            rows[-1].append(piece)
        else:
            rows.append([piece])
    return [
        _VisualRow(
            sorted(row, key=lambda piece: piece.left),
            min(piece.top for piece in row),
            max(piece.bottom for piece in row),
        )
        for row in rows
    ]


def _runs(rows: list[_VisualRow]) -> Iterator[list[_VisualRow]]:
    """Yield neighbouring rows that share white columns; a row with one piece stays when it fits into a cell."""
    run: list[_VisualRow] = []
    for row in rows:
        if run and not _goes_on(run, row):
            yield run
            run = []
        if run or len(row.pieces) > 1:
            run.append(row)
    if run:
        yield run


def _goes_on(run: list[_VisualRow], row: _VisualRow) -> bool:
    height = row.pieces[0].height
    if max(len(row.pieces), len(run[0].pieces)) > _MOST_COLUMNS:
        return False
    if row.top - run[-1].bottom > 2 * height:
        return False
    if len(row.pieces) > 1:
        return abs(len(row.pieces) - len(run[0].pieces)) <= 1 and _match(run[0], row, height) > 1
    first = run[0].pieces
    return row.top - run[-1].bottom < height / 2 and any(
        abs(row.pieces[0].left - piece.left) < height / 2 for piece in first[1:]
    )


def _match(first: _VisualRow, row: _VisualRow, height: float) -> int:
    """Return how many pieces of a row stand under one of the first row by an edge or the middle."""
    return sum(
        any(
            abs(piece.left - other.left) < height / 2
            or abs(piece.right - other.right) < height / 2
            or abs(piece.left + piece.right - other.left - other.right) < height
            for other in first.pieces
        )
        for piece in row.pieces
    )


def _aligned(run: list[_VisualRow], number: int) -> Table | None:
    columns = columns_of([piece for row in run for piece in row.pieces], _GUTTER)
    if len(columns) < 2:  # noqa: PLR2004
        return None
    rows = _aligned_rows(run, columns)
    if rows is None or len(rows) < (3 if len(columns) > 2 else 4) or not is_table(rows) or not _is_tabular(rows):  # noqa: PLR2004
        return None
    whole = [piece for row in run for piece in row.pieces]
    return Table(rows, has_header(rows, ruled=False), _place(whole, number))


def _place(pieces: list[Piece], number: int) -> Piece:
    return Piece(
        (),
        min(piece.left for piece in pieces),
        min(piece.top for piece in pieces),
        max(piece.right for piece in pieces),
        max(piece.bottom for piece in pieces),
        *min((piece.line, piece.word) for piece in pieces),
        0.0,
        bold=False,
        table=number,
    )


def _aligned_rows(run: list[_VisualRow], columns: list[tuple[float, float]]) -> tuple[Row, ...] | None:
    """Return the rows; None when a row has two pieces in a column. A row without a first cell goes on the one above."""
    lefts = [left for left, _ in columns]
    rows: list[list[list[tuple[Word, ...]]]] = []
    bold: set[int] = set()
    for row in run:
        cells: list[list[tuple[Word, ...]]] = [[] for _ in columns]
        for piece in row.pieces:
            column = cells[bisect_right(lefts, piece.left) - 1]
            if column:
                return None
            column.append(piece.words)
        if rows and not cells[0]:
            for above, cell in zip(rows[-1], cells, strict=True):
                above.extend(cell)
            continue
        bold |= {len(rows)} if all(piece.bold for piece in row.pieces) else set()
        rows.append(cells)
    return tuple(
        Row(tuple(Cell(tuple(cell)) for cell in row), len(row), index in bold) for index, row in enumerate(rows)
    )


def _is_tabular(rows: tuple[Row, ...]) -> bool:
    """Whether aligned rows are a table, and no running text in columns, table of contents or list."""
    cells = [cell.text for row in rows for cell in row.cells if cell.lines]
    filled = sum(bool(cell.lines) for row in rows for cell in row.cells) / len(rows)
    words = sum(len(text.split()) for text in cells) / len(cells)
    small = sum(text[0].islower() for text in cells) / len(cells)
    if filled < 0.75 * len(rows[0].cells) or words > 6 or (small > 0.3 and words >= 2.5):  # noqa: PLR2004
        return False
    first = [row.cells[0].text for row in rows]
    last = [row.cells[-1].text for row in rows]
    if sum(map(bool, map(_LEADERS.search, cells))) * 3 > len(rows) or _counts_pages(last):
        return False
    if len(rows[0].cells) > 2:  # noqa: PLR2004
        return not all(_MARKER.fullmatch(text) for text in first) or words < 3  # noqa: PLR2004
    # Two columns need more: values beside their names, and never the numbers of a list apart from its text.
    return not all(_MARKER.fullmatch(text) for text in first[1:]) and sum(
        bool(NUMERIC.fullmatch(text)) for text in last
    ) * 2 >= len(last)


def _counts_pages(column: list[str]) -> bool:
    """Whether a column holds the page numbers of a table of contents: small numbers that never fall."""
    body = column[1:]
    if not all(_PAGE.fullmatch(text) for text in body):
        return False
    numbers = [int(text) for text in body if text.isdigit()]
    return all(first <= second for first, second in pairwise(numbers))
