"""The canonical form of text: made once, then every offset counts in it."""

import re
import unicodedata
from collections.abc import Iterator, Sequence

# Controls but tab and newline, lone surrogates, the byte order mark and what is no character at all.
_UNWANTED = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff\ufeff\ufffe\uffff]")
_LINE_ENDS = re.compile("\r\n?|[\x0b\x85\u2028\u2029]")
_BLANK_LINES = re.compile(r"\n{3,}")
_BROKEN_WORD = re.compile(r"(?<![^\W\d_])([^\W\d_]++)[-\u2010\u00ad]\n[^\S\n]*([^\W\d_]+)")
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_PIECE = 20_000
_BORDERS = ("\n\n", "\n", " ")


def clean(text: str) -> str:
    """Return the text in NFC with plain newlines, without NUL, lone surrogates and other invisible debris."""
    return unicodedata.normalize("NFC", _UNWANTED.sub("", _LINE_ENDS.sub("\n", text)))


def tidy(text: str) -> str:
    """Return extracted text without white space at line ends and with at most one blank line in a row."""
    return _BLANK_LINES.sub("\n\n", "\n".join(line.rstrip() for line in text.split("\n"))).strip("\n")


def vocabulary(texts: Sequence[str]) -> frozenset[str]:
    """Return the words of a document in small letters, also those with a hyphen inside, but none broken by a line."""
    return frozenset(word for text in texts for word in _WORD.findall(_BROKEN_WORD.sub(" ", text).lower()))


def join_broken_words(text: str, words: frozenset[str]) -> str:
    """Undo hyphenation at line ends, where a small letter follows.

    The hyphen goes unless the document's other words speak for it: it writes the compound elsewhere
    ("client-server"), or it has both halves as words and never the joined one ("business-critical").

    Args:
        text: Lines as they stand on a page.
        words: The document's `vocabulary`.
    """

    def joined(match: re.Match[str]) -> str:
        first, second = match.groups()
        if not second[0].islower():
            return match[0]
        left, right = first.lower(), second.lower()
        separate = left in words and right in words and left + right not in words
        return f"{first}-{second}" if separate or f"{left}-{right}" in words else first + second

    return _BROKEN_WORD.sub(joined, text)


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
