"""Takes words with their places from a page that pdfium has open.

pdfium is called through ctypes, which takes as long as the rest of the work on a word. So a word costs two calls (its
first and its last character), a line two more for its text objects, and an object three for its font.
"""

import ctypes
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import hypot, isfinite
from operator import add
from typing import Any, NamedTuple

from app.ingestion.parsing import pdf_library as pdfium
from app.ingestion.parsing.canonical import clean, is_clean
from app.ingestion.parsing.pdf_frame import Frame, frame_of
from app.ingestion.parsing.pdf_rules import Rule, read_rules

_LINE_END_HYPHEN = "\ufffe"
"""What pdfium gives for a hyphen at a line end, in place of the hyphen and the newline."""
_BOLD_NAME = re.compile(rb"bold|black|heavy|semibd|demi|cmbx|sfbx|ecbx|-bd\b", re.IGNORECASE)
_FORCE_BOLD = 1 << 18  # font descriptor flag (ISO 32000, table 121)
_NAME_BYTES = 128
_NO_SPACE = 0.12
"""Line heights: what stands nearer belongs to the same word."""
_USUAL_SPACE = 0.35
"""Line heights between words; columns stand wider apart."""
_LARGEST_SIDE = 1e6
"""Points; a page of 350 m is damaged."""


_MOST_AT_ONCE = 1_024
"""Tokens whose boxes are asked for before any is looked at."""
_BUFFER = (ctypes.c_float * (8 * _MOST_AT_ONCE))()
# Addresses that need not be made anew for each call.
_SLOTS = [
    [ctypes.c_void_p(ctypes.addressof(_BUFFER) + start + 32 * index) for index in range(_MOST_AT_ONCE)]
    for start in (0, 16)
]
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
    width, height = float(pdfium.page_width(page)), float(pdfium.page_height(page))
    if frame is None or not (0 < width < _LARGEST_SIDE and 0 < height < _LARGEST_SIDE):
        return None
    lines = _lines(textpage, frame)
    if lines is None or not isfinite(sum(line.size for line in lines)):
        return None
    return PageWords(width, height, lines, read_rules(page, frame) if lines else ())


def page_text(textpage: Any) -> str:
    """Return a page's characters, one for each index that pdfium counts."""
    count = pdfium.count_characters(textpage)
    if count <= 0:
        return ""
    buffer = ctypes.create_string_buffer(4 * (count + 1))
    units = pdfium.get_text(textpage, 0, count, buffer)
    text = buffer.raw[: 2 * max(0, units - 1)].decode("utf-16-le", "replace")
    if len(text) == count:
        return text
    # Characters without a code are counted, but not given: ask for each, so that positions stay true.
    return "".join(_character(pdfium.get_unicode(textpage, index)) for index in range(count))


def _character(code: int) -> str:
    return chr(code) if code <= 0x10FFFF else "\ufffd"  # noqa: PLR2004 (the last code of Unicode)


class _Tokens(NamedTuple):
    """Runs of characters without white space, in order.

    Args:
        texts: Their characters.
        starts: Position of the first character of each.
        lines: Position of the first token of each line, and their number at the end.
    """

    texts: list[str]
    starts: list[int]
    lines: list[int]


def _tokens(text: str) -> _Tokens:
    """Part a page's characters; a hyphen that pdfium saw at a line end ends a line too."""
    texts: list[str] = []
    starts: list[int] = []
    lines = [0]
    at = 0
    for line in text.replace("\r", "\n").replace(_LINE_END_HYPHEN, f"{_LINE_END_HYPHEN}\n").split("\n"):
        words = line.split()
        if not words:
            continue
        # Looking for what was split off finds it where it stands: only white space is passed over.
        at = text.find(words[0], at)
        whole = " ".join(words)
        if text.startswith(whole, at):
            starts += starts_of(words, at)
            at += len(whole)
        else:
            for word in words:
                at = text.find(word, at)
                starts.append(at)
                at += len(word)
        texts += words
        lines.append(len(texts))
    return _Tokens(texts, starts, lines)


def starts_of(words: Sequence[str], first: int) -> Iterator[int]:
    """Return the positions of words with single spaces between them, the first one's given; no match for each."""
    return map(add, accumulate(map(len, words[:-1]), initial=first), range(len(words)))


