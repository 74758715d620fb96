"""Generated documents: the same bytes for the same arguments, on every machine and in every run."""

import csv
import io
import random
from collections.abc import Iterator
from datetime import UTC, datetime

from fpdf import FPDF

_SUBJECTS = (
    "the operator",
    "the shift supervisor",
    "the maintenance crew",
    "every licensed carrier",
    "the control room",
    "the auditor",
    "the pumping station",
    "the safety committee",
    "the network gateway",
    "the records office",
    "the calibration laboratory",
)
_VERBS = (
    "inspects",
    "records",
    "acknowledges",
    "recalibrates",
    "replaces",
    "isolates",
    "documents",
    "verifies",
    "approves",
    "schedules",
    "supervises",
)
_OBJECTS = (
    "the pressure transducer",
    "the emergency valve",
    "each hydraulic accumulator",
    "the authentication timer",
    "the backup feed",
    "the ventilation damper",
    "all outstanding work permits",
    "the conductivity probe",
    "the session register",
    "the fuel manifold",
)
_CIRCUMSTANCES = (
    "before the reactor is restarted",
    "within {n} minutes of the alarm",
    "when the reading exceeds {n} kilopascals",
    "at intervals of {n} days",
    "unless clause {n}.{m} applies",
    "after timer T{n}{m} has expired",
    "in accordance with table {n}",
    "during the annual overhaul",
    "if the redundant channel is unavailable",
    "as described in appendix {m}",
)
_LINE = 92
"""Characters in a line of a page."""
_LINE_POINTS = 18
_SIZE, _TABLE_EVERY = 9, 4
_TABLE_ROWS = 6


def sentences(seed: int) -> Iterator[str]:
    """Yield sentences without an end."""
    choice = random.Random(seed)  # noqa: S311 - text, not a secret
    while True:
        where = choice.choice(_CIRCUMSTANCES).format(n=choice.randint(2, 98), m=choice.randint(1, 9))
        subject = choice.choice(_SUBJECTS)
        yield f"{subject[0].upper()}{subject[1:]} {choice.choice(_VERBS)} {choice.choice(_OBJECTS)} {where}."


def prose(characters: int, seed: int, marker: str = "") -> str:
    """Return paragraphs of at least so many characters.

    Args:
        characters: Length.
        seed: Other seeds give other texts.
        marker: A word that stands in the first sentence, to find the text by.
    """
    lines, length, source = [f"This document is about {marker}."] if marker else [], 0, sentences(seed)
    while length < characters:
        paragraph = " ".join(next(source) for _ in range(5))
        lines.append(paragraph)
        length += len(paragraph) + 2
    return "\n\n".join(lines)


def markdown(chapters: int, seed: int, marker: str = "") -> bytes:
    """Return chapters of about 900 characters, each under its heading."""
    parts = [
        f"## Chapter {n}\n\n{prose(900, seed * 10_007 + n, marker if n == 1 else '')}" for n in range(1, chapters + 1)
    ]
    return "\n\n".join(parts).encode()


def table(rows: int, seed: int) -> bytes:
    """Return CSV with a header and rows of about 100 characters."""
    choice, source = random.Random(seed), sentences(seed)  # noqa: S311 - text, not a secret
    target = io.StringIO()
    writer = csv.writer(target, lineterminator="\n")
    writer.writerow(["code", "part", "quantity", "instruction"])
    for row in range(rows):
        writer.writerow([f"P-{row:06d}", choice.choice(_OBJECTS), choice.randint(1, 500), next(source)])
    return target.getvalue().encode()


def pdf(pages: int, seed: int, *, characters: int = 3_000, marker: str = "") -> bytes:
    """Return a PDF whose pages hold a heading and lines of text, every fourth a table too.

    Args:
        pages: How many.
        seed: Other seeds give other texts.
        characters: On each page, about.
        marker: A word that stands in the first sentence, to find the document by.
    """
    document, source = FPDF(unit="pt", format="A4"), sentences(seed)
    document.set_creation_date(datetime(2026, 1, 1, tzinfo=UTC))
    document.set_auto_page_break(auto=False)
    first = f"This document is about {marker}." if marker else ""
    for page in range(1, pages + 1):
        document.add_page()
        document.set_font("Helvetica", "B", 13)
        document.text(50, 50, f"{page} Procedure {seed}.{page}")
        document.set_font("Helvetica", size=_SIZE)
        with_table = page % _TABLE_EVERY == 0 and characters > _LINE * _TABLE_ROWS * 2
        lines = max(1, round(characters / _LINE) - with_table * _TABLE_ROWS)
        _draw_lines(document, _wrapped(source, lines, first if page == 1 else ""))
        if with_table:
            _draw_table(document, seed * 1_009 + page, 72 + lines * _LINE_POINTS)
    return bytes(document.output())


def _draw_lines(document: FPDF, lines: list[str]) -> None:
    for row, line in enumerate(lines):
        document.text(50, 72 + row * _LINE_POINTS, line)


def _draw_table(document: FPDF, seed: int, top: int) -> None:
    choice = random.Random(seed)  # noqa: S311 - text, not a secret
    rows = [("Code", "Part", "Limit")]
    rows += [
        (f"P-{choice.randint(100, 999)}", choice.choice(_OBJECTS), f"{choice.randint(2, 90)} kPa") for _ in range(5)
    ]
    for row, cells in enumerate(rows):
        for column, cell in enumerate(cells):
            document.text(50 + column * 160, top + row * _LINE_POINTS, cell)


def _wrapped(source: Iterator[str], count: int, first: str) -> list[str]:
    """Return so many lines of running text."""
    lines: list[str] = []
    line = first
    while len(lines) < count:
        for word in next(source).split():
            if len(line) + len(word) >= _LINE:
                lines.append(line)
                line = ""
            line = f"{line} {word}" if line else word
    return lines[:count]
