"""Reads PDF files: words and places from pdfium, and from pypdf where pdfium gives nothing readable."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from app.ingestion.parsing import pdf_library as pdfium
from app.ingestion.parsing.canonical import vocabulary
from app.ingestion.parsing.furniture import find_furniture
from app.ingestion.parsing.pdf_aligned_tables import aligned_tables
from app.ingestion.parsing.pdf_headings import Heading, find_headings
from app.ingestion.parsing.pdf_layout import pieces_of, reading_order
from app.ingestion.parsing.pdf_outline import OutlineEntry, read_labels, read_outline
from app.ingestion.parsing.pdf_pages import (
    CanonicalPage,
    DraftPage,
    LineKind,
    canonical_page,
    placed_page,
    plain_page,
)
from app.ingestion.parsing.pdf_ruled_tables import ruled_tables
from app.ingestion.parsing.pdf_words import page_text, read_words
from app.ingestion.parsing.quality import READABLE
from app.ingestion.parsing.types import (
    PARSER_VERSION,
    Mark,
    MarkKind,
    ParsedDocument,
    ParsedPage,
    ParseFailure,
    ParseLimits,
    ParseReason,
)
from app.ingestion.parsing.warnings import no_text_warnings, page_list

_LOCKED = frozenset({pdfium.ERR_PASSWORD, pdfium.ERR_SECURITY})
_SECOND_READING_SHARE = 0.3
"""Part of the time limit that pypdf may take: it is 10 times as slow, and a good page must not wait for a bad one."""
_TREE_SHARE = 0.05
"""Part of the time limit that the outline may take, and as much the page labels: a document can be read without."""
_MOST_BOX_BYTES = 64 * 1024 * 1024
"""Boxes of 4.8 million words. What is beyond is text without places, not a reason to refuse a document."""
_ROW_MARKS = {LineKind.ROW: MarkKind.ROW, LineKind.HEADER_ROW: MarkKind.HEADER_ROW}


def parse_pdf(data: bytes, limits: ParseLimits) -> ParsedDocument:
    """Return the canonical text of a PDF, with the places of its words, its headings and its tables' rows.

    Raises:
        ParseFailure: It has no usable text, or exceeds a limit.
    """
    drafts, outline = _drafts(data, limits)
    kept, furniture = _parted(drafts)
    found = find_headings(
        [[page.lines[index] for index in lines] for page, lines in zip(drafts, kept, strict=True)], outline
    )
    words = vocabulary(
        ["\n".join(page.lines[index].text for index in lines) for page, lines in zip(drafts, kept, strict=True)]
    )
    pages: list[ParsedPage] = []
    marks: list[Mark] = []
    offset = box_bytes = 0
    for number, (draft, lines, headings, aside) in enumerate(zip(drafts, kept, found, furniture, strict=True), start=1):
        page = canonical_page(draft, lines, words, {lines[heading.last] for heading in headings})
        box_bytes += len(page.boxes)
        boxes = page.boxes if box_bytes <= _MOST_BOX_BYTES else b""
        label = draft.label or str(number)
        pages.append(ParsedPage(number, label, page.text, aside, bool(page.text), draft.width, draft.height, boxes))
        marks.extend(_marks(page, [draft.lines[index].kind for index in lines], headings, offset))
        offset += len(page.text)
    return ParsedDocument(tuple(pages), _judge(pages, drafts), PARSER_VERSION, tuple(marks))


def _drafts(data: bytes, limits: ParseLimits) -> tuple[list[DraftPage], list[OutlineEntry]]:
    document = pdfium.open_document(data)
    try:
        count = pdfium.count_pages(document)
        if count < 1:
            if pdfium.last_error() in _LOCKED:
                raise ParseFailure(ParseReason.ENCRYPTED)
            return _read_with_pypdf(data, limits), []
        if count > limits.max_pages:
            raise ParseFailure(ParseReason.TOO_MANY_PAGES)
        labels = read_labels(document, count, limits.seconds * _TREE_SHARE)
        pages = (_read_page(document, index, label) for index, label in enumerate(labels))
        drafts = list(_bounded(pages, limits))
        outline = read_outline(document, limits.seconds * _TREE_SHARE)
    finally:
        pdfium.close_document(document)
    return _read_again(data, drafts, limits), outline


def _read_page(document: Any, index: int, label: str) -> DraftPage:
    """Return a page; one without lines when it is damaged, which is reported as a page without text."""
    page = pdfium.load_page(document, index)
    if not page:
        return plain_page(label, "")
    textpage = pdfium.load_text(page)
    try:
        return _draft(page, textpage, label) if textpage else plain_page(label, "")
    finally:
        pdfium.close_text(textpage)
        pdfium.close_page(page)


def _draft(page: Any, textpage: Any, label: str) -> DraftPage:
    found = read_words(page, textpage)
    if found is None:
        return plain_page(label, page_text(textpage).replace("\ufffe", "-\n"))
    lines, ruled = ruled_tables(found.lines, found.rules)
    pieces, aligned = aligned_tables(pieces_of(lines), len(ruled))
    tables = [*ruled, *aligned]
    places = sorted([*pieces, *(table.place for table in tables)], key=lambda piece: (piece.line, piece.word))
    return placed_page(label, found, reading_order(places), tables)


def _bounded(pages: Iterator[DraftPage], limits: ParseLimits) -> Iterator[DraftPage]:
    total = 0
    for page in pages:
        total += sum(len(line.text) + 1 for line in page.lines)
        if total > limits.max_characters:
            raise ParseFailure(ParseReason.TOO_MANY_CHARACTERS)
        yield page


def _read_again(data: bytes, pages: list[DraftPage], limits: ParseLimits) -> list[DraftPage]:
    """Read the unreadable pages with pypdf too, within a share of the time, and keep the better text."""
    poor = [index for index, page in enumerate(pages) if page.quality < READABLE]
    if not poor:
        return pages
    from app.ingestion.parsing.pypdf_text import OutOfTime, PypdfText, time_share  # noqa: PLC0415 (200 ms, seldom)

    # What pypdf cannot do in its time or with the memory left, stays as pdfium read it.
    with suppress(OutOfTime, MemoryError), time_share(limits.seconds * _SECOND_READING_SHARE):
        if (second := PypdfText.open(data)) is None:
            return pages
        for index in poor:
            page = plain_page(pages[index].label, second.page_text(index))
            if page.lines and page.quality > pages[index].quality:
                pages[index] = page
    return pages


def _read_with_pypdf(data: bytes, limits: ParseLimits) -> list[DraftPage]:
    from app.ingestion.parsing.pypdf_text import PypdfText  # noqa: PLC0415 (200 ms, seldom)

    document = PypdfText.open(data)
    if document is None:
        raise ParseFailure(ParseReason.CORRUPT)
    count = document.page_count()
    if count > limits.max_pages:
        raise ParseFailure(ParseReason.TOO_MANY_PAGES)
    return list(_bounded((plain_page("", document.page_text(index)) for index in range(count)), limits))


def _parted(pages: Sequence[DraftPage]) -> tuple[list[list[int]], list[tuple[str, ...]]]:
    """Return the positions of the lines that stay on each page, and the furniture.

    A table stays or goes as a whole: the header that it repeats on each page belongs to its rows.
    """
    orders = [page.from_top() for page in pages]
    found = find_furniture(
        [[page.lines[index].text for index in order] for page, order in zip(pages, orders, strict=True)]
    )
    kept: list[list[int]] = []
    furniture: list[tuple[str, ...]] = []
    for page, order, positions in zip(pages, orders, found, strict=True):
        gone = {order[position] for position in positions}
        tables = {line.table for index, line in enumerate(page.lines) if line.table >= 0 and index not in gone}
        aside = [index for index in order if index in gone and page.lines[index].table not in tables]
        kept.append([index for index in range(len(page.lines)) if index not in set(aside)])
        furniture.append(tuple(page.lines[index].text for index in aside))
    return kept, furniture


def _marks(page: CanonicalPage, kinds: Sequence[LineKind], headings: Sequence[Heading], offset: int) -> list[Mark]:
    if not page.text:
        return []
    marks = [
        Mark(offset + span.start, offset + span.end, _ROW_MARKS[kind])
        for span, kind in zip(page.lines, kinds, strict=True)
        if kind in _ROW_MARKS
    ]
    marks += [
        Mark(
            offset + page.lines[heading.first].start,
            offset + page.lines[heading.last].end,
            MarkKind.HEADING,
            heading.level,
        )
        for heading in headings
    ]
    return sorted(marks, key=lambda mark: mark.start)


def _judge(pages: Sequence[ParsedPage], drafts: Sequence[DraftPage]) -> tuple[str, ...]:
    """Refuse a document that is empty or mostly unreadable; else warn of its pages that are."""
    readable = [page for page in pages if page.has_text]
    if not readable:
        raise ParseFailure(ParseReason.NO_TEXT)
    poor = [page for page in readable if drafts[page.number - 1].quality < READABLE]
    if sum(len(page.text) for page in poor) * 2 > sum(len(page.text) for page in readable):
        raise ParseFailure(ParseReason.LOW_TEXT_QUALITY)
    warnings = no_text_warnings(pages)
    if poor:
        warnings += (f"The text of {page_list([page.number for page in poor])} is hardly readable.",)
    return warnings
