"""Turns the places of a PDF page, whose origin is at the bottom left, into places as the page is shown."""

import ctypes
from math import isfinite
from typing import Any, NamedTuple

from app.ingestion.parsing import pdf_library as pdfium


class Frame(NamedTuple):
    """The part of the page that is shown (crop box within media box), and its turn in quarters, clockwise."""

    left: float
    bottom: float
    right: float
    top: float
    turn: int

    def shown(self, left: float, bottom: float, right: float, top: float) -> tuple[float, float, float, float]:
        """Return left, top, right and bottom as seen from the top left corner of the page as it is shown."""
        if self.turn == 0:
            return left - self.left, self.top - top, right - self.left, self.top - bottom
        if self.turn == 1:
            return bottom - self.bottom, left - self.left, top - self.bottom, right - self.left
        if self.turn == 2:  # noqa: PLR2004 (quarters)
            return self.right - right, bottom - self.bottom, self.right - left, top - self.bottom
        return self.top - top, self.right - right, self.top - bottom, self.right - left


def frame_of(page: Any) -> Frame | None:
    """Return the frame of a pdfium page handle; None when its numbers make no sense."""
    box = (ctypes.c_float * 4)()
    if not pdfium.page_bounding_box(page, box):
        return None
    left, top, right, bottom = box
    if not isfinite(left + top + right + bottom):
        return None
    return Frame(left, bottom, right, top, pdfium.page_rotation(page) % 4)
