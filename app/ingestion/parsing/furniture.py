"""Finds what is printed on page after page around the text: headers, footers and page numbers.

A line at the edge of a page is furniture when the same line, or the same line with a number that grows
with the page, stands at the same edge of at least three pages and a quarter of all. Rows of a table
that goes on over pages differ, or hold numbers that do not count pages, so they stay.
"""

import re
from collections import Counter
from collections.abc import Sequence

_REACH = 3
"""Lines from each edge that are looked at."""
_LONGEST = 150
_LEAST_PAGES = 3
_LEAST_SHARE = 0.25
_NUMBER = re.compile(r"\d{1,5}")
_ROMAN = re.compile(r"[ivxlc]{1,8}", re.IGNORECASE)
_ROMAN_VALUES = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}

_Key = tuple[str, str, int]
"""Edge, the line with its page number left out, and that number less the page's position."""


def take_out_furniture(pages: Sequence[str]) -> list[tuple[str, tuple[str, ...]]]:
    """Return each page's text without furniture, and the furniture, in the order of the page."""
    lines = [page.split("\n") for page in pages]
    return [_parted(page, gone) for page, gone in zip(lines, find_furniture(lines), strict=True)]


def find_furniture(pages: Sequence[Sequence[str]]) -> list[frozenset[int]]:
    """Return the positions of the lines of each page that are furniture; none where what repeats is all that most have.

    Args:
        pages: The lines of each page, from its upper edge to its lower one.
    """
    counts = Counter(key for number, page in enumerate(pages) for key in _page_keys(page, number))
    needed = max(_LEAST_PAGES, round(len(pages) * _LEAST_SHARE))
    repeated = {key for key, count in counts.items() if count >= needed}
    found = [_repeated_lines(page, number, repeated) for number, page in enumerate(pages)]
    if _are_mostly_emptied(pages, found):
        return [frozenset() for _ in pages]
    return found


def _are_mostly_emptied(pages: Sequence[Sequence[str]], found: Sequence[frozenset[int]]) -> bool:
    """Whether most pages with text have no other than what repeats: then that is the text."""
    filled = [
        (sum(bool(line.strip()) for line in page), sum(bool(page[index].strip()) for index in gone))
        for page, gone in zip(pages, found, strict=True)
    ]
    return 2 * sum(0 < lines == gone for lines, gone in filled) > sum(lines > 0 for lines, _ in filled)


def _page_keys(lines: Sequence[str], number: int) -> set[_Key]:
    top, bottom = _edges(lines)
    found = [("top", index) for index in top] + [("bottom", index) for index in bottom]
    return {key for edge, index in found for key in _keys(edge, lines[index], number)}


def _edges(lines: Sequence[str]) -> tuple[list[int], list[int]]:
    filled = [index for index, line in enumerate(lines) if line.strip()]
    return filled[:_REACH], filled[::-1][:_REACH]


def _keys(edge: str, line: str, number: int) -> set[_Key]:
    text = " ".join(line.split()).casefold()
    if len(text) > _LONGEST:
        return set()
    keys = {(edge, text, 0)}
    for match in _NUMBER.finditer(text):
        keys.add((edge, f"{text[: match.start()]}#{text[match.end() :]}", int(match[0]) - number))
    if _ROMAN.fullmatch(text):
        keys.add((edge, "roman", _roman(text) - number))
    return keys


def _roman(text: str) -> int:
    values = [_ROMAN_VALUES[letter] for letter in text]
    return sum(-value if value < max(values[index:]) else value for index, value in enumerate(values))


def _repeated_lines(lines: Sequence[str], number: int, repeated: set[_Key]) -> frozenset[int]:
    gone: set[int] = set()
    for edge, indexes in zip(("top", "bottom"), _edges(lines), strict=True):
        for index in indexes:
            if _keys(edge, lines[index], number).isdisjoint(repeated):
                break
            gone.add(index)
    return frozenset(gone)


def _parted(lines: Sequence[str], gone: frozenset[int]) -> tuple[str, tuple[str, ...]]:
    kept = "\n".join(line for index, line in enumerate(lines) if index not in gone)
    return kept, tuple(lines[index].strip() for index in sorted(gone))
