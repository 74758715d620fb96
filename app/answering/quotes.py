"""Finds a quote in a passage, and the pages that it stands on."""

from collections.abc import Iterator
from dataclasses import dataclass

from app.answering.folding import Folded, fold
from app.retrieval.types import PageStart, Passage


@dataclass(frozen=True, slots=True)
class PageSpan:
    """A part of one page: offsets count in the text of that page."""

    page: int
    start: int
    end: int
    quote: str


def locate(quote: str, text: str) -> tuple[int, int] | None:
    """Return the offsets of a quote in a text, or None when it is not one contiguous run of whole words.

    Args:
        quote: Words as they were copied; white space, hyphenation and Unicode forms may differ.
        text: The text that they were copied from.
    """
    exact = text.find(quote) if quote.strip() == quote else -1
    if exact >= 0 and quote and _is_whole(text, exact, exact + len(quote)):
        return exact, exact + len(quote)
    source, wanted = fold(text), fold(quote).text
    return next(_runs(source, wanted, text), None) if wanted else None


def _runs(source: Folded, wanted: str, text: str) -> Iterator[tuple[int, int]]:
    at = source.text.find(wanted)
    while at >= 0:
        start, end = source.starts[at], source.ends[at + len(wanted) - 1]
        if _is_whole(text, start, end):
            yield start, end
        at = source.text.find(wanted, at + 1)


def _is_whole(text: str, start: int, end: int) -> bool:
    """Whether no word or number is cut: "1 million" does not stand in "21 million", nor "5" in "1.5"."""
    return not (_joins(text, start) or _joins(text, end))


def _joins(text: str, at: int) -> bool:
    if at <= 0 or at >= len(text):
        return False
    left, right = text[at - 1], text[at]
    if left.isalnum() and right.isalnum():
        return True
    before = left in ".,-\u2212" and right.isdigit() and at > 1 and (text[at - 2].isdigit() or left in "-\u2212")
    after = right in ".," and left.isdigit() and at + 1 < len(text) and text[at + 1].isdigit()
    return before or after


def split_by_page(passage: Passage, start: int, end: int) -> tuple[PageSpan, ...]:
    """Return the part of each page that a run of a passage covers, without white space at its ends.

    Args:
        passage: Where the run stands.
        start: Offset of the run in the passage's text.
        end: Offset after the run.
    """
    spans = (
        _on_page(passage, page, start, min(end, after) if after is not None else end) for page, after in _pages(passage)
    )
    return tuple(span for span in spans if span)


def _pages(passage: Passage) -> Iterator[tuple[PageStart, int | None]]:
    """Yield each page with the offset in the passage where the next one begins."""
    for page, following in zip(passage.pages, (*passage.pages[1:], None), strict=True):
        yield page, following.offset - passage.start if following else None


def _on_page(passage: Passage, page: PageStart, start: int, end: int) -> PageSpan | None:
    start = max(start, page.offset - passage.start)
    raw = passage.text[start:end] if start < end else ""
    quote = raw.strip()
    if not quote:
        return None
    begin = passage.start + start + raw.index(quote) - page.offset
    return PageSpan(page.number, begin, begin + len(quote), quote)
