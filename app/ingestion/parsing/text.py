"""Reads plain text and Markdown of any encoding."""

from app.core.glyphs import is_visible
from app.documents.encodings import decode
from app.ingestion.parsing.canonical import clean, split_long, tidy
from app.ingestion.parsing.furniture import take_out_furniture
from app.ingestion.parsing.types import (
    PARSER_VERSION,
    ParsedDocument,
    ParsedPage,
    ParseFailure,
    ParseLimits,
    ParseReason,
)
from app.ingestion.parsing.warnings import no_text_warnings


def parse_text(data: bytes, limits: ParseLimits) -> ParsedDocument:
    """Return the canonical text of a text file; form feeds end pages, and long stretches are cut into pages.

    Lines and Markdown marks stay as they are: in a text file a hyphen at a line end is the author's.

    Raises:
        ParseFailure: It has no text, none that can be read, or exceeds a limit.
    """
    decoded = decode(data)
    text = decoded.text
    if len(text) > limits.max_characters:
        raise ParseFailure(ParseReason.TOO_MANY_CHARACTERS)
    sheets = [clean(sheet) for sheet in text.split("\f")]
    if not decoded.readable and any(map(is_visible, sheets)):
        raise ParseFailure(ParseReason.LOW_TEXT_QUALITY)
    bodies = take_out_furniture([tidy(sheet) for sheet in sheets]) if len(sheets) > 1 else [(sheets[0], ())]
    pieces = [(piece, furniture) for body, furniture in bodies for piece in split_long(_ended(body, len(bodies)))]
    if len(pieces) > limits.max_pages:
        raise ParseFailure(ParseReason.TOO_MANY_PAGES)
    pages = tuple(
        ParsedPage(number, str(number), piece, furniture, has_text=is_visible(piece))
        for number, (piece, furniture) in enumerate(pieces, start=1)
    )
    if not any(page.has_text for page in pages):
        raise ParseFailure(ParseReason.NO_TEXT)
    return ParsedDocument(pages, no_text_warnings(pages), PARSER_VERSION)


def _ended(body: str, sheets: int) -> str:
    """Let each of several sheets end with its last line, so that the joined text keeps a border between them."""
    if sheets == 1:
        return body
    text = tidy(body)
    return text + "\n" if text.strip() else ""
