"""Cuts what is stored and embedded into pieces of an even cost."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

from app.ingestion.parsing.types import ParsedPage
from app.ingestion.types import PendingChunk

_EMBEDDED_AT_ONCE = 32
"""Chunks that are embedded and stored together: 0.3 s of the local model on one core."""
_PAGES_AT_ONCE = 200
_CHARACTERS_AT_ONCE = 1_000_000
_Item = TypeVar("_Item")


def in_batches(items: Sequence[_Item], size: int) -> Iterator[Sequence[_Item]]:
    """Yield consecutive items, `size` at a time."""
    return (items[start : start + size] for start in range(0, len(items), size))


def batches_by_length(chunks: Sequence[PendingChunk]) -> Iterator[Sequence[PendingChunk]]:
    """Yield batches of chunks of like length: a model that pads a batch to its longest text does little in vain."""
    return in_batches(sorted(chunks, key=lambda chunk: len(chunk.text)), _EMBEDDED_AT_ONCE)


def page_batches(pages: Sequence[ParsedPage]) -> Iterator[tuple[int, Sequence[ParsedPage]]]:
    """Yield consecutive pages with the offset of the first one, at least one page and about a megabyte at a time."""
    start, offset, batch, size = 0, 0, list[ParsedPage](), 0
    for page in pages:
        if batch and (len(batch) == _PAGES_AT_ONCE or size + len(page.text) > _CHARACTERS_AT_ONCE):
            yield start, batch
            start, batch, size = offset, [], 0
        batch.append(page)
        size += len(page.text)
        offset += len(page.text)
    if batch:
        yield start, batch
