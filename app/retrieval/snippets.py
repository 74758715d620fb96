"""The part of a passage that shows why it was found. Pure; linear in the lengths of both texts, for any script."""

import re
import unicodedata
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, replace

from app.core.identifiers import extract_identifiers

LONGEST = 300
"""Characters."""

# Scripts that put no spaces between words: compared by pairs of characters.
_UNSPACED_SET = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\uff66-\uff9f\U00020000-\U0003ffff"
)
_UNSPACED = re.compile(f"[{_UNSPACED_SET}]")
_RUN = re.compile(rf"[{_UNSPACED_SET}]+|[^\W{_UNSPACED_SET}]+")
# A token that may hold an identifier: "11.4.1", "T3410", "1,234,567", "2021-03-04".
_TOKEN = re.compile(r"\w+(?:(?:[-._:/]|,(?=\d{3}))\w+)*")
_DIGIT = re.compile(r"\d")
_IDENTIFIER_WEIGHT = 3.0
_INFLECTED_WEIGHT = 0.6
_NOTHING = 1e-9
"""Less than the weight of any term: what is left of sums and differences that should be equal."""
_STEM = 4
"""Words that begin with the same so many letters count as forms of one."""
_LONG_WORD = 8
"""From this length on a word weighs fully: short ones are mostly grammar."""


@dataclass(frozen=True, slots=True)
class Snippet:
    """A part of a text: `text[start:end]`."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Match:
    """Where a word or identifier of the question stands in the text; matches of one term weigh the same."""

    start: int
    end: int
    term: str
    weight: float


@dataclass(frozen=True, slots=True)
class Asked:
    """What is looked for: read from a question once, for all of its passages.

    Attributes:
        words: In their folded forms.
        stems: How the longer ones of them begin.
        identifiers: In all their forms.
    """

    words: frozenset[str]
    stems: frozenset[str]
    identifiers: frozenset[str]


def read_question(question: str) -> Asked:
    """Return the words and identifiers of a question."""
    words = frozenset(word for _, _, word in _terms(question))
    stems = frozenset(word[:_STEM] for word in words if len(word) >= _STEM)
    return Asked(words, stems, frozenset(extract_identifiers(question)))


def find_snippet(asked: Asked, text: str, longest: int = LONGEST) -> Snippet:
    """Return the part of a text around most of the question, cut at words.

    Identifiers count most; words count by their length, and less the more often the text repeats them. Without any
    match it is the beginning.

    Args:
        asked: Words and identifiers to look for.
        text: A passage.
        longest: Most characters of the result; at least 1.
    """
    if len(text) <= longest:
        return _trimmed(text, 0, len(text))
    beginning = len(text) - len(text.lstrip())
    start, end = _densest(_matches(asked, text), longest * 2 // 3) or (beginning, beginning)
    end = min(end, start + longest)
    spare = longest - (end - start)
    first = max(0, min(start - spare // 3, len(text) - longest))  # what follows tells more than what leads there
    return _cut(text, first, first + longest, start, end)


def _matches(asked: Asked, text: str) -> list[_Match]:
    """Return where what is asked stands, in the order of the text."""
    found: list[_Match] = []
    for start, end, word in _terms(text):
        if word in asked.words:
            found.append(_Match(start, end, word, min(1.0, len(word) / _LONG_WORD)))
        elif word[:_STEM] in asked.stems:
            found.append(_Match(start, end, f"{word[:_STEM]}*", _INFLECTED_WEIGHT))
    for token in _TOKEN.finditer(text) if asked.identifiers else ():
        if _DIGIT.search(token[0]):
            forms = asked.identifiers.intersection(extract_identifiers(token[0]))
            found += [_Match(token.start(), token.end(), f"#{form}", _IDENTIFIER_WEIGHT) for form in sorted(forms)]
    often = Counter(match.term for match in found)
    found.sort(key=lambda match: match.start)
    return [replace(match, weight=match.weight / often[match.term]) for match in found]


def _terms(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and folded form of each word; of a run without spaces, those of each pair of characters."""
    for run in _RUN.finditer(text):
        start, end = run.span()
        if _UNSPACED.match(run[0]) and end - start > 1:
            yield from ((at, at + 2, text[at : at + 2]) for at in range(start, end - 1))
        else:
            yield start, end, run[0].casefold()


def _densest(matches: list[_Match], longest: int) -> tuple[int, int] | None:
    """Return the span of at most that many characters, or of one match, whose different terms weigh most, if any."""
    best, best_weight = None, 0.0
    window: deque[_Match] = deque()
    counts: Counter[str] = Counter()
    weight = 0.0
    for match in matches:
        window.append(match)
        counts[match.term] += 1
        weight += match.weight if counts[match.term] == 1 else 0.0
        while window[0] is not match and (counts[window[0].term] > 1 or match.end - window[0].start > longest):
            gone = window.popleft()
            counts[gone.term] -= 1
            weight -= 0.0 if counts[gone.term] else gone.weight
        if weight > best_weight + _NOTHING:
            best, best_weight = (window[0].start, match.end), weight
    return best


def _cut(text: str, first: int, last: int, start: int, end: int) -> Snippet:
    """Move the ends of a span inwards to where no word is cut, but never into what it is about."""
    if _cuts(text, first):
        first = next((at for at in range(first + 1, start) if not _cuts(text, at)), start)
    if _cuts(text, last):
        whole = (at for at in range(last - 1, max(end, first), -1) if not _cuts(text, at))
        last = next(whole, end if end > start else last)
    while last > max(first, start) + 1 and _goes_on(text, last):
        last -= 1  # inside of one that is longer than the whole
    return _trimmed(text, first, last)


def _cuts(text: str, at: int) -> bool:
    """Whether a word goes on over an offset."""
    if not 0 < at < len(text) or text[at - 1].isspace() or text[at].isspace():
        return False
    return _goes_on(text, at) or not (_UNSPACED.match(text[at - 1]) or _UNSPACED.match(text[at]))


def _goes_on(text: str, at: int) -> bool:
    """Whether a sign over an offset belongs to the character before it."""
    return at < len(text) and unicodedata.category(text[at]).startswith("M")


def _trimmed(text: str, start: int, end: int) -> Snippet:
    part = text[start:end]
    stripped = part.strip()
    begin = start + (len(part) - len(part.lstrip()) if stripped else 0)
    return Snippet(begin, begin + len(stripped))
