"""Finds headings: the titles of the outline on their pages, and lines whose type is larger or bolder than the text."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from app.ingestion.parsing.pdf_outline import OutlineEntry
from app.ingestion.parsing.pdf_pages import DraftLine, LineKind

_LONGEST = 120
_MOST_LINES = 3
_MOST_ENTRIES = 100
"""Entries of the outline on one page that are looked for."""
_LARGER = 1.15
"""Times the size of the body's type."""
_LEAST_LETTERS = 3
_MOST_SHARE = 0.25
"""When more of a document's lines look like headings, type says nothing about them."""
_DEEPEST = 6
_LETTER = re.compile(r"[^\W\d_]")
_SIGNS = re.compile(r"[\W_]+")
_NUMBER = re.compile(r"(?:[A-Z]|\d{1,3}|[IVX]{1,5})(?:\.\d{1,3})*[.)]?\s+")
_ENDS_OPEN = (".", ",", ";", ":")


class Heading(NamedTuple):
    """Neighbouring lines of a page that are one heading.

    Args:
        first: Position of its first line.
        last: Position of its last one.
        level: Depth from 1.
    """

    first: int
    last: int
    level: int


class _Style(NamedTuple):
    size: int
    bold: bool


@dataclass(frozen=True, slots=True)
class _Found:
    page: int
    first: int
    last: int
    style: _Style
    level: int
    """0 where the outline does not name it."""


def find_headings(pages: Sequence[Sequence[DraftLine]], outline: Sequence[OutlineEntry]) -> list[list[Heading]]:
    """Return the headings of each page, in order, none over another.

    Args:
        pages: The lines of each page, without furniture.
        outline: The document's bookmarks.
    """
    named = _named(pages, outline)
    taken = {(item.page, index) for item in named for index in range(item.first, item.last + 1)}
    shown = list(_shown(pages, taken))
    if sum(item.last - item.first + 1 for item in shown) > _MOST_SHARE * sum(map(len, pages)):
        shown = []
    levels = _levels(named, shown)
    result: list[list[Heading]] = [[] for _ in pages]
    for item in sorted([*named, *shown], key=lambda item: (item.page, item.first)):
        result[item.page].append(Heading(item.first, item.last, item.level or levels[item.style]))
    return result


def _named(pages: Sequence[Sequence[DraftLine]], outline: Sequence[OutlineEntry]) -> list[_Found]:
    """Find the outline's titles among the lines of their pages."""
    by_page: dict[int, list[OutlineEntry]] = defaultdict(list)
    for entry in outline:
        if entry.page < len(pages):
            by_page[entry.page].append(entry)
    found: list[_Found] = []
    for number, entries in by_page.items():
        keys = [_keys(entry.title) for entry in entries[:_MOST_ENTRIES]]
        places = _places(pages[number], {key for pair in keys for key in pair})
        taken: set[int] = set()
        for entry, (whole, bare) in zip(entries, keys, strict=False):
            first, last = places.get(whole) or places.get(bare) or (0, -1)
            if last < first or not taken.isdisjoint(range(first, last + 1)):
                continue
            taken |= set(range(first, last + 1))
            found.append(_Found(number, first, last, _style(pages[number][first]), min(entry.level, _DEEPEST)))
    return found


def _places(lines: Sequence[DraftLine], wanted: set[str]) -> dict[str, tuple[int, int]]:
    """Return where titles stand: on one line, or up to three, with a number before them or without.

    The larger type wins where the same words stand twice.
    """
    places: dict[str, tuple[int, int]] = {}
    for first, line in enumerate(lines):
        text = ""
        for last in range(first, min(first + _MOST_LINES, len(lines))):
            if lines[last].kind is not LineKind.TEXT or len(text) > _LONGEST:
                break
            text = f"{text} {lines[last].text}"
            keys = _keys(text)
            for key in wanted.intersection(keys):
                if key not in places or lines[places[key][0]].size < line.size:
                    places[key] = first, last
            if not any(key and title.startswith(key) for key in keys for title in wanted):
                break
    return places


def _keys(title: str) -> tuple[str, str]:
    """Return what a title and a line are compared by: letters and digits alone, with the number before and without."""
    title = title[: 2 * _LONGEST].strip()
    return _key(title), _key(_NUMBER.sub("", title, count=1))


def _key(text: str) -> str:
    return _SIGNS.sub("", text).casefold()


def _style(line: DraftLine) -> _Style:
    return _Style(round(line.size / 5), line.bold)  # tenths of a point in steps of half a point


def _shown(pages: Sequence[Sequence[DraftLine]], taken: set[tuple[int, int]]) -> Iterator[_Found]:
    body = _body(pages)
    for number, lines in enumerate(pages):
        first = 0
        while first < len(lines):
            last = _last_alike(lines, first)
            free = all((number, index) not in taken for index in range(first, last + 1))
            if free and last - first < _MOST_LINES and _stands_out(lines[first : last + 1], body):
                yield _Found(number, first, last, _style(lines[first]), 0)
            first = last + 1


def _body(pages: Sequence[Sequence[DraftLine]]) -> _Style:
    """Return the type that most of the text is set in."""
    sizes: Counter[_Style] = Counter()
    for lines in pages:
        for line in lines:
            if line.size and line.kind is LineKind.TEXT:
                sizes[_style(line)] += len(line.text)
    return sizes.most_common(1)[0][0] if sizes else _Style(0, bold=False)


def _last_alike(lines: Sequence[DraftLine], first: int) -> int:
    """Return the last of the neighbouring lines that go on in the same type, without a gap."""
    last = first
    while (
        last + 1 < len(lines)
        and not lines[last + 1].after_gap
        and lines[last + 1].kind is LineKind.TEXT
        and _style(lines[last + 1]) == _style(lines[first])
    ):
        last += 1
    return last


def _stands_out(lines: Sequence[DraftLine], body: _Style) -> bool:
    style, text = _style(lines[0]), " ".join(line.text for line in lines)
    if body.size == 0 or not all(line.whole and line.kind is LineKind.TEXT for line in lines):
        return False
    if len(text) > _LONGEST or text.endswith(_ENDS_OPEN):
        return False
    start = _LETTER.search(text)
    if start is None or start[0].islower() or len(_LETTER.findall(text)) < _LEAST_LETTERS:
        return False
    if style.size >= _LARGER * body.size:
        return True
    return style.bold and not body.bold and style.size >= body.size - 1


def _levels(named: Sequence[_Found], shown: Sequence[_Found]) -> dict[_Style, int]:
    """Return the level of each type: as the outline has it, else by rank, larger and bolder first."""
    known: dict[_Style, Counter[int]] = defaultdict(Counter)
    for item in named:
        known[item.style][item.level] += 1
    levels = {style: counts.most_common(1)[0][0] for style, counts in known.items()}
    ranks = sorted({item.style for item in shown} | set(levels), reverse=True)
    return {style: levels.get(style, min(rank, _DEEPEST)) for rank, style in enumerate(ranks, start=1)}
