"""The kinds of files that can be read, told by their content: names and declared types may lie."""

import codecs
import re
from enum import StrEnum

from charset_normalizer import from_bytes

from app.core.errors import AppError

_PDF_REACH = 1024
"""Readers accept bytes before the header, as mail gateways leave them (PDF 1.7, appendix H, note 13)."""
_SAMPLE = 8 * 1024
_WIDE_BOMS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)
_OTHER_FORMATS = re.compile(rb"\s*(?:<!doctype html|<html|\{\\rtf|%!PS)", re.IGNORECASE)
_BINARY = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_MARKDOWN_SUFFIXES = (".md", ".markdown")
_SUPPORTED = "Supported are PDF, Markdown and plain text."


class MediaType(StrEnum):
    """A kind of file that can be read."""

    PDF = "application/pdf"
    MARKDOWN = "text/markdown"
    TEXT = "text/plain"


class UnsupportedMediaTypeError(AppError):
    """The content is of no kind that can be read."""

    code, status, title = "unsupported_media_type", 415, "Unsupported file type"


def sniff(head: bytes, name: str) -> MediaType:
    """Tell what a file is.

    Args:
        head: Its first bytes, a few KiB or all.
        name: Its name: only tells Markdown from plain text, which no content can.

    Raises:
        UnsupportedMediaTypeError: Neither PDF nor text.
    """
    if b"%PDF-" in head[:_PDF_REACH]:
        return MediaType.PDF
    markdown = name.lower().endswith(_MARKDOWN_SUFFIXES)
    if not markdown and _OTHER_FORMATS.match(head):
        raise UnsupportedMediaTypeError(f"Files of this type cannot be read yet. {_SUPPORTED}")
    if not _is_text(head):
        raise UnsupportedMediaTypeError(f"The file's content is neither PDF nor text. {_SUPPORTED}")
    return MediaType.MARKDOWN if markdown else MediaType.TEXT


def kind_of_text(media_type: MediaType, name: str) -> MediaType:
    """Return what a text is called under this name: the same bytes may be Markdown here and plain text there."""
    if media_type is MediaType.PDF:
        return media_type
    return MediaType.MARKDOWN if name.lower().endswith(_MARKDOWN_SUFFIXES) else MediaType.TEXT


def _is_text(head: bytes) -> bool:
    if head.startswith(_WIDE_BOMS):
        return True
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return not _BINARY.search(head) and from_bytes(head[:_SAMPLE]).best() is not None
    # Stray control characters in UTF-8 are removed later; a file full of them is not text.
    return len(_BINARY.findall(head)) * 20 <= len(head)
