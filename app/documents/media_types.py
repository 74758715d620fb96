"""The kinds of files that can be read, told by their content: names and declared types may lie."""

import os
import re
from enum import StrEnum
from pathlib import PurePosixPath
from typing import BinaryIO

from app.core.errors import AppError
from app.documents.containers import OLE_SIGNATURE, ZIP_SIGNATURES, ole_has, zip_names
from app.documents.delimited import find_delimiter
from app.documents.encodings import read_head
from app.documents.foreign import BINARY, EMBEDDED, OLE_STREAMS, UNKNOWN, ZIP, ZIP_MEMBERS, ZIP_MIME_TYPES, Foreign

_HEAD_BYTES = 64 * 1024
_TAIL_BYTES = 4 * 1024
_PDF_REACH = 1024
"""Readers accept bytes before the header, as mail gateways leave them (PDF 1.7, appendix H, note 13)."""
_PDF_HEADER = re.compile(rb"%PDF-\d")
_PDF_BODY = re.compile(rb"\d+\s+\d+\s+obj\b|startxref")
_LEADING = r"\ufeff?\s*+(?:<\?xml[^>]*+>\s*+|<!--(?:[^-]|-(?!->))*+-->\s*+)*+"
_HTML = re.compile(_LEADING + r"(?:<!doctype\s+html\b|<html\b)", re.IGNORECASE)
_HTML_PART = re.compile(_LEADING + r"<(?:head|body)\b", re.IGNORECASE)
_DOCTYPE = re.compile(_LEADING + r"<!doctype\s+html\b", re.IGNORECASE)
_TAG = re.compile(
    r"<(?:p|div|span|h[1-6]|table|ul|ol|br|a|b|i|em|strong|body|title|meta|section|article)\b", re.IGNORECASE
)
_MARKDOWN_SUFFIXES = frozenset({".md", ".markdown", ".mdown", ".mkd"})
_HTML_SUFFIXES = frozenset({".html", ".htm", ".xhtml", ".xht"})
_TABLE_SUFFIXES = frozenset({".csv", ".tsv", ".tab", ".psv"})
# Their rows may agree on a delimiter, and still they are no tables.
_LINE_SUFFIXES = frozenset(
    [
        ".log",
        ".json",
        ".jsonl",
        ".ndjson",
        ".xml",
        ".yaml",
        ".yml",
        ".toml",
        ".ini",
        ".cfg",
        ".conf",
        ".rst",
        ".tex",
        ".sql",
        ".py",
        ".js",
        ".ts",
        ".c",
        ".h",
        ".cpp",
        ".java",
        ".go",
        ".rs",
        ".rb",
        ".sh",
        ".srt",
        ".vtt",
        ".eml",
    ]
)
_ENCRYPTED_KINDS = {".xlsx": "workbook", ".xlsm": "workbook", ".pptx": "presentation", ".pptm": "presentation"}
_SUPPORTED = "Supported are PDF, DOCX, HTML, Markdown, CSV and plain text."


class MediaType(StrEnum):
    """A kind of file that can be read."""

    PDF = "application/pdf"
    DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
    HTML = "text/html"
    MARKDOWN = "text/markdown"
    CSV = "text/csv"
    TEXT = "text/plain"


class UnsupportedMediaTypeError(AppError):
    """The content is of no kind that can be read."""

    code, status, title = "unsupported_media_type", 415, "Unsupported file type"


def sniff(file: BinaryIO, name: str) -> MediaType:
    """Tell what a file is.

    Args:
        file: Its bytes; the position is moved.
        name: Its name: decides only between kinds of text that no content can tell.

    Raises:
        UnsupportedMediaTypeError: It cannot be read; says what it is, and what to do.
    """
    file.seek(0)
    head = file.read(_HEAD_BYTES)
    suffix = PurePosixPath(name.lower()).suffix
    if head.startswith(ZIP_SIGNATURES):
        return _kind_of_zip(file, head, suffix)
    if head.startswith(OLE_SIGNATURE):
        return _kind_of_ole(file, suffix)
    if _is_pdf(file, head):
        return MediaType.PDF
    if foreign := next((foreign for start, foreign in EMBEDDED if head.lstrip().startswith(start)), None):
        raise _refusal(foreign)
    text = read_head(head)
    if text is None:
        raise _refusal(_foreign_binary(head))
    return _kind_by_text(text, suffix, whole=len(head) < _HEAD_BYTES)


