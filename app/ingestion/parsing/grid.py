"""Places the cells of table rows in columns, where cells reach over several of them."""

from typing import NamedTuple

_MOST_COLUMNS = 50
_LONGEST_REPEATED = 200
"""A short cell beside several rows is repeated in each, so that a row can be understood alone."""


class Cell(NamedTuple):
    """A cell and how far it reaches."""

    text: str
    columns: int = 1
    rows: int = 1


class Grid:
    """The columns of one table, fed row by row."""

    def __init__(self) -> None:
        self._held: dict[int, Cell] = {}

    def place(self, cells: list[Cell]) -> list[str]:
        """Return the texts of a row's columns; a cell over several columns leaves the others empty."""
        row: list[str] = []
        for cell in cells:
            self._place_held(row)
            for number in range(min(max(cell.columns, 1), _MOST_COLUMNS)):
                text = cell.text if number == 0 else ""
                self._hold(len(row), text, cell.rows - 1)
                row.append(text)
        self._place_held(row)
        return row

    def _place_held(self, row: list[str]) -> None:
        while held := self._held.pop(len(row), None):
            self._hold(len(row), held.text, held.rows - 1)
            row.append(held.text)

    def _hold(self, column: int, text: str, rows: int) -> None:
        if rows > 0:
            self._held[column] = Cell(text if len(text) <= _LONGEST_REPEATED else "", 1, rows)
