"""Which parser reads which kind of file. Each is loaded only when it is needed, under the limits of its process."""

from app.documents.media_types import MediaType
from app.ingestion.parsing.types import ParsedDocument, ParseLimits


def parse(data: bytes, media_type: MediaType, limits: ParseLimits) -> ParsedDocument:
    """Return the canonical text of a file.

    Raises:
        ParseFailure: It has no usable text, or exceeds a limit.
    """
    match media_type:
        case MediaType.PDF:
            from app.ingestion.parsing.pdf import parse_pdf  # noqa: PLC0415 (loads pdfium, under the limits)

            return parse_pdf(data, limits)
        case MediaType.DOCX:
            from app.ingestion.parsing.docx_text import parse_docx  # noqa: PLC0415 (only these files need it)

            return parse_docx(data, limits)
        case MediaType.HTML:
            from app.ingestion.parsing.html_text import parse_html  # noqa: PLC0415 (loads Lexbor, under the limits)

            return parse_html(data, limits)
        case MediaType.CSV:
            from app.ingestion.parsing.csv_text import parse_csv  # noqa: PLC0415 (only these files need it)

            return parse_csv(data, limits)
        case MediaType.MARKDOWN | MediaType.TEXT:
            from app.ingestion.parsing.text import parse_text  # noqa: PLC0415 (a PDF does not need it)

            return parse_text(data, limits)
