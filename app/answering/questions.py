"""What a question asks for: its parts, its identifiers, and the kind of answer that fits. Pure."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from app.answering.words import content_stems
from app.core.identifiers import extract_identifiers, missing_identifiers

MAX_PARTS = 3

_ASKING = r"(?:who|whom|whose|what|when|where|why|how|which|does|do|did|is|are|was|were|can|could|should)"
_JOINED = re.compile(rf",?\s+and\s+(?={_ASKING}\b)", re.IGNORECASE)
_STARTS_ASKING = re.compile(rf"\W*(?:\w+\s+){{0,3}}?{_ASKING}\b", re.IGNORECASE)
_ENDS = re.compile(r"(?<=\?)\s+")
_REFERS_BACK = re.compile(r"\b(?:he|she|it|they|him|them|his|hers?|its|their|this|that|these|those)\b", re.IGNORECASE)
_FILE_EXTENSION = re.compile(r"\.[a-z][a-z0-9]{0,4}$", re.IGNORECASE)
_COUNT = re.compile(r"\d{1,2}|\d+(?:st|nd|rd|th)")
_COMPARES = re.compile(r"\b(?:between|compare\w*|differ\w*|versus|vs|from)\b", re.IGNORECASE)
_LISTED = re.compile(r",?\s+and\s+|,\s+", re.IGNORECASE)


class AnswerKind(StrEnum):
    """What an answer must hold to be one."""

    PERSON = "person"
    TIME = "time"
    NUMBER = "number"
    PLACE = "place"
    REASON = "reason"
    OTHER = "other"


_KINDS = (
    (AnswerKind.NUMBER, re.compile(r"\bhow (?:many|much|long|old|far|tall|high|deep|large|big|often|fast)\b|percent")),
    (AnswerKind.TIME, re.compile(r"\bwhen\b|\b(?:what|which) (?:year|date|day|month|century|decade|time)\b")),
    (AnswerKind.PERSON, re.compile(r"\bwho(?:m|se)?\b")),
    (AnswerKind.PLACE, re.compile(r"\bwhere\b|\b(?:what|which) (?:city|country|state|place|region|town)\b")),
    (AnswerKind.REASON, re.compile(r"\bwhy\b|\bwhat (?:caused|causes)\b|\breasons?\b")),
)


@dataclass(frozen=True, slots=True)
class Question:
    """One question that is answered by itself.

    Attributes:
        stems: Stems of its content words.
        identifiers: Its exact tokens, normalised like those of the chunks.
    """

    text: str
    stems: frozenset[str]
    identifiers: frozenset[str]
    kind: AnswerKind


def read_question(text: str) -> Question:
    """Read one question."""
    low = text.lower()
    kind = next((kind for kind, cue in _KINDS if cue.search(low)), AnswerKind.OTHER)
    return Question(text, content_stems(text), frozenset(extract_identifiers(text)), kind)


def name_identifiers(document_name: str) -> frozenset[str]:
    """Return the identifiers in the name of a document, without its file extension."""
    return frozenset(extract_identifiers(bare_name(document_name)))


def bare_name(document_name: str) -> str:
    """Return the name without its file extension."""
    return _FILE_EXTENSION.sub("", document_name)


def absent_identifiers(question: Question, evidence: Iterable[str]) -> tuple[str, ...]:
    """Return the identifiers of a question that stand nowhere in the evidence.

    Counts of one or two digits and ordinals are left out, since texts spell them in words as well.
    """
    absent = missing_identifiers(question.text, evidence)
    return tuple(identifier for identifier in absent if not _COUNT.fullmatch(identifier))


def split_parts(text: str) -> tuple[str, ...]:
    """Return the parts that are answered one by one; the whole text when it is one question.

    Split are sentences that end in a question mark, questions joined by "and", and lists of identifiers
    ("requirements 2.1 and 2.13").
    """
    sentences = [part.strip() for part in _ENDS.split(text) if part.strip()]
    if len(sentences) > 1:
        asked = [part for part in sentences if part.endswith("?")]
        return _bounded(asked, text) if len(asked) > 1 else (text,)
    joined = [part.strip() for part in _JOINED.split(text)]
    if len(joined) > 1 and _STARTS_ASKING.match(joined[0]) and all(map(_stands_alone, joined[1:])):
        return _bounded(joined, text)
    return _bounded(_by_identifier(text), text)


def _bounded(parts: list[str], text: str) -> tuple[str, ...]:
    return tuple(parts) if 1 < len(parts) <= MAX_PARTS else (text,)


def _stands_alone(part: str) -> bool:
    """Whether a part can be understood, and so searched, without the part before it."""
    return not _REFERS_BACK.search(part) and len(content_stems(part)) > 1


def _by_identifier(text: str) -> list[str]:
    """Return the question once for each of two numbers that it lists side by side, unless it compares them."""
    for match in _LISTED.finditer(text):
        left, right = text[: match.start()].rsplit(maxsplit=1), text[match.end() :].split(maxsplit=1)
        if len(left) > 1 and right and _is_listed(left[1]) and _is_listed(right[0].rstrip("?.,")):
            rest = f" {right[1]}" if len(right) > 1 else ""
            return [] if _COMPARES.search(text) else [f"{left[0]} {left[1]}{rest}", f"{left[0]} {right[0]}{rest}"]
    return []


def _is_listed(word: str) -> bool:
    """Whether a word is a clause number or a code; a year or a plain count is neither."""
    return bool(extract_identifiers(word)) and not word.isdigit()
