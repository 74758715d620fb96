"""Packs the pieces of a text into chunks that are neither too long nor too short to be worth finding."""

import itertools
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from app.core.tokens import TokenCounter
from app.ingestion.cutting import FULL_TOKENS, MAX_CHARACTERS
from app.ingestion.headings import Path, path_text
from app.ingestion.structure import Block, Kind
from app.ingestion.tables import Table

MAX_TOKENS = 240
"""Most tokens of a chunk: the embedder reads 254."""
_ENOUGH_TOKENS = 80
"""From this size on a chunk ends where the next numbered clause or small section begins."""
_SMALL_TOKENS = 40
"""A section below this size joins the small ones before it; such a rest of a section, what stands before it."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A slice that is not cut further; `opens` where its block begins."""

    start: int
    end: int
    tokens: int
    block: Block
    opens: bool

    def begins(self, *kinds: Kind) -> bool:
        """Whether a block of one of these kinds begins here."""
        return self.opens and self.block.kind in kinds

    @property
    def leads(self) -> bool:
        """Whether it is a heading or the header of a table, which is worth little without what follows."""
        table = self.block.table
        return self.block.kind is Kind.HEADING or (table is not None and table.start == self.block.start)


@dataclass(slots=True)
class Draft:
    """A chunk that is being filled.

    Attributes:
        units: What it holds, in order.
        tokens: Those of its whole text.
        path: The headings that hold for all of it.
        least_path: How many of them hold for all small sections that may join it; None when it is no such section.
    """

    units: list[Unit]
    tokens: int
    path: Path
    least_path: int | None = None

    @property
    def start(self) -> int:
        """Offset of its first character."""
        return self.units[0].start

    @property
    def end(self) -> int:
        """Offset after its last one."""
        return self.units[-1].end

    @property
    def carried_table(self) -> Table | None:
        """The table that it goes on with, whose header stands in an earlier chunk."""
        table = self.units[0].block.table
        return table if table and table.start < self.start else None

    @property
    def heading(self) -> str:
        """The headings above it, outermost first, and the header of the table that it goes on with."""
        header = self.carried_table.header if self.carried_table else ""
        return " > ".join(filter(None, (path_text(self.path), header)))

    def takes_rows(self, units: list[Unit]) -> bool:
        """Whether its carried header, if any, is that of all rows among the units."""
        carried = self.carried_table
        if carried is None:
            return True
        tables = (unit.block.table for unit in units if unit.block.kind is Kind.ROW)
        return all(table is not None and table.start == carried.start for table in tables)

    def add(self, units: list[Unit], tokens: int, path: Path) -> None:
        """Let it go on; `tokens` and `path` are those of all of it then."""
        self.units.extend(units)
        self.tokens = tokens
        self.path = path


def pack(text: str, units: Iterator[Unit], count_tokens: TokenCounter) -> Iterator[Draft]:
    """Yield the drafts of a text's chunks, in order, each at most 240 tokens and 2,000 characters long."""
    return _Packer(text, count_tokens).pack(units)


class _Packer:
    def __init__(self, text: str, count_tokens: TokenCounter) -> None:
        self._text = text
        self._count = count_tokens

    def pack(self, units: Iterator[Unit]) -> Iterator[Draft]:
        """Only the last two drafts can change, so no more are kept."""
        drafts: list[Draft] = []
        for unit in units:
            tokens = self._tokens_of_both(drafts[-1], [unit], unit.tokens) if drafts else None
            if tokens is not None and _goes_on(drafts[-1], unit, tokens):
                drafts[-1].add([unit], tokens, unit.block.path)
                continue
            self._close(drafts, at_section_end=unit.begins(Kind.HEADING))
            if len(drafts) > 1:
                yield drafts.pop(0)
            drafts.append(Draft([unit], unit.tokens, unit.block.path))
        self._close(drafts, at_section_end=True)
        yield from drafts

    def _close(self, drafts: list[Draft], *, at_section_end: bool) -> None:
        """Let the last draft join the one before it, where it is too small to stand alone."""
        if not drafts:
            return
        last = drafts[-1]
        if at_section_end and last.tokens < _SMALL_TOKENS and last.units[0].begins(Kind.HEADING):
            last.least_path = len(last.path) - 1
        if len(drafts) == 1:
            return
        before = drafts[-2]
        path = _path_of_both(before, last)
        tokens = self._tokens_of_both(before, last.units, last.tokens)
        if path is not None and tokens is not None and tokens <= MAX_TOKENS and before.takes_rows(last.units):
            before.add(last.units, tokens, path)
            drafts.pop()

    def _tokens_of_both(self, draft: Draft, units: list[Unit], tokens: int) -> int | None:
        """Return the tokens of a draft with what follows it, None when that is too long in characters.

        Tokens add up over white space and punctuation; a word that was cut can have other ones as a whole.
        """
        start, end = units[0].start, units[-1].end
        if end - draft.start > MAX_CHARACTERS:
            return None
        if start > draft.end or unicodedata.category(self._text[start - 1]).startswith("P"):
            return draft.tokens + tokens
        return self._count(self._text[draft.start : end])


def _goes_on(draft: Draft, unit: Unit, tokens: int) -> bool:
    """Whether a unit belongs into the chunk that is being filled, which would have so many tokens with it."""
    last = draft.units[-1]
    if tokens > (MAX_TOKENS if last.leads else FULL_TOKENS) or not draft.takes_rows([unit]):
        return False
    if draft.carried_table and unit.block.kind is not Kind.ROW and draft.tokens >= _SMALL_TOKENS:
        return False  # the header beside the chunk is not that of the words below the table
    if unit.begins(Kind.HEADING):
        return last.block.kind is Kind.HEADING  # headings without text between them lead the same chunk
    return not (unit.begins(Kind.CLAUSE) and draft.tokens >= _ENOUGH_TOKENS)


def _path_of_both(before: Draft, last: Draft) -> Path | None:
    """Return the headings that hold for both drafts; None when the last one has to stand alone.

    A small rest of a section joins it, unless a clause begins it. A small section joins small ones before it: its
    siblings, or its parent when that holds little else.
    """
    if not last.units[0].begins(Kind.HEADING, Kind.CLAUSE):
        return before.path if last.tokens < _SMALL_TOKENS else None
    if before.least_path is None or last.least_path is None or before.tokens >= _ENOUGH_TOKENS:
        return None
    pairs = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(before.path, last.path, strict=False))
    common = tuple(title for title, _ in pairs)
    return common if len(common) >= before.least_path else None
