"""Cuts canonical text into chunks that follow its structure and fit the embedder.

Every chunk is a slice: `version_text[chunk.start:chunk.end] == chunk.text`. Only white space is left out
between chunks. A chunk begins at a heading and never goes over one; a numbered clause, a list item and a
table row stay whole when they fit; longer blocks are cut at sentences, and only then at words.
"""

import bisect
import itertools
import math
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from app.core.sentences import iter_sentence_spans
from app.core.tokens import TokenCounter
from app.ingestion.parsing.types import ParsedPage, ParseFailure, ParseReason
from app.ingestion.structure import Block, Kind, find_blocks

CHUNKER_VERSION = "1"
"""Part of every chunk id. Raise it when the same text would be cut otherwise."""

MAX_TOKENS = 240
"""Most tokens of a chunk: the embedder reads 254."""
_FULL_TOKENS = 215
"""About 160 words of English; a chunk is not filled beyond it."""
_CLAUSE_TOKENS = 80
"""From this size on a chunk ends where the next numbered clause begins."""
_SMALL_TOKENS = 40
"""A rest of a section below this size joins the chunk before it."""
MAX_CHARACTERS = 2_000
"""Most characters of a chunk: the tokeniser counts a word of over 100 characters as one token."""
_WORDS_AT_ONCE = 10
_PIECE_CHARACTERS = 960
_WORD = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage as it is stored, found and cited.

    Attributes:
        ordinal: Position in the version, from 0.
        start: Offset of its first character in the version's text.
        end: Offset after its last one.
        text: The slice itself.
        heading: The headings above it, outermost first.
        page_start: Number of the page that it begins on.
        page_end: Number of the page that it ends on.
        token_count: Its tokens by the counter it was cut with.
    """

    ordinal: int
    start: int
    end: int
    text: str
    heading: str
    page_start: int
    page_end: int
    token_count: int


@dataclass(frozen=True, slots=True)
class _Unit:
    """A slice that is not cut further; `opens` where its block begins."""

    start: int
    end: int
    tokens: int
    block: Block
    opens: bool


@dataclass(slots=True)
class _Draft:
    """A chunk that is being filled."""

    units: list[_Unit]
    tokens: int
    only_headings: bool

    def has_room(self, end: int, tokens: int, most: int) -> bool:
        return self.tokens + tokens <= most and end - self.units[0].start <= MAX_CHARACTERS

    def add(self, units: Sequence[_Unit]) -> None:
        self.units.extend(units)
        self.only_headings &= all(unit.block.kind is Kind.HEADING for unit in units)
        self.tokens += sum(unit.tokens for unit in units)


def chunk(pages: Sequence[ParsedPage], count_tokens: TokenCounter, *, seconds: float = math.inf) -> tuple[Chunk, ...]:
    """Cut a version into chunks, in order.

    Args:
        pages: Its pages; their texts joined are the version's text.
        count_tokens: Counts the embedder's tokens.
        seconds: Wall clock that it may take: a thread cannot be stopped from outside.

    Raises:
        ParseFailure: It took longer (`parse_timeout`).
    """
    check = _time_check(seconds)

    def count_in_time(piece: str) -> int:
        check()
        return count_tokens(piece)

    text = "".join(page.text for page in pages)
    starts = [0, *itertools.accumulate(len(page.text) for page in pages)][:-1]
    drafts = _pack(_units(text, count_in_time, check))
    return tuple(_chunk(text, ordinal, draft, pages, starts) for ordinal, draft in enumerate(drafts))


def _time_check(seconds: float) -> Callable[[], None]:
    """Return what raises once the time is over. It is asked for each line and each piece that is counted."""
    deadline = time.monotonic() + seconds

    def check() -> None:
        if time.monotonic() > deadline:
            raise ParseFailure(ParseReason.PARSE_TIMEOUT)

    return check


def _chunk(text: str, ordinal: int, draft: _Draft, pages: Sequence[ParsedPage], starts: list[int]) -> Chunk:
    start, end = draft.units[0].start, draft.units[-1].end
    first, last = (pages[bisect.bisect_right(starts, offset) - 1].number for offset in (start, end - 1))
    heading = draft.units[-1].block.heading
    return Chunk(ordinal, start, end, text[start:end], heading, first, last, draft.tokens)


def _pack(units: Iterator[_Unit]) -> Iterator[_Draft]:
    """Yield the chunks' drafts; only the last two can change, so no more are kept."""
    drafts: list[_Draft] = []
    for unit in units:
        if drafts and _goes_on(drafts[-1], unit):
            drafts[-1].add([unit])
            continue
        _join_small_rest(drafts)
        if len(drafts) > 1:
            yield drafts.pop(0)
        drafts.append(_Draft([unit], unit.tokens, unit.block.kind is Kind.HEADING))
    _join_small_rest(drafts)
    yield from drafts


