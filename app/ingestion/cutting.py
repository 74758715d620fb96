"""Cuts a block that is too long for one chunk: at cells, sentences, words, and only then inside a word."""

import itertools
import re
from collections.abc import Iterator

from app.core.sentences import iter_sentence_spans
from app.core.tokens import TokenCounter
from app.ingestion.structure import Block, Kind
from app.ingestion.tables import cell_spans

FULL_TOKENS = 215
"""About 160 words of English; a piece, and a chunk of several pieces, is not filled beyond it."""
MAX_CHARACTERS = 2_000
"""Most characters of a chunk: the tokeniser counts a word of over 100 characters as one token."""
_WORDS_AT_ONCE = 10
_PIECE_CHARACTERS = 960
_RULE_CHARACTERS = 40
"""The same for a line of signs, such as the one below a table's header: small enough to stand beside words."""
_WORD = re.compile(r"\S+")

_Span = tuple[int, int, int]
"""Start, end, tokens."""


def cut(text: str, block: Block, count_tokens: TokenCounter) -> Iterator[_Span]:
    """Yield a block as one span when it fits, else its parts, as large as they fit; with their tokens.

    The parts hold everything but the white space between them.
    """
    if whole := _fitting(text, block.start, block.end, count_tokens):
        yield whole
        return
    if block.kind is not Kind.ROW:
        yield from _cut_sentences(text, block.start, block.end, count_tokens)
        return
    for start, end in cell_spans(text, block.start, block.end):
        if cell := _fitting(text, start, end, count_tokens):
            yield cell
        else:
            yield from _cut_sentences(text, start, end, count_tokens)


def _cut_sentences(text: str, start: int, end: int, count_tokens: TokenCounter) -> Iterator[_Span]:
    for first, last in iter_sentence_spans(text[start:end]):
        if sentence := _fitting(text, start + first, start + last, count_tokens):
            yield sentence
        else:
            yield from _cut_words(text, start + first, start + last, count_tokens)


def _fitting(text: str, start: int, end: int, count_tokens: TokenCounter) -> _Span | None:
    if end - start > MAX_CHARACTERS:
        return None
    tokens = count_tokens(text[start:end])
    return (start, end, tokens) if tokens <= FULL_TOKENS else None


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
    has_words = any(character.isalnum() for character in text[start:end])
    size = _PIECE_CHARACTERS if has_words else _RULE_CHARACTERS
    while start < end:
        stop = min(start + size, end)
        piece = _fitting(text, start, stop, count_tokens)
        if not piece and stop - start > 1:
            size = (stop - start) // 2
            continue
        yield piece or (start, stop, FULL_TOKENS)
        start = stop
