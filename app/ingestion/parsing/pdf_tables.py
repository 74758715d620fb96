"""What a table is: its rows, when cells make one, and whether the first row names the columns.

A text that is torn into cells is worse than a table that stays text, so what is not clearly a table is none.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from app.ingestion.parsing.pdf_layout import Piece, median
from app.ingestion.parsing.pdf_words import Word

_MOST_WORDS = 120
"""Words of the longest cell; a frame around text has more."""
_USUAL_WORDS = 30
_HEADER_WORDS = 8
_WORD = re.compile(r"[^\W_]{2}")
NUMERIC = re.compile(r"[^\w]*\d[\d.,%\s]*\S{0,3}")
"""A cell that holds a number, perhaps with a unit."""


class Cell(NamedTuple):
    """The words of a cell, line by line; both empty for an empty cell."""

    lines: tuple[tuple[Word, ...], ...]

    @property
    def text(self) -> str:
        """Its words with spaces between them."""
        return " ".join(word.text for line in self.lines for word in line)


class Row(NamedTuple):
    """A row of a table.

    Args:
        cells: Its cells from left to right, as many in each row; those beside a cell over several columns are empty.
        width: Number of cells that are drawn.
        bold: Whether it is set in bold.
    """

    cells: tuple[Cell, ...]
    width: int
    bold: bool


@dataclass(frozen=True, slots=True)
class Table:
    """A table on a page.

    Attributes:
        rows: Its rows from top to bottom, at least two, none empty.
        has_header: Whether the first one names the columns.
        place: A piece that stands for it among the pieces of the page.
    """

    rows: tuple[Row, ...]
    has_header: bool
    place: Piece


def is_table(rows: tuple[Row, ...]) -> bool:
    """Whether cells make a table: two rows of two cells at least, half of all filled, mostly with words, none too long.

    What drawings and forms have inside their lines is sparse, or single signs; a frame around text is full.
    """
    texts = [cell.text for row in rows for cell in row.cells if cell.lines]
    several = sum(sum(bool(cell.lines) for cell in row.cells) > 1 for row in rows)
    if several < 2 or 2 * several < len(rows) or 2 * len(texts) < sum(row.width for row in rows):  # noqa: PLR2004
        return False
    sizes = [len(text.split()) for text in texts]
    worded = sum(_WORD.search(text) is not None for text in texts)
    return max(sizes) <= _MOST_WORDS and median(sizes) <= _USUAL_WORDS and 2 * worded > len(texts)


def has_header(rows: tuple[Row, ...], *, ruled: bool) -> bool:
    """Whether the first row names the columns: bold above rows that are not, or words above numbers."""
    first, second = rows[0], rows[1]
    filled = [cell.text for cell in first.cells if cell.lines]
    if len(filled) < 2 or any(len(text.split()) > _HEADER_WORDS for text in filled):  # noqa: PLR2004
        return False
    if first.bold and not second.bold:
        return True
    if any(NUMERIC.fullmatch(text) for text in filled):
        return False
    return ruled or any(
        all(NUMERIC.fullmatch(row.cells[column].text) for row in rows[1:]) for column in range(len(first.cells))
    )


def columns_of(pieces: Sequence[Piece], gap: float) -> list[tuple[float, float]]:
    """Return the columns that pieces make, from left to right, with white of so many line heights between them."""
    least = gap * median(piece.height for piece in pieces)
    columns: list[tuple[float, float]] = []
    for left, right in sorted((piece.left, piece.right) for piece in pieces):
        if columns and left - columns[-1][1] < least:
            columns[-1] = columns[-1][0], max(columns[-1][1], right)
        else:
            columns.append((left, right))
    return columns
