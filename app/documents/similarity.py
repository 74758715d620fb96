"""Whether two names look like one document: a copy, a dated or a revised one. A hint for people, never a decision.

A plain number is part of a name, so that `chapter-1.pdf` and `chapter-2.pdf` are two documents. So are the members of
a series, whose dates or counters differ, unless they are of the same size.
"""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

_EXTENSION = re.compile(r"\.([^\W\d_][^\W_]{0,7})$")
_FAMILIES: Mapping[str, str] = {
    "doc": "docx", "odt": "docx", "rtf": "docx",
    "htm": "html", "xhtml": "html",
    "md": "txt", "markdown": "txt", "text": "txt",
    "tsv": "csv",
}  # fmt: skip
_COPY = r"(?:copy|kopie|copie|copia|cópia|kopia|копия|副本|コピー)"
_OF = r"(?:of|von|van|de|di|do)"
_DATE = r"(?P<date>(?:19|20)\d\d([-_. ]?)(?:0[1-9]|1[0-2])\2(?:0[1-9]|[12]\d|3[01])|\d\d\.\d\d\.(?:19|20)\d\d)"
_GAP = r"[\s_.,-]"
_LONG_GAP = re.compile(rf"{_GAP}{{4,}}")
_MOST_MARKS = 8
# Each stands at the end of a name, after something else.
_LAST = tuple(
    re.compile(pattern)
    for pattern in (
        rf"{_GAP}*[(\[](?P<counter>\d{{1,3}})[)\]]$",
        r"\s+-\s+(?P<counter>\d{1,3})$",
        rf"{_GAP}+[(\[]?{_COPY}(?:{_GAP}*(?P<counter>\d{{1,3}}))?[)\]]?$",
        rf"{_GAP}+[(\[]?(?:final|draft|latest|updated)[)\]]?$",
        rf"{_GAP}+[(\[]?(?:v|ver|version|rev|revision){_GAP}*\d{{1,3}}(?:\.\d{{1,3}}){{0,3}}[)\]]?$",
        rf"{_GAP}+[(\[]?{_DATE}[)\]]?$",
    )
)
# Each stands at the beginning, before something else.
_FIRST = (
    re.compile(rf"^{_COPY}\s*(?:\((?P<counter>\d{{1,3}})\)\s*)?{_OF}\s+(?=.)"),
    re.compile(rf"^[(\[]?{_DATE}[)\]]?{_GAP}+(?=.)"),
)


class _Serial(StrEnum):
    """What tells the members of a series from each other."""

    COUNTER = "counter"
    DATE = "date"


@dataclass(frozen=True, slots=True)
class Likeness:
    """What is compared of a name.

    Attributes:
        stem: The name without case, punctuation, extension and marks of copies and revisions.
        family: The extension, one for those of the same kind.
        serials: The counters and dates that were taken off, by kind.
    """

    stem: str
    family: str
    serials: frozenset[tuple[str, str]]


@lru_cache(maxsize=4_096)  # the files of a folder are compared with each other
def likeness_of(name: str) -> Likeness:
    """Return what is compared of a document's name, at most 255 characters long."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold()).strip()
    extension = _EXTENSION.search(folded)
    rest = folded[: extension.start()] if extension else folded
    family = extension[1] if extension else ""
    stem, serials = _without_marks(rest)
    return Likeness(stem, _FAMILIES.get(family, family), frozenset(serials))


def look_alike(one: Likeness, other: Likeness, *, same_size: bool) -> bool:
    """Tell whether two names may be those of one document.

    Args:
        one: Of the first name.
        other: Of the second name.
        same_size: Whether both files have the same number of bytes.
    """
    if not one.stem or (one.stem, one.family) != (other.stem, other.family):
        return False
    return same_size or not _are_a_series(one, other)


def _are_a_series(one: Likeness, other: Likeness) -> bool:
    mine, theirs = dict(one.serials), dict(other.serials)
    return any(kind in mine and kind in theirs and mine[kind] != theirs[kind] for kind in _Serial)


def _without_marks(name: str) -> tuple[str, set[tuple[str, str]]]:
    """Take marks off both ends as long as something is left; so many as no honest name has."""
    name, serials = _LONG_GAP.sub(" - ", name), dict[str, str]()
    for _ in range(_MOST_MARKS):
        if (found := _mark(name)) is None:
            break
        serials.update((kind, re.sub(r"\D", "", value)) for kind, value in found.groupdict().items() if value)
        name = name[found.end() :] if found.start() == 0 else name[: found.start()]
    return _letters(name), set(serials.items())


def _mark(name: str) -> re.Match[str] | None:
    """Return a mark of a copy or revision beside which the name holds letters or digits."""
    for pattern in _LAST:
        if (found := pattern.search(name)) and _letters(name[: found.start()]):
            return found
    for pattern in _FIRST:
        if (found := pattern.search(name)) and _letters(name[found.end() :]):
            return found
    return None


def _letters(text: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", text))
