"""The canonical form of text: made once, then every offset counts in it."""

import re
import unicodedata
from collections.abc import Iterator, Sequence

# Controls but tab and newline, lone surrogates, the byte order mark and what is no character at all.
_UNWANTED = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff\ufeff\ufffe\uffff]")
_LINE_ENDS = re.compile("\r\n?|[\x0b\x85\u2028\u2029]")
_BLANK_LINES = re.compile(r"\n{3,}")
_BREAK = re.compile("[-\u2010\u2011\u00ad]\n")
_BROKEN_WORD = re.compile(r"(?<![^\W\d_])([^\W\d_]++)([-\u2010\u2011\u00ad])\n[^\S\n]*([^\W\d_]+)")
_NO_BREAK_HYPHEN = "\u2011"
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_TEXTS_AT_ONCE = 50
# Signs beside ASCII; combining marks are among them. Sorting a run of marks takes time with its square.
_MARKS_AT_ONCE = 100
_LONG_RUN = re.compile(rf"[^\w\s\x00-\x7f]{{{_MARKS_AT_ONCE + 1},}}")
_JOINER = "\u034f"
"""Combining grapheme joiner, which Unicode (UAX 15, stream-safe text) sets between too many marks."""
_PIECE = 20_000
_BORDERS = ("\n\n", "\n", " ")


def clean(text: str) -> str:
    """Return the text in NFC with plain newlines, without NUL, lone surrogates and other invisible debris."""
    plain = _UNWANTED.sub("", _LINE_ENDS.sub("\n", text))
    return unicodedata.normalize("NFC", _LONG_RUN.sub(_with_joiners, plain))


def is_clean(text: str) -> bool:
    """Whether `clean` would change neither the text nor any part of it."""
    if text.isascii():
        return not _UNWANTED.search(text) and "\r" not in text
    return (
        not _UNWANTED.search(text)
        and not _LINE_ENDS.search(text)
        and not _LONG_RUN.search(text)
        and unicodedata.is_normalized("NFC", text)
    )


def _with_joiners(match: re.Match[str]) -> str:
    """Return a run of signs with a joiner after each hundred combining marks in a row."""
    parts: list[str] = []
    marks = 0
    for character in match[0]:
        marks = marks + 1 if unicodedata.combining(character) else 0
        if marks > _MARKS_AT_ONCE:
            parts.append(_JOINER)
            marks = 1
        parts.append(character)
    return "".join(parts)


def tidy(text: str) -> str:
    """Return extracted text without white space at line ends and with at most one blank line in a row."""
    return _BLANK_LINES.sub("\n\n", "\n".join(line.rstrip() for line in text.split("\n"))).strip("\n")


def vocabulary(texts: Sequence[str]) -> frozenset[str]:
    """Return the words of a document in small letters, also those with a hyphen inside, but none broken by a line."""
    words: set[str] = set()
    for first in range(0, len(texts), _TEXTS_AT_ONCE):
        # Most runs of letters stand there many times, and splitting at white space is faster than looking for words.
        runs: set[str] = set()
        for text in texts[first : first + _TEXTS_AT_ONCE]:
            runs.update(_without_broken_words(text).lower().split())
        words.update(_WORD.findall("\n".join(runs)))
    return frozenset(words)


def _without_broken_words(text: str) -> str:
    return _BROKEN_WORD.sub(" ", text) if _BREAK.search(text) else text


def join_broken_words(text: str, words: frozenset[str]) -> str:
    """Undo hyphenation at line ends, as `broken_words` finds it.

    Args:
        text: Lines as they stand on a page.
        words: The document's `vocabulary`.
    """
    parts: list[str] = []
    offset = 0
    for start, end in broken_words(text, words):
        parts.append(text[offset:start])
        offset = end
    return "".join([*parts, text[offset:]])


def broken_words(text: str, words: frozenset[str]) -> Iterator[tuple[int, int]]:
    """Yield the spans between the halves of broken words that must go to undo hyphenation, in order.

    A small letter follows the break. The hyphen goes too, unless the document's other words speak for it: it writes
    the compound elsewhere ("client-server"), or it has both halves as words and never the joined one
    ("business-critical").

    Args:
        text: Lines as they stand on a page.
        words: The document's `vocabulary`.
    """
    if not _BREAK.search(text):
        return  # most pages have none, and looking for whole words takes ten times as long
    for match in _BROKEN_WORD.finditer(text):
        first, hyphen, second = match.groups()
        if not second[0].islower():
            continue
        left, right = first.lower(), second.lower()
        separate = left in words and right in words and left + right not in words
        stays = separate or f"{left}-{right}" in words
        yield match.end(1) + (stays or hyphen == _NO_BREAK_HYPHEN), match.start(3)


def split_long(text: str) -> Iterator[str]:
    """Yield pieces of at most 20,000 characters that make up the text, cut at paragraphs where possible.

    A page is what a reader opens behind a citation; a text file without pages gets some of this size.
    """
    start = 0
    while len(text) - start > _PIECE:
        end = _border(text, start, start + _PIECE)
        yield text[start:end]
        start = end
    if start < len(text):
        yield text[start:]


def _border(text: str, start: int, end: int) -> int:
    for border in _BORDERS:
        found = text.rfind(border, start + _PIECE // 2, end)
        if found >= 0:
            return found + len(border)
    return end
