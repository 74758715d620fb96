"""Where words stand on a page: a small packed form, since a long document has a million of them."""

from collections.abc import Iterable, Iterator
from struct import Struct
from typing import NamedTuple

_RECORD = Struct("<IH4H")
"""Start, length, left, top, right, bottom; the four edges as parts of 65,535 of the page's width and height."""
_FULL = 65_535


class Box(NamedTuple):
    """A run of characters of a page's text and its place, from the top left corner of the page as it is shown.

    Args:
        start: Offset of its first character in the page's text.
        end: Offset after its last one, at most 65,535 further.
        left: Left edge as a part of the page's width, 0 to 1.
        top: Upper edge as a part of its height.
        right: Right edge.
        bottom: Lower edge.
    """

    start: int
    end: int
    left: float
    top: float
    right: float
    bottom: float


def pack(boxes: Iterable[Box]) -> bytes:
    """Return the packed form, 14 bytes a box; edges are kept to a 65,535th of the page, and inside it."""
    return b"".join(_RECORD.pack(box.start, box.end - box.start, *(_part(edge) for edge in box[2:])) for box in boxes)


def unpack(packed: bytes) -> Iterator[Box]:
    """Yield the boxes; raises `struct.error` for bytes that `pack` never made."""
    for start, length, *edges in _RECORD.iter_unpack(packed):
        left, top, right, bottom = (edge / _FULL for edge in edges)
        yield Box(start, start + length, left, top, right, bottom)


def _part(edge: float) -> int:
    return round(min(max(edge, 0.0), 1.0) * _FULL)
