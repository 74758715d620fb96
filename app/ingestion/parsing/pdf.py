"""Reads PDF files: text from pdfium, and from pypdf for pages that pdfium gives no readable text of."""

import time
from collections.abc import Iterator
from dataclasses import dataclass

import pypdfium2
from pypdfium2 import raw

from app.ingestion.parsing.canonical import clean, is_visible, join_broken_words, tidy, vocabulary
from app.ingestion.parsing.furniture import take_out_furniture
from app.ingestion.parsing.quality import READABLE, quality
from app.ingestion.parsing.types import (
    PARSER_VERSION,
    ParsedDocument,
    ParsedPage,
    ParseFailure,
    ParseLimits,
    ParseReason,
)
from app.ingestion.parsing.warnings import no_text_warnings, page_list

_LOCKED = frozenset({raw.FPDF_ERR_PASSWORD, raw.FPDF_ERR_SECURITY})
_LINE_END_HYPHEN = "\ufffe"
"""What pdfium gives for a hyphen at a line end, in place of the hyphen and the newline."""
_SECOND_READING_SHARE = 0.3
"""Part of the time limit that pypdf may take: it is 10 times as slow, and a good page must not wait for a bad one."""


@dataclass(frozen=True, slots=True)
class _RawPage:
    label: str
    text: str


def parse_pdf(data: bytes, limits: ParseLimits) -> ParsedDocument:
    """Return the canonical text of a PDF.

    Raises:
        ParseFailure: It has no usable text, or exceeds a limit.
    """
    try:
        raw_pages = _read(data, limits)
    except pypdfium2.PdfiumError as error:
        if getattr(error, "err_code", None) in _LOCKED:
            raise ParseFailure(ParseReason.ENCRYPTED) from error
        raw_pages = _read_with_pypdf(data, limits)
    pages = _canonical([page.text for page in raw_pages])
    parsed = tuple(
        ParsedPage(number, page.label or str(number), text, furniture, has_text=is_visible(text))
        for number, (page, (text, furniture)) in enumerate(zip(raw_pages, pages, strict=True), start=1)
    )
    return ParsedDocument(parsed, _judge(parsed), PARSER_VERSION)


def _read(data: bytes, limits: ParseLimits) -> list[_RawPage]:
    document = pypdfium2.PdfDocument(data)
    try:
        count = len(document)
        if count > limits.max_pages:
            raise ParseFailure(ParseReason.TOO_MANY_PAGES)
        pages = list(_bounded((_read_page(document, index) for index in range(count)), limits))
    finally:
        document.close()
    return _read_again(data, pages, limits)


def _read_page(document: pypdfium2.PdfDocument, index: int) -> _RawPage:
    label = clean(document.get_page_label(index)).strip()[:32]
    try:
        page = document[index]
        textpage = page.get_textpage()
    except pypdfium2.PdfiumError:
        return _RawPage(label, "")  # reported as a page without text
    try:
        return _RawPage(label, _plain(textpage.get_text_range()))
    finally:
        textpage.close()
        page.close()


def _plain(extracted: str) -> str:
    """Some producers set a tab for each space between words; a page has no tab stops that mean anything."""
    return clean(extracted.replace(_LINE_END_HYPHEN, "-\n").replace("\t", " "))


def _bounded(pages: Iterator[_RawPage], limits: ParseLimits) -> Iterator[_RawPage]:
    total = 0
    for page in pages:
        total += len(page.text)
        if total > limits.max_characters:
            raise ParseFailure(ParseReason.TOO_MANY_CHARACTERS)
        yield page


def _read_again(data: bytes, pages: list[_RawPage], limits: ParseLimits) -> list[_RawPage]:
    """Read the unreadable pages with pypdf too, within a share of the time, and keep the better text."""
    poor = [index for index, page in enumerate(pages) if quality(page.text) < READABLE]
    if not poor:
        return pages
    from app.ingestion.parsing.pypdf_text import PypdfText  # noqa: PLC0415 (350 ms that few files need)

    second = PypdfText.open(data)
    deadline = time.monotonic() + limits.seconds * _SECOND_READING_SHARE
    for index in poor:
        if second is None or time.monotonic() > deadline:
            break
        text = _plain(second.page_text(index))
        if text.strip() and quality(text) > quality(pages[index].text):
            pages[index] = _RawPage(pages[index].label, text)
    return pages


def _read_with_pypdf(data: bytes, limits: ParseLimits) -> list[_RawPage]:
    from app.ingestion.parsing.pypdf_text import PypdfText  # noqa: PLC0415 (350 ms that few files need)

    document = PypdfText.open(data)
    if document is None:
        raise ParseFailure(ParseReason.CORRUPT)
    count = document.page_count()
    if count > limits.max_pages:
        raise ParseFailure(ParseReason.TOO_MANY_PAGES)
    return list(_bounded((_RawPage("", _plain(document.page_text(index))) for index in range(count)), limits))


def _canonical(texts: list[str]) -> list[tuple[str, tuple[str, ...]]]:
    bodies = take_out_furniture([tidy(text) for text in texts])
    words = vocabulary([body for body, _ in bodies])
    return [(_page_text(join_broken_words(body, words)), furniture) for body, furniture in bodies]


def _page_text(body: str) -> str:
    text = tidy(body)
    return text + "\n" if text.strip() else ""


def _judge(pages: tuple[ParsedPage, ...]) -> tuple[str, ...]:
    """Refuse a document that is empty or mostly unreadable; else warn of its pages that are."""
    readable = [page for page in pages if page.has_text]
    if not readable:
        raise ParseFailure(ParseReason.NO_TEXT)
    poor = [page for page in readable if quality(page.text) < READABLE]
    if sum(len(page.text) for page in poor) * 2 > sum(len(page.text) for page in readable):
        raise ParseFailure(ParseReason.LOW_TEXT_QUALITY)
    warnings = no_text_warnings(pages)
    if poor:
        warnings += (f"The text of {page_list([page.number for page in poor])} is hardly readable.",)
    return warnings
