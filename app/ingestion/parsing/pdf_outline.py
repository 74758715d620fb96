"""Reads a PDF's outline (bookmarks) and page labels, within bounds: both are trees that hostile files make endless.

They come from pdfium, which opens the file anyway: on real files it gives what pypdf gives, without a fifth of a second
for loading pypdf, and it does not loop on cyclic trees.
"""

import ctypes
import time
from typing import Any, NamedTuple

from app.ingestion.parsing import pdf_library as pdfium
from app.ingestion.parsing.canonical import clean

_MOST_ENTRIES = 10_000
_DEEPEST = 16
_ENDING = 2
"""Bytes of the zero that ends UTF-16."""
_TITLE_BYTES = 600
_LABEL_BYTES = 128
_LONGEST_LABEL = 32


class OutlineEntry(NamedTuple):
    """A bookmark that leads to a page.

    Args:
        title: Its words, with single spaces.
        level: Depth from 1.
        page: Position of its page, from 0.
    """

    title: str
    level: int
    page: int


def read_outline(document: Any, seconds: float) -> list[OutlineEntry]:
    """Return the bookmarks in order, at most 10,000 and what can be read in the time.

    Args:
        document: A pdfium document handle.
        seconds: Wall clock that it may take.
    """
    deadline = time.monotonic() + seconds
    entries: list[OutlineEntry] = []
    seen: set[int] = set()
    stack = [(pdfium.first_child(document, None), 1)]
    while stack and len(seen) < _MOST_ENTRIES and time.monotonic() < deadline:
        bookmark, level = stack.pop()
        if not bookmark or _address(bookmark) in seen:
            continue
        seen.add(_address(bookmark))
        page = _page(document, bookmark)
        title = _title(bookmark)
        if page >= 0 and title:
            entries.append(OutlineEntry(title, level, page))
        stack.append((pdfium.next_sibling(document, bookmark), level))
        if level < _DEEPEST:
            stack.append((pdfium.first_child(document, bookmark), level + 1))
    return entries


def read_labels(document: Any, pages: int, seconds: float) -> list[str]:
    """Return the label of each page; empty where there is none or the time is over.

    Args:
        document: A pdfium document handle.
        pages: Number of its pages.
        seconds: Wall clock that it may take.
    """
    deadline = time.monotonic() + seconds
    buffer = ctypes.create_string_buffer(_LABEL_BYTES)
    labels = [""] * pages
    for index in range(pages):
        size = pdfium.page_label(document, index, buffer, _LABEL_BYTES)
        if time.monotonic() > deadline:
            break
        labels[index] = _words(buffer, size, _LABEL_BYTES)[:_LONGEST_LABEL]
    return labels


def _address(bookmark: Any) -> int:
    return bookmark.value or 0


def _title(bookmark: Any) -> str:
    buffer = ctypes.create_string_buffer(_TITLE_BYTES)
    return _words(buffer, pdfium.bookmark_title(bookmark, buffer, _TITLE_BYTES), _TITLE_BYTES)


def _words(buffer: Any, size: int, room: int) -> str:
    """Return UTF-16 with its closing zero; pdfium writes nothing when it does not fit."""
    if not _ENDING < size <= room:
        return ""
    return " ".join(clean(buffer.raw[: size - _ENDING].decode("utf-16-le", "ignore")).split())


def _page(document: Any, bookmark: Any) -> int:
    """Return the position of the page that a bookmark leads to; -1 for none."""
    target = pdfium.bookmark_destination(document, bookmark)
    if not target:
        action = pdfium.bookmark_action(bookmark)
        target = pdfium.action_destination(document, action) if action else None
    return int(pdfium.destination_page(document, target)) if target else -1