def kind_of_text(media_type: MediaType, name: str) -> MediaType:
    """Return what a text is called under this name: the same bytes may be Markdown here and plain text there."""
    if media_type not in {MediaType.MARKDOWN, MediaType.TEXT}:
        return media_type
    markdown = PurePosixPath(name.lower()).suffix in _MARKDOWN_SUFFIXES
    return MediaType.MARKDOWN if markdown else MediaType.TEXT


def _is_pdf(file: BinaryIO, head: bytes) -> bool:
    """A text may speak of the header, so what stands after other bytes needs an object or the end of a PDF too."""
    found = _PDF_HEADER.search(head[:_PDF_REACH])
    if not found or not head[: found.start()].strip(b"\xef\xbb\xbf \t\r\n\x00"):
        return bool(found)
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _TAIL_BYTES))
    return bool(_PDF_BODY.search(head, found.end()) or _PDF_BODY.search(file.read(_TAIL_BYTES)))


def _kind_of_zip(file: BinaryIO, head: bytes, suffix: str) -> MediaType:
    names = zip_names(file)
    if any(name.startswith("word/") for name in names) and "[Content_Types].xml" in names:
        return MediaType.DOCX
    if not names and suffix == ".docx":
        return MediaType.DOCX  # cut off: the parser says that it is damaged
    for mime_type, foreign in ZIP_MIME_TYPES:
        if head[30:].startswith(b"mimetype" + mime_type):
            raise _refusal(foreign)
    for member, foreign in ZIP_MEMBERS:
        if any(name.startswith(member) for name in names):
            raise _refusal(foreign)
    raise _refusal(ZIP)


def _kind_of_ole(file: BinaryIO, suffix: str) -> MediaType:
    if ole_has(file, "EncryptedPackage"):
        if kind := _ENCRYPTED_KINDS.get(suffix):
            raise _refusal(Foreign(f"an encrypted {kind}", "Remove its password, save it as PDF and upload that."))
        return MediaType.DOCX  # the parser says that it is encrypted
    for stream, foreign in OLE_STREAMS:
        if ole_has(file, stream):
            raise _refusal(foreign)
    raise _refusal(Foreign("an old Office file", "Save it as DOCX or PDF and upload that."))


def _kind_by_text(text: str, suffix: str, *, whole: bool) -> MediaType:
    if suffix in _MARKDOWN_SUFFIXES:
        return MediaType.HTML if _DOCTYPE.match(text) else MediaType.MARKDOWN
    if _is_html(text, suffix):
        return MediaType.HTML
    named = suffix in _TABLE_SUFFIXES
    if suffix in _LINE_SUFFIXES or (not named and text.lstrip().startswith(("<", "{"))):
        return MediaType.TEXT
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    head = plain if whole else plain[: plain.rfind("\n") + 1]
    return MediaType.CSV if find_delimiter(head, named=named) or (named and _one_column(plain)) else MediaType.TEXT


def _is_html(text: str, suffix: str) -> bool:
    return bool(_HTML.match(text) or _HTML_PART.match(text) or (suffix in _HTML_SUFFIXES and _TAG.search(text)))


def _one_column(text: str) -> bool:
    """Whether what is called a table is one of a single column, or of a cell too long to be seen whole."""
    return not re.search(r"\w[.!?]\s+\w", text[:_TAIL_BYTES])


def _foreign_binary(head: bytes) -> Foreign:
    for offset, signature, foreign in BINARY:
        if head.startswith(signature, offset):
            return foreign
    return UNKNOWN


def _refusal(foreign: Foreign) -> UnsupportedMediaTypeError:
    return UnsupportedMediaTypeError(f"The file is {foreign.what}. {foreign.advice} {_SUPPORTED}")
