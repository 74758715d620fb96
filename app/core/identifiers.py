"""Exact tokens that hold a digit: what a reader means literally, and what embeddings blur.

Timer names, clause and version numbers, error codes, dates, amounts. T3410 and T3411 are neighbours in
any vector space, so search compares these tokens as they are, and verification requires every one of
an answer to stand in its evidence. Documents and questions go through the same folding:

=================  =======================  ===============================================
written            forms                    why
=================  =======================  ===============================================
`T3410`            `t3410`                  case does not matter
`V5.1.3`, `5.1.3`  `5.1.3`                  a leading v of a dotted number says nothing more
`E-1042`, `E1042`  `e1042`                  one hyphen between letters and digits is optional
`RFC 4960`         `4960`, `rfc4960`        meets both "RFC4960" and "RFCs 4960 and 9260"
`10-12`            `10-12`, `10`, `12`      may be a range or a name
10, en dash, 12    `10`, `12`               an en dash between numbers is a range
`1,234,567`        `1234567`                separators of thousands carry no meaning
`2021-03-04`       `2021-03-04`             three parts are a date or a name, never a range
=================  =======================  ===============================================
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_MAX_LENGTH = 64
"""Longer runs are encoded data (base64, hashes of files in one line), not names that people write."""

_RANGE_DASH = re.compile(r"(?<=\d)\s?[\u2013\u2014]\s?(?=\d)")
_DASHES = str.maketrans(dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-") | {"\u00ad": None})
_THOUSANDS = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,])")
_TOKEN = re.compile(r"(?<!\d)\d{1,4}/\d{1,2}/\d{1,4}(?!\d)|[^\W_]+(?:(?:[-._]|(?<=\d):(?=\d))[^\W_]+)*")
_DIGIT = re.compile(r"\d")
_DOTTED_VERSION = re.compile(r"v(?=\d+\.\d)")
_LETTERS_HYPHEN_DIGITS = re.compile(r"([^\W\d_]+)-(\d+)")
_NUMBER_PAIR = re.compile(r"(\d+(?:\.\d+)*)-(\d+(?:\.\d+)*)")
_PREFIX = re.compile(r"[A-Z]{1,6}")
_FILE_EXTENSION = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,7}$")
_NUMBER = re.compile(r"\d+(?:[-.]\d+)*[a-z]?")


@dataclass(frozen=True, slots=True)
class _Identifier:
    """One token: its own form, and others that together say the same."""

    canonical: str
    others: tuple[str, ...] = ()


def extract_identifiers(text: str) -> tuple[str, ...]:
    """Return every form of every identifier of a text, each once, in the order of the text."""
    return tuple(dict.fromkeys(form for found in _identifiers(text) for form in (found.canonical, *found.others)))


def name_identifiers(name: str) -> list[str]:
    """Return the identifiers of a document's name, without its file extension: `ASVS 3.0.pdf` is called 3.0."""
    return sorted(extract_identifiers(_FILE_EXTENSION.sub("", name)))


def missing_identifiers(claim: str, evidence: Iterable[str]) -> tuple[str, ...]:
    """Return the identifiers of a claim that stand nowhere in its evidence.

    Args:
        claim: The text to be supported.
        evidence: Quotes, and the question where its words may be repeated.

    Returns:
        Canonical forms, each once, in the order of the claim; empty when all are supported.
    """
    known = {form for text in evidence for form in extract_identifiers(text)}
    unknown = (found for found in _identifiers(claim) if not _stands(found, known))
    return tuple(dict.fromkeys(found.canonical for found in unknown))


def _stands(found: _Identifier, known: set[str]) -> bool:
    return found.canonical in known or (bool(found.others) and known.issuperset(found.others))


def _identifiers(text: str) -> Iterator[_Identifier]:
    folded = _THOUSANDS.sub(lambda match: match[0].replace(",", ""), _fold(text))
    previous, previous_end = "", -1
    for match in _TOKEN.finditer(folded):
        token = match[0]
        if len(token) <= _MAX_LENGTH and _DIGIT.search(token):
            adjacent = folded[previous_end : match.start()] == " "
            yield _identifier(token.casefold(), previous if adjacent else "")
        previous, previous_end = token, match.end()


def _fold(text: str) -> str:
    return _RANGE_DASH.sub(" ", unicodedata.normalize("NFKC", text)).translate(_DASHES)


def _identifier(token: str, previous: str) -> _Identifier:
    token = _DOTTED_VERSION.sub("", token, count=1) if token.startswith("v") else token
    if pair := _LETTERS_HYPHEN_DIGITS.fullmatch(token):
        return _Identifier(pair[1] + pair[2])
    if pair := _NUMBER_PAIR.fullmatch(token):
        return _Identifier(token, (pair[1], pair[2]))
    if _PREFIX.fullmatch(previous) and _NUMBER.fullmatch(token):
        return _Identifier(token, (previous.casefold() + token,))
    return _Identifier(token)
