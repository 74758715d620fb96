"""Text by pypdf: slower than pdfium, and at times right where pdfium is not."""

import io
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Self

import pypdf
from pypdf.errors import PyPdfError

from app.ingestion.parsing.types import ParseFailure, ParseReason

# What pypdf raises on damaged files, beside its own errors.
_DAMAGE = (PyPdfError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError, OSError)


_AGAIN_SECONDS = 0.2


class OutOfTime(BaseException):
    """The time for reading with pypdf is over. No `Exception`, so that nothing in pypdf takes it for damage."""


@contextmanager
def time_share(seconds: float) -> Iterator[None]:
    """Stop what runs inside when it has taken its processor time; pypdf loops for ever on some real files.

    Only for the main thread of the parsing process: the system's signal (SIGVTALRM) arrives there. It is sent again
    and again, since a file's loop may stand inside a handler that swallows the first.

    Raises:
        OutOfTime: It took longer.
    """

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise OutOfTime

    before = signal.signal(signal.SIGVTALRM, stop)
    try:
        try:
            signal.setitimer(signal.ITIMER_VIRTUAL, max(seconds, _AGAIN_SECONDS), _AGAIN_SECONDS)
            yield
        finally:  # a signal may come just before this line; the next one only comes after the line below
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


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
