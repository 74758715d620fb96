"""Everything that is printed. Text from documents, models and servers is data: it never drives the terminal."""

import json
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime

import typer
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

# Controls, lone surrogates, and separators that some terminals take as a new line.
_UNSAFE_CATEGORIES = frozenset({"Cc", "Cs", "Zl", "Zp"})
# Signs that reorder or hide what follows: a name must read as it is.
_UNSAFE_FORMATS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff")
_STEP = 1_000
_LONGEST_CELL = 60
_UNITS = ("kB", "MB", "GB", "TB")
_TAGS = range(0xE0000, 0xE0080)


def neutral(text: object) -> str:
    """Return a text on one line in which every control, escape and reordering character is spelled out."""
    return "".join(_spelled(char) if _unsafe(char) else char for char in str(text))


def neutral_lines(text: object) -> str:
    """Return a text like `neutral` does, with its line breaks kept."""
    return "\n".join(neutral(line) for line in str(text).replace("\r\n", "\n").split("\n"))


def _unsafe(char: str) -> bool:
    return unicodedata.category(char) in _UNSAFE_CATEGORIES or char in _UNSAFE_FORMATS or ord(char) in _TAGS


def _spelled(char: str) -> str:
    return {"\t": " ", "\n": " "}.get(char) or char.encode("unicode_escape").decode("ascii")


def print_json(value: object) -> None:
    """Print one JSON document on one line; ASCII only, so that it is safe on a terminal too."""
    typer.echo(json.dumps(value))


def print_line(text: str = "", style: str = "", indent: int = 0) -> None:
    """Print a line of a result; each line of `text` is made neutral."""
    _line(out(), text, style, indent)


def say(text: str, style: str = "") -> None:
    """Print a message on standard error, where it does not mix with results."""
    _line(err(), text, style, 0)


def _line(console: Console, text: str, style: str, indent: int) -> None:
    if console.is_terminal:
        console.print(Padding(Text(neutral_lines(text), style=style), (0, 0, 0, indent)))
        return
    lines = (" " * indent + line if line else "" for line in neutral_lines(text).split("\n"))
    typer.echo("\n".join(lines), file=console.file)


def print_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    whole: Collection[str] = (),
    short: Collection[str] = (),
) -> None:
    """Print rows as a table on a terminal, else as lines with tabs, which nothing cuts.

    Args:
        columns: The heads.
        rows: The cells.
        whole: Columns that stay on one line, such as ids that are copied.
        short: Columns whose long texts are cut on a terminal.
    """
    if not out().is_terminal:
        for row in (columns, *rows):
            typer.echo("\t".join(neutral(cell) for cell in row))
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold", no_wrap=column in whole)
    for row in rows:
        cells = ((column, neutral(cell)) for column, cell in zip(columns, row, strict=True))
        table.add_row(*(Text(cropped(cell) if column in short else cell, overflow="fold") for column, cell in cells))
    out().print(table)


def cropped(text: str, width: int = _LONGEST_CELL) -> str:
    """Return a text that is at most so many characters long; what is cut off shows as an ellipsis."""
    return text if len(text) <= width else f"{text[: width - 1]}…"


def print_fields(fields: Mapping[str, object]) -> None:
    """Print names and values, one a line."""
    width = max(len(name) for name in fields)
    for name, value in fields.items():
        print_line(f"{name:<{width}}  {neutral(value)}")


def out() -> Console:
    """Return the console of results."""
    return Console(markup=False, highlight=False, emoji=False)


def err() -> Console:
    """Return the console of messages and progress."""
    return Console(stderr=True, markup=False, highlight=False, emoji=False)


def local_time(stamp: object) -> str:
    """Return a time of the service in the reader's time zone, to the minute, such as `2026-01-08 14:30 CET`."""
    try:
        moment = datetime.fromisoformat(str(stamp))
    except ValueError:
        return neutral(stamp)
    return moment.astimezone().strftime("%Y-%m-%d %H:%M %Z")


def size(count: int) -> str:
    """Return a number of bytes in words that a person reads, such as `1.4 MB`."""
    if count < _STEP:
        return f"{count} B"
    value, unit = float(count), 0
    while value >= _STEP and unit < len(_UNITS):
        value, unit = value / _STEP, unit + 1
    return f"{value:.1f} {_UNITS[unit - 1]}"


def plural(count: int, noun: str) -> str:
    """Return a count with its noun, such as `1 page` and `2 pages`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
