"""Judges extracted text: some files give text that looks fine to a program and finds nothing.

Fonts without a Unicode map give private-use or wrong glyphs, and some files lose all spaces. The score
is 1 for clean text; below `READABLE` a page is better read by another extractor, or not at all.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping

READABLE = 0.5

_SAMPLE = 20_000
_LONG_WORD = re.compile(r"[^\W\d_]{36,}")
_SPACED_SCRIPTS = re.compile("[A-Za-z\u00c0-\u058f]")
_LEADERS = frozenset(".\u2026_-\u2013\u2014=*\u00b7|")
_GLYPH_NUMBERS = re.compile(r"\(cid:\d+\)|/G\d+|/g\d+")
_BAD_CATEGORIES = frozenset({"Co", "Cn", "Cs", "Cc"})


def quality(text: str) -> float:
    """Return how readable a page's text is, from 0 to 1; 1 for a page without text."""
    sample = text[:_SAMPLE]
    counts = {
        character: count
        for character, count in Counter(sample).items()
        if character not in _LEADERS and not character.isspace()
    }
    size = sum(counts.values())
    if not size:
        return 1.0
    return max(
        0.0, 1.0 - 3 * _bad_share(sample, counts, size) - _lost_spaces(sample, counts, size) - _symbols(counts, size)
    )


def _bad_share(sample: str, counts: Mapping[str, int], size: int) -> float:
    bad = sum(
        count
        for character, count in counts.items()
        if character == "\ufffd" or unicodedata.category(character) in _BAD_CATEGORIES
    )
    return (bad + sum(map(len, _GLYPH_NUMBERS.findall(sample)))) / size


def _lost_spaces(sample: str, counts: Mapping[str, int], size: int) -> float:
    """Share of characters in words longer than any language with spaces has in number."""
    spaced = sum(count for character, count in counts.items() if _SPACED_SCRIPTS.match(character))
    return 0.0 if spaced * 2 < size else 1.5 * sum(map(len, _LONG_WORD.findall(sample))) / size


def _symbols(counts: Mapping[str, int], size: int) -> float:
    """Penalty where hardly any letter or digit stands among the signs."""
    share = sum(count for character, count in counts.items() if character.isalnum()) / size
    return 0.6 if share < 0.35 else 0.0  # noqa: PLR2004 (formulas on real pages stay above 0.4)
