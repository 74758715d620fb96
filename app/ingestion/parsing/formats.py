"""Which parser reads which kind of file. Each is loaded only when it is needed, under the limits of its process."""

from app.documents.media_types import MediaType
from app.ingestion.parsing.types import ParsedDocument, ParseLimits


def parse(data: bytes, media_type: MediaType, limits: ParseLimits) -> ParsedDocument:
    """Return the canonical text of a file.

    Raises:
        ParseFailure: It has no usable text, or exceeds a limit.
    """
    if media_type is MediaType.PDF:
        from app.ingestion.parsing.pdf import parse_pdf  # noqa: PLC0415 (loads pdfium, under the limits)

        return parse_pdf(data, limits)
    from app.ingestion.parsing.text import parse_text  # noqa: PLC0415 (a PDF does not need it)

    return parse_text(data, limits)
