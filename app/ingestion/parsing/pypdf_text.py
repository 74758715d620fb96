"""Text by pypdf: slower than pdfium, and at times right where pdfium is not."""

import io
from typing import Self

import pypdf
from pypdf.errors import PyPdfError

from app.ingestion.parsing.types import ParseFailure, ParseReason

# What pypdf raises on damaged files, beside its own errors.
_DAMAGE = (PyPdfError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError, OSError)


class PypdfText:
    """An open document."""

    def __init__(self, reader: pypdf.PdfReader) -> None:
        self._reader = reader

    @classmethod
    def open(cls, data: bytes) -> Self | None:
        """Open a document; None when it is damaged.

        Raises:
            ParseFailure: It needs a password.
        """
        try:
            reader = pypdf.PdfReader(io.BytesIO(data))
            if reader.is_encrypted and not reader.decrypt(""):
                raise ParseFailure(ParseReason.ENCRYPTED)
            len(reader.pages)
        except _DAMAGE:
            return None
        return cls(reader)

    def page_count(self) -> int:
        """Return the number of pages."""
        return len(self._reader.pages)

    def page_text(self, index: int) -> str:
        """Return a page's text; empty when the page is damaged."""
        try:
            return self._reader.pages[index].extract_text()
        except _DAMAGE:
            return ""
