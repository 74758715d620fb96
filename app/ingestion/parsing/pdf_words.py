"""Takes words with their places from a page that pdfium has open.

pdfium is called through ctypes, about 1 microsecond a call. So a word costs two calls (its first and its last
character), a line six more for its font.
"""

import ctypes
import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from math import hypot, isfinite
from struct import Struct
from typing import Any, NamedTuple

from pypdfium2 import raw

from app.ingestion.parsing.canonical import clean, is_clean
from app.ingestion.parsing.pdf_frame import Frame, frame_of
from app.ingestion.parsing.pdf_rules import Rule, read_rules

_TOKEN = re.compile("[^\\s\ufffe]*\ufffe|[^\\s\ufffe]+|[\r\n]+")
_LINE_END_HYPHEN = "\ufffe"
"""What pdfium gives for a hyphen at a line end, in place of the hyphen and the newline."""
_BOLD_NAME = re.compile(rb"bold|black|heavy|semibd|demi|cmbx|sfbx|ecbx|-bd\b", re.IGNORECASE)
_FORCE_BOLD = 1 << 18  # font descriptor flag (ISO 32000, table 121)
_NAME_BYTES = 128
_NO_SPACE = 0.12
"""Line heights: what stands nearer belongs to the same word."""
_USUAL_SPACE = 0.35
"""Line heights between words; columns stand wider apart."""
_BOXES = Struct("8f")
_LARGEST_SIDE = 1e6
"""Points; a page of 350 m is damaged."""


# The prototypes of pypdfium2 check the type of each argument; plain addresses take half the time.
def _plain(function: Any, result: Any, *arguments: Any) -> Any:
    """Return a function of pdfium that takes addresses: checking the types of pypdfium2 takes as long as the call."""
    return ctypes.PYFUNCTYPE(result, *arguments)(ctypes.cast(function, ctypes.c_void_p).value or 0)


_get_box = _plain(raw.FPDFText_GetLooseCharBox, ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
_get_matrix = _plain(raw.FPDFText_GetMatrix, ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
_get_size = _plain(raw.FPDFText_GetFontSize, ctypes.c_double, ctypes.c_void_p, ctypes.c_int)
_get_font = _plain(
    raw.FPDFText_GetFontInfo,
    ctypes.c_ulong,
    *(ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_ulong, ctypes.c_void_p),
)
_Place = tuple[float, float, float, float]
"""Left, top, right and bottom, in points from the top left of the page as it is shown."""


class Word(NamedTuple):
    """A run of characters without white space, and its place in points from the top left of the page as shown."""

    text: str
    left: float
    top: float
    right: float
    bottom: float


class WordLine(NamedTuple):
    """Words that pdfium found on one line, in its order.

    Args:
        words: At least one; none where a table took them.
        size: Size of its type in points: of its first word or its last one, whichever is smaller.
        bold: Whether both are set in a bold font.
    """

    words: tuple[Word, ...]
    size: float
    bold: bool


_make = tuple.__new__
"""Makes a `Word` in half the time of its own constructor, which is no built-in function."""


@dataclass(frozen=True, slots=True)
class PageWords:
    """What stands on a page.

    Attributes:
        width: Width as shown, in points.
        height: Height as shown.
        lines: Its text in the order of pdfium.
        rules: Drawn lines, at most 2,000.
    """

    width: float
    height: float
    lines: tuple[WordLine, ...]
    rules: tuple[Rule, ...]


def read_words(page: Any, textpage: Any) -> PageWords | None:
    """Return what stands on a page; None when its size or a place makes no sense.

    Args:
        page: A pdfium page handle.
        textpage: Its text page handle.
    """
    frame = frame_of(page)
    width, height = float(raw.FPDF_GetPageWidthF(page)), float(raw.FPDF_GetPageHeightF(page))
    if frame is None or not (0 < width < _LARGEST_SIDE and 0 < height < _LARGEST_SIDE):
        return None
    lines = _lines(textpage, frame)
    if lines is None or not isfinite(sum(line.size for line in lines)):
        return None
    return PageWords(width, height, lines, read_rules(page, frame) if lines else ())


def page_text(textpage: Any) -> str:
    """Return a page's characters, one for each index that pdfium counts."""
    count = raw.FPDFText_CountChars(textpage)
    if count <= 0:
        return ""
    buffer = ctypes.create_string_buffer(4 * (count + 1))
    units = raw.FPDFText_GetText(textpage, 0, count, ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ushort)))
    text = buffer.raw[: 2 * max(0, units - 1)].decode("utf-16-le", "replace")
    if len(text) == count:
        return text
    # Characters without a code are counted, but not given: ask for each, so that positions stay true.
    return "".join(_character(raw.FPDFText_GetUnicode(textpage, index)) for index in range(count))


def _character(code: int) -> str:
    return chr(code) if code <= 0x10FFFF else "\ufffd"  # noqa: PLR2004 (the last code of Unicode)


