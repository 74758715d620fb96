"""Cuts canonical text into chunks that follow its structure and fit the embedder.

Every chunk is a slice: `version_text[chunk.start:chunk.end] == chunk.text`. Only white space is left out
between chunks. A chunk begins at a heading and never goes over one, unless it holds several sections of a few
words; a numbered clause, a list item and a table row stay whole when they fit; longer blocks are cut at cells or
sentences, and only then at words. A chunk that goes on with a table has the table's header in its heading.
"""

import bisect
import itertools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from app.core.tokens import TokenCounter
from app.ingestion.cutting import cut
from app.ingestion.packing import Draft, Unit, pack
from app.ingestion.parsing.types import ParsedDocument, ParsedPage, ParseFailure, ParseReason
from app.ingestion.structure import Block, Guess, find_blocks

CHUNKER_VERSION = "2"
"""Part of every chunk id. Raise it when the same text would be cut otherwise."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage as it is stored, found and cited.

    Attributes:
        ordinal: Position in the version, from 0.
        start: Offset of its first character in the version's text.
        end: Offset after its last one.
        text: The slice itself.
        heading: The headings above it, outermost first, such as "3 Timers > 3.1 T3410"; then the header of the
            table that it goes on with, such as "Timer | Value | Stop", when that stands in an earlier chunk.
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


def chunk(
    document: ParsedDocument, count_tokens: TokenCounter, *, seconds: float = math.inf, max_passages: int = 50_000
) -> tuple[Chunk, ...]:
    """Cut a version into chunks, in order.

    Args:
        document: What the parser made of it.
        count_tokens: Counts the embedder's tokens.
        seconds: Processor time that it may take: a thread cannot be stopped from outside.
        max_passages: The most chunks that it may have.

    Raises:
        ParseFailure: It took longer (`parse_timeout`), or has more (`too_many_passages`).
    """
    check = _time_check(seconds)

    def count_in_time(piece: str) -> int:
        check()
        return count_tokens(piece)

    text = "".join(page.text for page in document.pages)
    starts = [0, *itertools.accumulate(len(page.text) for page in document.pages)][:-1]
    blocks = find_blocks(text, check, marks=document.marks, guess=_guess(document))
    chunks: list[Chunk] = []
    for ordinal, draft in enumerate(pack(text, _units(text, blocks, count_in_time), count_in_time)):
        if ordinal == max_passages:
            raise ParseFailure(ParseReason.TOO_MANY_PASSAGES)
        chunks.append(_chunk(text, ordinal, draft, document.pages, starts))
    return tuple(chunks)


def _guess(document: ParsedDocument) -> Guess:
    if document.all_headings_marked:
        return Guess.NONE
    return Guess.MARKDOWN if all(page.width is None for page in document.pages) else Guess.PLAIN


def _time_check(seconds: float) -> Callable[[], None]:
    """Return what raises once the time is over. It is asked for each line and each piece that is counted."""
    deadline = time.thread_time() + seconds

    def check() -> None:
        if time.thread_time() > deadline:
            raise ParseFailure(ParseReason.PARSE_TIMEOUT)

    return check


def _units(text: str, blocks: Iterator[Block], count_tokens: TokenCounter) -> Iterator[Unit]:
    for block in blocks:
        for position, (start, end, tokens) in enumerate(cut(text, block, count_tokens)):
            yield Unit(start, end, tokens, block, opens=position == 0)


def _chunk(text: str, ordinal: int, draft: Draft, pages: Sequence[ParsedPage], starts: list[int]) -> Chunk:
    start, end = draft.start, draft.end
    first, last = (pages[bisect.bisect_right(starts, offset) - 1].number for offset in (start, end - 1))
    return Chunk(ordinal, start, end, text[start:end], draft.heading, first, last, draft.tokens)
