"""Which parser reads which kind of file."""

from app.documents.media_types import MediaType
from app.ingestion.parsing.csv_text import parse_csv
from app.ingestion.parsing.docx_text import parse_docx
from app.ingestion.parsing.html_text import parse_html
from app.ingestion.parsing.pdf import parse_pdf
from app.ingestion.parsing.text import parse_text
from app.ingestion.parsing.types import ParsedDocument, ParseLimits


def parse(data: bytes, media_type: MediaType, limits: ParseLimits) -> ParsedDocument:
    """Return the canonical text of a file.

    Raises:
        ParseFailure: It has no usable text, or exceeds a limit.
    """
    match media_type:
        case MediaType.PDF:
            return parse_pdf(data, limits)
        case MediaType.DOCX:
            return parse_docx(data, limits)
        case MediaType.HTML:
            return parse_html(data, limits)
        case MediaType.CSV:
            return parse_csv(data, limits)
        case MediaType.MARKDOWN | MediaType.TEXT:
            return parse_text(data, limits)