def _lines(textpage: Any, frame: Frame) -> tuple[WordLine, ...] | None:
    text = page_text(textpage)
    as_it_is = is_clean(text.replace("\r\n", "\n").replace(_LINE_END_HYPHEN, "-"))
    tokens = list(_TOKEN.finditer(text))
    places = _places(textpage, tokens, frame)
    if places is None:
        return None
    font = _FontReader(textpage)
    lines: list[WordLine] = []
    words: list[Word] = []
    first = last = 0
    ended = broken = False

    def end_line() -> None:
        if words:
            size, bold = font.look(first, last)
            lines.append(WordLine(tuple(words), size, bold))
            words.clear()

    for match, box in zip(tokens, places, strict=True):
        token = match[0]
        if token[0] in "\r\n":
            ended = True
            continue
        glued = False
        if ended and words:
            gap = _gap_on_line(words[-1], box)
            if broken or gap is None:
                end_line()
            else:
                glued = gap < _NO_SPACE
        last = match.start()
        if not words:
            first = last
        ended = broken = token[-1] == _LINE_END_HYPHEN
        word = f"{token[:-1]}-" if broken else token
        if as_it_is and not glued:
            words.append(_make(Word, (word, *box)))
            continue
        _add_cleaned(words, word, box, glued=glued)
    end_line()
    return tuple(lines)


def _places(textpage: Any, tokens: Sequence[re.Match[str]], frame: Frame) -> list[_Place] | None:
    """Return the place of each token, from its first and its last character; None when one is no number.

    All are asked for before any is looked at, so that a word costs no more than the two calls.
    """
    buffer = ctypes.create_string_buffer(_BOXES.size * len(tokens))
    handle, address, half = ctypes.cast(textpage, ctypes.c_void_p).value, ctypes.addressof(buffer), _BOXES.size // 2
    for match in tokens:
        start, end = match.span()
        _get_box(handle, start, address)
        _get_box(handle, end - 1, address + half)
        address += _BOXES.size
    # Damaged fonts and matrices give numbers that no order can be made of.
    if not isfinite(sum(array("f", buffer.raw))):
        return None
    boxes = [
        # A call of `min` or `max` would take as long as one of pdfium.
        (
            min(left2, left),
            min(bottom2, bottom),
            max(right2, right),
            max(top2, top),
        )
        for left, top, right, bottom, left2, top2, right2, bottom2 in _BOXES.iter_unpack(buffer)
    ]
    if frame.turn == 0:  # as `shown` does, without a call for each word
        west, north = frame.left, frame.top
        return [(left - west, north - top, right - west, north - bottom) for left, bottom, right, top in boxes]
    return [frame.shown(*box) for box in boxes]


def _gap_on_line(before: Word, place: _Place) -> float | None:
    """Return how far right of a word another one stands on the same line, in line heights; None when it does not.

    pdfium begins a new line at a superscript and after it.
    """
    left, top, right, bottom = place
    height = max(before.bottom - before.top, bottom - top)
    overlap = min(before.bottom, bottom) - max(before.top, top)
    if overlap * 2 < min(before.bottom - before.top, bottom - top) or right <= before.right or height <= 0:
        return None
    gap = (left - before.right) / height
    return gap if -_NO_SPACE <= gap <= _USUAL_SPACE else None


def _add_cleaned(words: list[Word], text: str, place: _Place, *, glued: bool) -> None:
    """Add a word, or a part of the last one; cleaning may leave nothing, or part it at a control character."""
    for part in clean(text).split():
        words.append(_glued(words.pop(), part, place) if glued else Word(part, *place))
        glued = False


def _glued(before: Word, text: str, place: _Place) -> Word:
    left, top, right, bottom = place
    return Word(
        clean(before.text + text),
        min(before.left, left),
        min(before.top, top),
        max(before.right, right),
        max(before.bottom, bottom),
    )


class _FontReader:
    """Tells how large characters are set, and whether in bold, by the name and the flags of their font."""

    def __init__(self, textpage: Any) -> None:
        self._textpage = ctypes.cast(textpage, ctypes.c_void_p).value
        self._name, self._flags, self._matrix = (
            ctypes.create_string_buffer(_NAME_BYTES),
            ctypes.c_int(),
            raw.FS_MATRIX(),
        )
        self._at = [ctypes.addressof(memory) for memory in (self._name, self._flags, self._matrix)]
        self._known: dict[tuple[bytes, int], bool] = {}

    def look(self, first: int, last: int) -> tuple[float, bool]:
        """Return the smaller size of two characters in points, and whether both are bold."""
        size, bold = self._look(first)
        if first == last:
            return size, bold
        other, also = self._look(last)
        return min(size, other), bold and also

    def _look(self, index: int) -> tuple[float, bool]:
        # The size that a producer names is scaled by a matrix: many set type of size 1, ten times enlarged.
        scale = 1.0
        if _get_matrix(self._textpage, index, self._at[2]):
            scale = hypot(self._matrix.c, self._matrix.d)
        return scale * _get_size(self._textpage, index), self._is_bold(index)

    def _is_bold(self, index: int) -> bool:
        if not _get_font(self._textpage, index, self._at[0], _NAME_BYTES, self._at[1]):
            return False
        font = self._name.value, self._flags.value
        if font not in self._known:
            self._known[font] = bool(font[1] & _FORCE_BOLD) or _BOLD_NAME.search(font[0]) is not None
        return self._known[font]
