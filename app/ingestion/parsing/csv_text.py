"""Reads tables that are written as text: comma, semicolon, tab or bar between the cells."""

import csv

from app.documents.delimited import are_names, find_delimiter, read_rows
from app.documents.encodings import decode
from app.ingestion.parsing.canonical import clean
from app.ingestion.parsing.composing import Composer, Passage, row
from app.ingestion.parsing.types import MarkKind, ParsedDocument, ParseFailure, ParseLimits, ParseReason

_HEAD = 64 * 1024
_ONE_COLUMN = "\x1f"
"""Stands in no canonical text, so that a table of one column is not cut."""


def parse_csv(data: bytes, limits: ParseLimits) -> ParsedDocument:
    """Return a table with one line for each row; rows of another length than the others stay as they are.

    Raises:
        ParseFailure: It has no text, none that can be read, or exceeds a limit.
    """
    decoded = decode(data)
    if len(decoded.text) > limits.max_characters:
        raise ParseFailure(ParseReason.TOO_MANY_CHARACTERS)
    plain = clean(decoded.text)
    composer = Composer(limits)
    try:
        _compose(plain, _delimiter(plain), composer)
    except csv.Error as error:
        raise ParseFailure(ParseReason.CORRUPT) from error
    document = composer.finish(all_headings_marked=True)
    if not decoded.readable:
        raise ParseFailure(ParseReason.LOW_TEXT_QUALITY)
    return document


def _delimiter(text: str) -> str:
    head = text if len(text) <= _HEAD else text[: text.rfind("\n", 0, _HEAD) + 1] or text[:_HEAD]
    return find_delimiter(head, named=True) or _ONE_COLUMN


def _compose(text: str, delimiter: str, composer: Composer) -> None:
    first = True
    for cells in read_rows(text, delimiter):
        line = row(cells)
        if not line:
            continue
        kind = MarkKind.HEADER_ROW if first and are_names(cells) else MarkKind.ROW
        composer.add(Passage(line, kind, apart=False))
        first = False
