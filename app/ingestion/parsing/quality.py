"""Judges extracted text: some files give text that looks fine to a program and finds nothing.

Fonts without a Unicode map give private-use or wrong glyphs, and some files lose all spaces. The score
is 1 for clean text; below `READABLE` a page is better read by another extractor, or not at all.
"""

import re
import unicodedata
from collections import Counter
from functools import lru_cache
from typing import NamedTuple

READABLE = 0.5

_SAMPLE = 20_000
_LONGEST_WORD = 36
_LONG_WORD = re.compile(rf"[^\W\d_]{{{_LONGEST_WORD},}}")
_SPACED_SCRIPTS = re.compile("[A-Za-z\u00c0-\u058f]")
_LEADERS = frozenset(".\u2026_-\u2013\u2014=*\u00b7|")
_GLYPH_NUMBERS = re.compile(r"\(cid:\d+\)|/G\d+|/g\d+")
_GLYPH_STARTS = ("(cid:", "/G", "/g")
_BAD_CATEGORIES = frozenset({"Co", "Cn", "Cs", "Cc"})


class _Kind(NamedTuple):
    """What a character counts as, each 0 or 1."""

    shown: int
    bad: int
    spaced: int
    letter_or_digit: int


def quality(text: str) -> float:
    """Return how readable a page's text is, from 0 to 1; 1 for a page without text."""
    sample = text[:_SAMPLE]
    size = bad = spaced = known = 0
    for character, count in Counter(sample).items():
        kind = _kind(character)
        size += count * kind.shown
        bad += count * kind.bad
        spaced += count * kind.spaced
        known += count * kind.letter_or_digit
    if not size:
        return 1.0
    bad_share = (bad + _glyph_numbers(sample)) / size
    lost_spaces = 0.0 if spaced * 2 < size else 1.5 * _in_long_words(sample) / size
    # Where hardly any letter or digit stands among the signs; formulas on real pages stay above 0.4.
    symbols = 0.6 if known / size < 0.35 else 0.0  # noqa: PLR2004
    return max(0.0, 1.0 - 3 * bad_share - lost_spaces - symbols)


@lru_cache(maxsize=4096)
def _kind(character: str) -> _Kind:
    if character in _LEADERS or character.isspace():
        return _Kind(0, 0, 0, 0)
    bad = character == "\ufffd" or unicodedata.category(character) in _BAD_CATEGORIES
    return _Kind(1, bad, _SPACED_SCRIPTS.match(character) is not None, character.isalnum())


def _glyph_numbers(sample: str) -> int:
    if not any(start in sample for start in _GLYPH_STARTS):
        return 0  # most pages have none, and looking for the pattern takes longer than all else here
    return sum(map(len, _GLYPH_NUMBERS.findall(sample)))


def _in_long_words(sample: str) -> int:
    """Return how many characters stand in words longer than any language with spaces has in number."""
    if max(map(len, sample.split())) < _LONGEST_WORD:
        return 0
    return sum(map(len, _LONG_WORD.findall(sample)))
