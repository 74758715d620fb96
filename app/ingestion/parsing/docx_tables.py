"""A table of a DOCX while it is read: one line for each row, or plain blocks where a frame is drawn as a table."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from app.documents.delimited import are_names
from app.ingestion.parsing.composing import PAGE_BORDER, Passage, flatten, row
from app.ingestion.parsing.docx_names import attribute, is_on, number
from app.ingestion.parsing.types import MarkKind

_MOST_COLUMNS = 50
_LONGEST_REPEATED = 200
_FIRST_ROW = 0x20
"""Bit of `w:tblLook` (ECMA-376, 17.4.56): the first row is drawn as a header."""


@dataclass(slots=True)
class _Cell:
    passages: list[Passage] = field(default_factory=list)
    columns: int = 1
    merged: bool = False
    """Whether the cell above goes on in it."""


class Table:
    """Takes the elements and blocks of one table; cells and rows come in order.

    Args:
        framing: Whether it is only a frame around what is in it.
    """

    def __init__(self, *, framing: bool = False) -> None:
        self._framing = framing
        self._cells: list[_Cell] = []
        self._above: dict[int, str] = {}
        self._before = 0
        self._marked_header = False
        self._first_is_header = False
        self._headers_over = False
        self._rows = 0

    def begin(self, name: str, attributes: Mapping[str, str]) -> None:
        """Take an element between the table's and a paragraph's."""
        value = attribute(attributes, "val")
        match name:
            case "tblLook":
                self._first_is_header = _first_row(attributes)
            case "tr":
                self._cells, self._before, self._marked_header = [], 0, False
            case "tblHeader":
                self._marked_header = is_on(attributes)
            case "gridBefore":
                self._before = min(max(number(value) or 0, 0), _MOST_COLUMNS)
            case "tc":
                self._cells.append(_Cell())
            case "gridSpan" if self._cells:
                self._cells[-1].columns = min(max(number(value) or 1, 1), _MOST_COLUMNS)
            case "vMerge" if self._cells:
                self._cells[-1].merged = value != "restart"

    def take(self, passage: Passage) -> None:
        """Take a block of the open cell."""
        if not self._cells:
            self._cells.append(_Cell())
        self._cells[-1].passages.append(passage)

    def end_row(self) -> list[Passage]:
        """Return the row's line, after page borders that fall in it; a single cell's blocks stay what they are."""
        cells, self._cells = self._cells, []
        self._rows += 1
        if self._framing:
            return [passage for cell in cells for passage in cell.passages]
        if len(cells) == 1 and cells[0].columns == 1 and not self._before and not self._above:
            return cells[0].passages
        borders = PAGE_BORDER if any(PAGE_BORDER in passage.text for cell in cells for passage in cell.passages) else ""
        texts = self._columns(cells)
        kind = MarkKind.HEADER_ROW if self._is_header(texts) else MarkKind.ROW
        return [Passage(borders + row(texts), kind, apart=self._rows == 1)]

    def rest(self) -> list[Passage]:
        """Return what stands in the table outside of its rows, as damaged files have it."""
        return self.end_row() if self._cells else []

    def _columns(self, cells: list[_Cell]) -> list[str]:
        texts = [""] * self._before
        for cell in cells:
            at = len(texts)
            text = self._above.get(at, "") if cell.merged else flatten(cell.passages)
            self._above[at] = text if len(text) <= _LONGEST_REPEATED else ""
            texts += [text, *[""] * (cell.columns - 1)]
        return texts

    def _is_header(self, texts: list[str]) -> bool:
        if not self._headers_over and self._marked_header:
            return True
        first, self._headers_over = not self._headers_over, True
        return first and self._rows == 1 and self._first_is_header and are_names(texts)


def _first_row(attributes: Mapping[str, str]) -> bool:
    if explicit := attribute(attributes, "firstRow"):
        return explicit in {"1", "true", "on"}
    try:
        return bool(int(attribute(attributes, "val", "0"), 16) & _FIRST_ROW)
    except ValueError:
        return False