def _goes_on(draft: _Draft, unit: _Unit) -> bool:
    """Whether a unit belongs into the chunk that is being filled."""
    if not draft.has_room(unit.end, unit.tokens, _FULL_TOKENS):
        return False
    if unit.opens and unit.block.kind is Kind.HEADING:
        return draft.only_headings  # headings without text between them lead the same chunk
    return not (unit.opens and unit.block.kind is Kind.CLAUSE and draft.tokens >= _CLAUSE_TOKENS)


def _join_small_rest(drafts: list[_Draft]) -> None:
    """Let a small last chunk join the one before it, when both are of one section and no clause begins it."""
    if len(drafts) < 2:  # noqa: PLR2004 (there is nothing to join)
        return
    before, rest = drafts[-2:]
    begins = rest.units[0]
    apart = begins.opens and begins.block.kind in (Kind.HEADING, Kind.CLAUSE)
    if rest.tokens < _SMALL_TOKENS and not apart and before.has_room(rest.units[-1].end, rest.tokens, MAX_TOKENS):
        before.add(rest.units)
        drafts.pop()


def _units(text: str, count_tokens: TokenCounter, check: Callable[[], None]) -> Iterator[_Unit]:
    for block in find_blocks(text, check):
        spans = _cut(text, block.start, block.end, count_tokens)
        for position, (start, end, tokens) in enumerate(spans):
            yield _Unit(start, end, tokens, block, opens=position == 0)


_Span = tuple[int, int, int]
"""Start, end, tokens."""


def _cut(text: str, start: int, end: int, count_tokens: TokenCounter) -> Iterator[_Span]:
    """Yield a block as one span when it fits, else its sentences, else groups of its words."""
    if whole := _fitting(text, start, end, count_tokens):
        yield whole
        return
    for first, last in iter_sentence_spans(text[start:end]):
        if sentence := _fitting(text, start + first, start + last, count_tokens):
            yield sentence
        else:
            yield from _cut_words(text, start + first, start + last, count_tokens)


def _fitting(text: str, start: int, end: int, count_tokens: TokenCounter) -> _Span | None:
    if end - start > MAX_CHARACTERS:
        return None
    tokens = count_tokens(text[start:end])
    return (start, end, tokens) if tokens <= _FULL_TOKENS else None


def _cut_words(text: str, start: int, end: int, count_tokens: TokenCounter) -> Iterator[_Span]:
    words = (match.span() for match in _WORD.finditer(text, start, end))
    while group := list(itertools.islice(words, _WORDS_AT_ONCE)):
        if together := _fitting(text, group[0][0], group[-1][1], count_tokens):
            yield together
            continue
        for first, last in group:
            yield from _cut_characters(text, first, last, count_tokens)


def _cut_characters(text: str, start: int, end: int, count_tokens: TokenCounter) -> Iterator[_Span]:
    """Yield pieces of a word that fit: a script without spaces, or data in one line."""
    size = _PIECE_CHARACTERS
    while start < end:
        stop = min(start + size, end)
        piece = _fitting(text, start, stop, count_tokens)
        if not piece and stop - start > 1:
            size = (stop - start) // 2
            continue
        yield piece or (start, stop, _FULL_TOKENS)
        start = stop
