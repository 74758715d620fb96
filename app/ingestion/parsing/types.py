"""What parsing takes and gives, and how it can fail."""

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from app.documents.media_types import MediaType

PARSER_VERSION = "2"
"""Part of every chunk id. Raise it when the same bytes would give another canonical text."""


@dataclass(frozen=True, slots=True)
class ParseLimits:
    """The most that one file may take.

    Attributes:
        seconds: Processor time; three times as much by the wall clock, for machines that are busy.
        memory_bytes: Address space of the parsing process.
        max_pages: Pages of the document.
        max_characters: Characters of its canonical text.
        max_unpacked_bytes: Bytes that a compressed file may unpack to.
    """

    seconds: int
    memory_bytes: int
    max_pages: int
    max_characters: int
    max_unpacked_bytes: int


@dataclass(frozen=True, slots=True)
class ParsedPage:
    """One page of the canonical text.

    Attributes:
        number: Position from 1.
        label: The number printed on it, such as "iv"; the position where there is none.
        text: Its canonical text. The pages' texts joined are the text of the version.
        furniture: Repeated headers, footers and page numbers that were taken out, for display.
        has_text: Whether any text was found; false for a scan.
        width: Width of the page as it is shown, in points; None where there are no pages on paper.
        height: Its height, in points.
        boxes: Where its words stand, packed by `app.core.boxes`; empty where that is not known.
    """

    number: int
    label: str
    text: str
    furniture: tuple[str, ...]
    has_text: bool
    width: float | None = None
    height: float | None = None
    boxes: bytes = b""

    # Read by pydantic when the parsing process's answer is checked; that process does without it.
    __pydantic_config__: ClassVar[dict[str, str]] = {"val_json_bytes": "base64"}


class MarkKind(StrEnum):
    """What a parser knows of a part of the text that the text alone does not show."""

    HEADING = "heading"
    HEADER_ROW = "header_row"
    ROW = "row"


@dataclass(frozen=True, slots=True)
class Mark:
    """A part of the version's text of a known kind.

    Attributes:
        start: Offset of its first character in the version's text.
        end: Offset after its last one.
        kind: What it is.
        level: Depth of a heading, from 1; 0 for rows.
    """

    start: int
    end: int
    kind: MarkKind
    level: int = 0


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """The canonical text of a file, with what its owner should know about it.

    Attributes:
        pages: Its pages, at least one.
        warnings: What its owner should know, in words.
        parser_version: `PARSER_VERSION` of the code that made it.
        marks: Headings and table rows that the parser saw, in order, none over another.
        all_headings_marked: Whether there are no other headings than the marked ones.
    """

    pages: tuple[ParsedPage, ...]
    warnings: tuple[str, ...]
    parser_version: str
    marks: tuple[Mark, ...] = ()
    all_headings_marked: bool = False


class ParseReason(StrEnum):
    """Why a file could not be read."""

    ENCRYPTED = "encrypted"
    NO_TEXT = "no_text"
    CORRUPT = "corrupt"
    TOO_MANY_PAGES = "too_many_pages"
    TOO_MANY_CHARACTERS = "too_many_characters"
    TOO_MANY_PASSAGES = "too_many_passages"
    UNPACKED_TOO_LARGE = "unpacked_too_large"
    PARSE_TIMEOUT = "parse_timeout"
    PARSE_MEMORY = "parse_memory"
    LOW_TEXT_QUALITY = "low_text_quality"
    UNSUPPORTED = "unsupported"


_DETAILS = {
    ParseReason.ENCRYPTED: "The file is encrypted. Remove the password and upload it again.",
    ParseReason.NO_TEXT: "The file holds no text. Check that it is the right one and upload it again.",
    ParseReason.CORRUPT: "The file is damaged and cannot be read. Save or export it anew and upload it again.",
    ParseReason.TOO_MANY_PAGES: "The file has more pages than allowed. Split it and upload the parts.",
    ParseReason.TOO_MANY_CHARACTERS: "The file holds more text than allowed. Split it and upload the parts.",
    ParseReason.TOO_MANY_PASSAGES: "The file has more passages than allowed. Split it and upload the parts.",
    ParseReason.UNPACKED_TOO_LARGE: "The file unpacks to more data than allowed. Save it anew, or split it.",
    ParseReason.PARSE_TIMEOUT: "Reading the file took too long. Split it, or save it anew, and upload it again.",
    ParseReason.PARSE_MEMORY: "Reading the file took too much memory. Split it, or save it anew, and upload it again.",
    ParseReason.LOW_TEXT_QUALITY: "Hardly any of the file can be read as text. Save it anew as text in UTF-8, or as "
    "PDF, and upload it again.",
    ParseReason.UNSUPPORTED: "Files of this type cannot be read.",
}
_DETAILS_OF_KIND = {
    (
        ParseReason.NO_TEXT,
        MediaType.PDF,
    ): "The file holds no text; it may be a scan. Recognise its text (OCR) and upload it again.",
    (ParseReason.NO_TEXT, MediaType.DOCX): "The file holds no text. If it holds pictures of text, save it as PDF, "
    "recognise its text (OCR) and upload that.",
    (ParseReason.NO_TEXT, MediaType.HTML): "The page holds no text of its own; a script may fetch it. Open it in a "
    "browser, save it as PDF and upload that.",
    (ParseReason.NO_TEXT, MediaType.CSV): "The table holds nothing but empty cells. Export it anew and upload it "
    "again.",
    (ParseReason.LOW_TEXT_QUALITY, MediaType.PDF): "The file's text cannot be extracted in a readable form (its fonts "
    "do not say which characters they show). Export it anew, or recognise its text (OCR), and upload it again.",
}
"""Where what to do depends on the kind of file."""


class ParseFailure(Exception):  # noqa: N818 (an ordinary outcome of parsing, named as the status shows it)
    """A file has no usable text.

    Attributes:
        reason: Why, for programs.
    """

    def __init__(self, reason: ParseReason) -> None:
        super().__init__(reason.value)
        self.reason = reason

    def detail_for(self, media_type: MediaType) -> str:
        """Return why and what to do about a file of this kind, for its owner."""
        return _DETAILS_OF_KIND.get((self.reason, media_type), _DETAILS[self.reason])
