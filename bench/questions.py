"""Questions about generated documents, and strings that are made to break a parser of questions. Pure."""

import random
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bench.synthetic import DIMENSION, Floats, Library, Tenant, unit

_ASKING = ("what", "is", "the", "of", "which", "does", "in", "and", "how", "for")
_FEWEST, _MOST = 3, 10
_ASKING_SHARE, _OWN_SHARE, _IDENTIFIER_SHARE, _OFF_TOPIC_SHARE = 0.3, 0.7, 0.25, 0.2
_DISTANCE = 0.9
"""Of a question from its passage, before it is made a unit vector: their cosine is about 0.74."""

_LONG = 100_000
_LONG_EVERY = 100
_SIGN_SHARE, _SAME_SHARE = 0.7, 0.5
_PIECES = (
    "'", '"', "&", "|", "!", ":*", "<->", "(", ")", "\\", "\\'", "''", "$1", "$$", "%s", "%(a)s", ":name", "::text",
    "--", "/*", ";", "\x00", "\ud800", "\udfff", "\ufffe", "\u202e", "\u200d", "\ufeff", "\u0301", "\n", "\t", "{}",
    "NULL", "NaN", "a & !b", "O'Hara", "x:*ABCD", "'; DROP TABLE chunks; --", "the", "of", "is it", "T3410", "5.1.3",
    "v1.2.3.4", "1e309", "2019", "10-12", "0x1f", "http://a.b/c?d=e&f", "a@b.c", "<b>", "&amp;", "\U0001f642",
    "\U0001f1e9\U0001f1ea",
    "\u6a4b\u306f", "\uacc4\uc57d", "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35", "\u0645\u0631\u062d\u0628\u0627",
    "\u05e9\u05dc\u05d5\u05dd", "\u043c\u043e\u0441\u0442", "Stra\u00dfe", "\u0130", "bak", "dudek",
)  # fmt: skip
_RANGES = (
    (0x00, 0x7F), (0x80, 0x24F), (0x300, 0x36F), (0x370, 0x52F), (0x590, 0x6FF), (0x900, 0x97F), (0xE00, 0xE7F),
    (0x2000, 0x206F), (0x2190, 0x22FF), (0x3040, 0x30FF), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0xD800, 0xDFFF),
    (0xE000, 0xE0FF), (0xFB00, 0xFFFF), (0x1F300, 0x1F6FF), (0x20000, 0x2A6DF), (0xE0000, 0xE007F),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its vector.

    Attributes:
        text: Three to ten words.
        vector: A unit vector.
        off_topic: Whether it has nothing to do with any document.
    """

    text: str
    vector: Floats
    off_topic: bool


def questions(library: Library, tenant: Tenant, count: int, seed: int) -> Iterator[Question]:
    """Yield different questions, most of them about a passage of a tenant, in other words and near to its vector."""
    draw, seen = np.random.default_rng((seed, tenant.seed)), set[str]()
    while len(seen) < count:
        asked = _question(library, tenant, draw)
        if asked.text not in seen:
            seen.add(asked.text)
            yield asked


def _question(library: Library, tenant: Tenant, draw: np.random.Generator) -> Question:
    document = library.document(tenant, int(draw.integers(0, tenant.documents)))
    chunk, off_topic = int(draw.integers(0, len(document.lines))), bool(draw.random() < _OFF_TOPIC_SHARE)
    line = document.lines[chunk]
    words = []
    for _ in range(int(draw.integers(_FEWEST, _MOST, endpoint=True))):
        if draw.random() < _ASKING_SHARE:
            words.append(_ASKING[int(draw.integers(0, len(_ASKING)))])
        else:
            own = not off_topic and draw.random() < _OWN_SHARE
            token = draw.choice(line[1:]) if own else library.lexicon.words(draw, (1,), tenant.known_words)[0]
            words.append(library.lexicon.tokens[int(token)])
    if not off_topic and draw.random() < _IDENTIFIER_SHARE:
        words[-1] = library.lexicon.tokens[int(line[0])]
    noise = unit(draw.standard_normal(DIMENSION, dtype=np.float32))
    vector = noise if off_topic else unit(document.vectors[chunk] + _DISTANCE * noise)
    return Question(" ".join(words), vector, off_topic)


def fuzzed(count: int, seed: int) -> Iterator[str]:
    """Yield signs of query languages, all scripts, halves of characters, nothing at all, and 100 KB of one thing."""
    draw = random.Random(seed)  # noqa: S311 - text, not a secret
    for number in range(count):
        if number % _LONG_EVERY == _LONG_EVERY - 1:
            yield _long(draw)
        else:
            yield _short(draw)


def _short(draw: random.Random) -> str:
    return draw.choice(("", " ", " ")).join(_piece(draw) for _ in range(draw.randint(0, 12)))


def _piece(draw: random.Random) -> str:
    return draw.choice(_PIECES) if draw.random() < _SIGN_SHARE else _any_characters(draw, draw.randint(1, 12))


def _long(draw: random.Random) -> str:
    piece = draw.choice((*_PIECES, "", ""))
    if not piece:
        return _any_characters(draw, _LONG // 3)
    if draw.random() < _SAME_SHARE:
        return (piece + " ") * (_LONG // (len(piece.encode("utf-8", "replace")) + 1))
    return " ".join(f"{piece}{number}" for number in range(_LONG // (len(piece) + 6)))


def _any_characters(draw: random.Random, count: int) -> str:
    first, last = draw.choice(_RANGES)
    return "".join(chr(draw.randint(first, last)) for _ in range(count))
