"""Text forms in which a copied quote equals its source, with the way back to exact offsets.

Folded away: Unicode compatibility forms (ligatures, full width, composed accents), the kind of quotation mark and
dash, runs of white space, invisible characters, and hyphens between letters (line-end hyphenation and its undoing).
Kept: letter case, digits, superscripts and fractions, so that no other word or number can take a quote's place.
"""

import unicodedata
from dataclasses import dataclass

_QUOTES = dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u02bc`\u00b4", "'") | dict.fromkeys(
    "\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb", '"'
)
# U+FFFE is what PDFium gives for a hyphen at the end of a line.
_DASHES = dict.fromkeys("\u00ad\ufffe\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d", "-")
_SAME = {**_QUOTES, **_DASHES}


@dataclass(frozen=True, slots=True)
class Folded:
    """A folded text; its character `i` comes from `source[starts[i]:ends[i]]`."""

    text: str
    starts: tuple[int, ...]
    ends: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Piece:
    text: str
    start: int
    end: int


def fold(text: str) -> Folded:
    """Fold a text and remember where each character came from."""
    pieces = _without_hyphenation(_single_spaces(_compatible(text)))
    return Folded(
        "".join(piece.text for piece in pieces),
        tuple(piece.start for piece in pieces for _ in piece.text),
        tuple(piece.end for piece in pieces for _ in piece.text),
    )


def _compatible(text: str) -> list[_Piece]:
    """Fold each base character together with the marks that combine with it."""
    pieces: list[_Piece] = []
    start = 0
    while start < len(text):
        end = start + 1
        while end < len(text) and unicodedata.combining(text[end]):
            end += 1
        if folded := _fold_cluster(text[start:end]):
            pieces.append(_Piece(folded, start, end))
        start = end
    return pieces


def _fold_cluster(cluster: str) -> str:
    if cluster.isascii():
        return "'" if cluster == "`" else cluster
    if cluster in _SAME:
        return _SAME[cluster]
    kind = unicodedata.category(cluster[0])
    if kind in {"Cf", "Cc"} and not cluster.isspace():
        return ""
    return cluster if kind == "No" else unicodedata.normalize("NFKC", cluster)


def _single_spaces(pieces: list[_Piece]) -> list[_Piece]:
    """Join each run of white space to one space, and drop it at both ends."""
    result: list[_Piece] = []
    for piece in pieces:
        if not piece.text.isspace():
            result.append(piece)
        elif result and result[-1].text == " ":
            result[-1] = _Piece(" ", result[-1].start, piece.end)
        elif result:
            result.append(_Piece(" ", piece.start, piece.end))
    if result and result[-1].text == " ":
        result.pop()
    return result


def _without_hyphenation(pieces: list[_Piece]) -> list[_Piece]:
    """Drop hyphens between letters, with the white space after them."""
    result: list[_Piece] = []
    at = 0
    while at < len(pieces):
        after = at + 1
        if pieces[at].text == "-" and result and result[-1].text[-1].isalpha():
            if after < len(pieces) and pieces[after].text == " ":
                after += 1
            if after < len(pieces) and pieces[after].text[0].isalpha():
                at = after
                continue
        result.append(pieces[at])
        at += 1
    return result
