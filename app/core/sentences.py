"""Finds sentences as spans of a text, so that a quote is always a piece of what was stored.

A row of a table, its cells between bars, is a sentence of its own: a quote of it must not take in its neighbours.
Rules only look a few characters around a full stop: one stray quotation mark cannot join a whole page
into one sentence (the library sentencex 1.0 does that), and the time is linear.
"""

import re
from collections.abc import Iterator

_CLOSERS = "\"'\u201d\u2019\u00bb)\\]"
_BOUNDARY = re.compile(
    rf"(?P<stop>(?<![.!?\u2026])[.!?\u2026]+[{_CLOSERS}]*)\s+"
    r"|(?P<wide>[\u3002\uff01\uff1f]+)\s*"
    r"|(?P<blank>\n[^\S\n]*\n\s*|\f\s*)"
    r"|(?P<item>\n)(?=[^\S\n]*(?:[-*\u2022\u25aa\u25cf\u2013]|\(?(?:\d{1,3}|[a-z])[.)]|[A-Z]?\d{1,3}(?:\.\d{1,3})+)[^\S\n])"
)
_BAR = re.compile(r"(?<=\s)\|(?=\s)")
_LINE_END = re.compile(r"[\n\f]")
_LONGEST_ROW = 600
"""Characters, about 130 tokens of English. A longer row has sentences in its cells, and is read like other text."""
_WORD_REACH = 24
_OPENERS = "\"'\u201c\u2018\u00ab(["


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Never the end of a sentence: a name or a number follows.
_TITLES = _words(
    "mr mrs ms dr prof rev hon st gen col sgt capt lt gov sen rep no nos fig figs sec secs eq eqs ref refs art ch "
    "vol vols pp p cf vs viz al approx ca para paras cl tab ed eds e.g i.e resp incl"
)
# May end a sentence, or not: decided by the word that follows.
_SHORTENED = _words(
    "inc ltd co corp llc jr sr u.s u.k u.n e.u a.m p.m b.c a.d ph.d d.c jan feb mar apr jun jul aug sep sept oct nov "
    "dec mon tue wed thu fri sat sun"
)
_STARTERS = _words(
    "a an the this that these those it its he she they we you i in on at for from by with as if when while where "
    "there here however but and or so such no not all each every some many most both after before since during "
    "although because once one two his her their our your to under what who why how is are"
)
_INITIALS = re.compile(r"[A-Z]|[^\W\d_]{1,2}(?:\.[^\W\d_]{1,2}){1,3}")
_LONGEST_ENUMERATOR = 4
_FIRST_WORD = re.compile(r"[^\W\d_]+")


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Return `(start, end)` of each sentence, in order, without white space around.

    Every character that is not white space is in exactly one span. Blank lines and list items end a
    sentence too, since headings and items seldom end in a full stop; and each row of a table is one, unless it is
    so long that its cells are texts.
    """
    return list(iter_sentence_spans(text))


def iter_sentence_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield what `sentence_spans` returns, one by one: a text of megabytes may have millions."""
    offset = 0
    for start, end in _rows(text):
        yield from _prose(text, offset, start)
        if end - start <= _LONGEST_ROW:
            yield from _stripped(text, start, end)
        else:
            yield from _prose(text, start, end)
        offset = end
    yield from _prose(text, offset, len(text))


def _prose(text: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
    for match in _BOUNDARY.finditer(text, start, stop):
        if match["stop"] and not _ends(text, start, match):
            continue
        yield from _stripped(text, start, match.end())
        start = match.end()
    yield from _stripped(text, start, stop)


def _rows(text: str) -> Iterator[tuple[int, int]]:
    """Yield the lines that are rows of tables. Each line is looked at no more than a few times."""
    offset = 0
    is_below_row = False
    while (bar := text.find("|", offset)) >= 0:
        start = max(offset, text.rfind("\n", offset, bar) + 1, text.rfind("\f", offset, bar) + 1)
        end = _line_end(text, bar)
        is_below_row = is_below_row and start == offset
        if is_below_row := _is_row(text, start, end, is_below_row=is_below_row):
            yield start, end
        offset = min(end + 1, len(text))


def _is_row(text: str, start: int, end: int, *, is_below_row: bool) -> bool:
    """Tell whether a line with a bar is a row: running text may hold one too, such as that of a command."""
    line = text[start:end].strip()
    bars = len(_BAR.findall(line))
    if line.startswith("|") and (bars or (line.endswith("|") and len(line) > 1)):
        return True
    if bars != 1 or is_below_row:
        return bars > 0
    following = text[end + 1 : _line_end(text, end + 1)].strip()
    return "|" in following or not following[:1].islower()


def _line_end(text: str, offset: int) -> int:
    found = _LINE_END.search(text, offset)
    return found.start() if found else len(text)


def _stripped(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the span without white space around; nothing when there is only white space."""
    piece = text[start:end]
    begin = start + len(piece) - len(piece.lstrip())
    finish = start + len(piece.rstrip())
    if begin < finish:
        yield begin, finish


def _ends(text: str, start: int, match: re.Match[str]) -> bool:
    """Tell whether a full stop, question or exclamation mark ends the sentence that began at `start`."""
    following = text[match.end() : match.end() + _WORD_REACH].lstrip(_OPENERS)
    if following[:1].islower():
        return False
    if match["stop"] != ".":
        return True
    words = text[max(start, match.start() - _WORD_REACH) : match.start()].split()
    word = words[-1].lstrip(_OPENERS) if words else ""
    return _word_ends(word, following, alone=len(words) <= 1)


def _word_ends(word: str, following: str, *, alone: bool) -> bool:
    name = word.lower()
    enumerates = alone and len(word) <= _LONGEST_ENUMERATOR and (word.isdigit() or len(word) == 1)
    if name in _TITLES or enumerates:
        return False
    if name in _SHORTENED or _INITIALS.fullmatch(word):
        first = _FIRST_WORD.match(following)
        return not following or (first is not None and first[0].lower() in _STARTERS)
    return True