def _lines(textpage: Any, frame: Frame) -> tuple[WordLine, ...] | None:
    text = page_text(textpage)
    tokens = _tokens(text)
    places = _places(textpage, tokens, frame)
    if places is None:
        return None
    as_it_is = is_clean(text.replace("\r\n", "\n").replace(_LINE_END_HYPHEN, "-"))
    font = _FontReader(textpage)
    lines: list[WordLine] = []
    words: list[Word] = []
    first = 0
    for begin, end in pairwise(tokens.lines):
        glued = False
        if words:
            gap = None if tokens.texts[begin - 1][-1] == _LINE_END_HYPHEN else _gap_on_line(words[-1], places[begin])
            if gap is None:
                lines.append(_line(words, font.look(first, tokens.starts[begin - 1])))
                words = []
            else:
                glued = gap < _NO_SPACE
        if as_it_is and not glued:
            first = first if words else tokens.starts[begin]
            words += _words(tokens.texts, places, begin, end)
            continue
        for index in range(begin, end):
            first = first if words else tokens.starts[index]
            _add_cleaned(words, tokens.texts[index].replace(_LINE_END_HYPHEN, "-"), places[index], glued=glued)
            glued = False
    if words:
        lines.append(_line(words, font.look(first, tokens.starts[-1])))
    return tuple(lines)


def _line(words: list[Word], type_: tuple[float, bool]) -> WordLine:
    size, bold = type_
    return WordLine(tuple(words), size, bold)


def _words(texts: Sequence[str], places: Sequence[_Place], begin: int, end: int) -> list[Word]:
    """Return the words of a line that needs no cleaning."""
    words = [_make(Word, (text, *place)) for text, place in zip(texts[begin:end], places[begin:end], strict=True)]
    if texts[end - 1][-1] == _LINE_END_HYPHEN:
        words[-1] = words[-1]._replace(text=f"{texts[end - 1][:-1]}-")
    return words


def _places(textpage: Any, tokens: _Tokens, frame: Frame) -> list[_Place] | None:
    """Return the place of each token, from its first and its last character; None when one is no number."""
    get_box = pdfium.get_box
    west, north = frame.left, frame.top
    places: list[_Place] = []
    for begin in range(0, len(tokens.texts), _MOST_AT_ONCE):
        starts = tokens.starts[begin : begin + _MOST_AT_ONCE]
        # A box that cannot be told stays without size.
        ctypes.memset(_BUFFER, 0, 32 * len(starts))
        for start, text, first, last in zip(starts, tokens.texts[begin:], *_SLOTS, strict=False):
            get_box(textpage, start, first)
            get_box(textpage, start + len(text) - 1, last)
        # Damaged fonts and matrices give numbers that no order can be made of.
        numbers = _BUFFER[: 8 * len(starts)]
        if not isfinite(sum(numbers)):
            return None
        corners = zip(*(iter(numbers),) * 8, strict=True)
        if frame.turn:
            places += [
                frame.shown(min(left2, left), min(bottom2, bottom), max(right2, right), max(top2, top))
                for left, top, right, bottom, left2, top2, right2, bottom2 in corners
            ]
            continue
        # The same as `shown` gives. A call of `min` or `max` would take as long as one of pdfium.
        places += [
            (
                (left2 if left2 < left else left) - west,  # noqa: FURB136
                north - (top2 if top2 > top else top),  # noqa: FURB136
                (right2 if right2 > right else right) - west,  # noqa: FURB136
                north - (bottom2 if bottom2 < bottom else bottom),  # noqa: FURB136
            )
            for left, top, right, bottom, left2, top2, right2, bottom2 in corners
        ]
    return places


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
        self._textpage = textpage
        self._name, self._flags, self._matrix = (
            ctypes.create_string_buffer(_NAME_BYTES),
            ctypes.c_int(),
            pdfium.Matrix(),
        )
        self._matrix_at = ctypes.c_void_p(ctypes.addressof(self._matrix))
        self._fonts: dict[tuple[bytes, int], bool] = {}
        self._object = 0
        self._type = 0.0, False

    def look(self, first: int, last: int) -> tuple[float, bool]:
        """Return the smaller size of two characters in points, and whether both are bold."""
        size, bold = self._look(first)
        if first == last:
            return size, bold
        other, also = self._look(last)
        return min(size, other), bold and also

    def _look(self, index: int) -> tuple[float, bool]:
        """Return size and weight of a character; all that one text object shows have the same."""
        found = pdfium.get_text_object(self._textpage, index) or 0
        if not found or found != self._object:
            self._object, self._type = found, (self._size(index), self._is_bold(index))
        return self._type

    def _size(self, index: int) -> float:
        # The size that a producer names is scaled by a matrix: many set type of size 1, ten times enlarged.
        scale = 1.0
        if pdfium.get_matrix(self._textpage, index, self._matrix_at):
            scale = hypot(self._matrix.c, self._matrix.d)
        return scale * float(pdfium.get_size(self._textpage, index))

    def _is_bold(self, index: int) -> bool:
        if not pdfium.get_font(self._textpage, index, self._name, _NAME_BYTES, ctypes.byref(self._flags)):
            return False
        font = self._name.value, self._flags.value
        if font not in self._fonts:
            self._fonts[font] = bool(font[1] & _FORCE_BOLD) or _BOLD_NAME.search(font[0]) is not None
        return self._fonts[font]
