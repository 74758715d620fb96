"""Tells text from bytes that were read in an encoding that was only guessed. Pure.

Bytes of any kind can be read as some characters. Text is what they give when its characters are assigned, when
neighbouring letters are of one script, when ideographs and Hangul syllables are mostly those in daily use, when
capitals begin words, and when something parts the words or phrases.
"""

import unicodedata
from collections import Counter
from enum import IntEnum
from functools import lru_cache
from itertools import pairwise

_WINDOWS = 8
_WINDOW = 4_096
_MOST_ODD = 0.02
_MOST_FOREIGN = 0.1
_MOST_RARE = 0.2
_FEW_SIGNS = 20
_FEW_RARE = 2
_FEW_LETTERS = 48
_LEAST_BREAKS = 0.02
_FEW_UNSPACED = 200
_LEAST_BREAKS_UNSPACED = 0.005
_FEW_MARKED = 8
_ODD_CATEGORIES = frozenset({"Cc", "Cn", "Co", "Cs"})
_BREAKS = frozenset(" \t\n\r\f\u3000\u3001\u3002\uff01\uff0c\uff1a\uff1b\uff1f")
# Characters in daily use, by the first byte in their national standard: 3,755 of GB 2312, 5,401 of Big5, 2,965 of
# JIS X 0208, and the 2,350 syllables of KS X 1001.
_IN_DAILY_USE = (("gb2312", 0xB0, 0xD7), ("big5", 0xA4, 0xC6), ("shift_jis", 0x88, 0x98), ("euc_kr", 0xB0, 0xC8))
_EAST_ASIAN = frozenset(
    {"CJK", "IDEOGRAPHIC", "KANGXI", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "HANGUL", "BOPOMOFO", "HALFWIDTH",
     "FULLWIDTH", "VERTICAL"}
)  # fmt: skip
_UNSPACED = ("EAST ASIAN", "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN")
_LATIN = frozenset({"MICRO", "FEMININE", "MASCULINE"})


class _Class(IntEnum):
    """What a character says about the text that it stands in."""

    NOTHING = 0
    ODD = 1
    BREAK = 2
    """White space, or what ends phrases where there is none."""
    LETTER = 3
    RARE = 4
    """An ideograph or syllable of no list of those in daily use."""
    SIGN = 5
    """A sign beyond ASCII that is no punctuation, such as a fraction or a part of a frame."""


def share_of_odd(text: str) -> float:
    """Return the share of characters that stand in no text: controls, unassigned and private ones, and U+FFFD."""
    sample = _sample(text)
    return _counts(sample)[_Class.ODD] / max(1, len(sample))


def is_plausible(text: str) -> bool:
    """Whether what bytes give in an encoding that was guessed is text, in whatever language."""
    sample = _sample(text)
    counts = _counts(sample)
    letters = counts[_Class.LETTER] + counts[_Class.RARE]
    return (
        counts[_Class.ODD] <= len(sample) * _MOST_ODD
        and counts[_Class.RARE] <= max(_FEW_RARE, letters * _MOST_RARE)
        and counts[_Class.SIGN] <= letters + counts[_Class.BREAK] + _FEW_SIGNS
        and _are_scripts_written_so(sample, counts[_Class.BREAK])
        and _share_of_foreign(sample) <= _MOST_FOREIGN
    )


def _are_scripts_written_so(sample: str, breaks: int) -> bool:
    """Whether words have an end, and half of the Latin letters no mark; ASCII alone may be data without a space."""
    scripts: Counter[str] = Counter()
    plain = 0
    for letter, count in Counter(sample).items():
        if letter.isalpha():
            scripts[_script(letter)] += count
            plain += count * letter.isascii()
    unspaced = sum(scripts[script] for script in _UNSPACED)
    spaced = scripts.total() - unspaced - plain
    return (
        (spaced < _FEW_LETTERS or breaks >= spaced * _LEAST_BREAKS)
        and (unspaced < _FEW_UNSPACED or breaks >= unspaced * _LEAST_BREAKS_UNSPACED)
        and scripts["LATIN"] - plain <= max(_FEW_MARKED, plain)
    )


def _sample(text: str) -> str:
    """Return the text; of a long one, parts at equal distances."""
    if len(text) <= _WINDOWS * _WINDOW:
        return text
    step = (len(text) - _WINDOW) // (_WINDOWS - 1)
    return "".join(text[at : at + _WINDOW] for at in range(0, step * _WINDOWS, step))


def _counts(sample: str) -> Counter[_Class]:
    counts: Counter[_Class] = Counter()
    for character, count in Counter(sample).items():
        counts[_class(character)] += count
    return counts


def _share_of_foreign(sample: str) -> float:
    """Return the share of neighbouring letters and signs that stand in no word together."""
    together = foreign = 0
    for (left, right), count in Counter(pairwise(sample)).items():
        if left.isalpha() or right.isalpha():
            signs = _Class.SIGN in {_class(left), _class(right)}
            letters = left.isalpha() and right.isalpha()
            together += count * (signs or letters)
            foreign += count * (signs or (letters and _is_foreign(left, right)))
    return foreign / max(_FEW_LETTERS, together)


def _is_foreign(left: str, right: str) -> bool:
    """Whether two letters are of two scripts, or a capital follows a small one; ASCII may be names and data."""
    if left.isascii() and right.isascii():
        return False
    scripts = {_script(left), _script(right)}
    if scripts == {"LATIN", "EAST ASIAN"}:
        return False  # written without a space between them
    return len(scripts) > 1 or (left.islower() and right.isupper())


@lru_cache(maxsize=4096)
def _class(character: str) -> _Class:
    if character in _BREAKS:
        return _Class.BREAK
    category = unicodedata.category(character)
    if (category in _ODD_CATEGORIES and character not in "\x0b\x1b\x85") or character in "\ufffd\ufeff":
        return _Class.ODD
    if category[0] == "S" or category == "No":
        return _Class.NOTHING if character.isascii() or character > "\uffff" else _Class.SIGN
    if category[0] != "L":
        return _Class.NOTHING
    is_of_thousands = character >= "\u3400" and _name(character).startswith(("CJK", "HANGUL SYLLABLE"))
    return _Class.RARE if is_of_thousands and not _is_in_daily_use(character) else _Class.LETTER


def _is_in_daily_use(character: str) -> bool:
    codes = ((character.encode(encoding, "ignore"), first, last) for encoding, first, last in _IN_DAILY_USE)
    return any(len(code) > 1 and first <= code[0] <= last for code, first, last in codes)


@lru_cache(maxsize=4096)
def _script(letter: str) -> str:
    """Return the script of a letter, by the first word of its name."""
    word = _name(letter).partition(" ")[0]
    if word in _EAST_ASIAN:
        return "EAST ASIAN"
    return "LATIN" if word in _LATIN else word


def _name(character: str) -> str:
    return unicodedata.name(character, "")
