"""Judges extracted text: some files give text that looks fine to a program and finds nothing.

Fonts without a Unicode map give private-use or wrong glyphs, and some files lose all spaces. The score
is 1 for clean text; below `READABLE` a page is better read by another extractor, or not at all.
"""

import re
import unicodedata

READABLE = 0.5

_SAMPLE = 20_000
_LONG_WORD = re.compile(r"[^\W\d_]{36,}")
_SPACED_SCRIPTS = re.compile("[A-Za-z\u00c0-\u058f]")
_LEADERS = re.compile(r"[.\u2026_\-\u2013\u2014=*\u00b7|\s]+")
_GLYPH_NUMBERS = re.compile(r"\(cid:\d+\)|/G\d+|/g\d+")
_BAD_CATEGORIES = frozenset({"Co", "Cn", "Cs", "Cc"})


def quality(text: str) -> float:
    """Return how readable a page's text is, from 0 to 1; 1 for a page without text."""
    solid = _LEADERS.sub("", text[:_SAMPLE])
    if not solid:
        return 1.0
    score = 1.0 - 3 * _bad_share(solid) - _lost_spaces(text[:_SAMPLE], len(solid)) - _symbols(solid)
    return max(0.0, score)


def _bad_share(solid: str) -> float:
    bad = sum(character == "\ufffd" or unicodedata.category(character) in _BAD_CATEGORIES for character in solid)
    return (bad + sum(len(match) for match in _GLYPH_NUMBERS.findall(solid))) / len(solid)


def _lost_spaces(text: str, size: int) -> float:
    """Share of characters in words longer than any language with spaces has in number."""
    if len(_SPACED_SCRIPTS.findall(text)) * 2 < size:
        return 0.0
    return 1.5 * sum(map(len, _LONG_WORD.findall(text))) / size


def _symbols(solid: str) -> float:
    """Penalty where hardly any letter or digit stands among the signs."""
    share = sum(character.isalnum() for character in solid) / len(solid)
    return 0.6 if share < 0.35 else 0.0  # noqa: PLR2004 (formulas on real pages stay above 0.4)
