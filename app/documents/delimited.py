"""Tells tables written as text with delimiters, by whether the rows agree on their number of columns."""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice

_DELIMITERS = "\t;|,"
_ROWS = 200
_LEAST_ROWS = 3
_LEAST_COMMA_COLUMNS = 3
_AGREE = 0.6
_AGREE_UNNAMED = 0.98
_LONGEST_CELL_UNNAMED = 200
_LONGEST_NAME = 100
_MOST_LINES_IN_CELL = 1_000
_LARGEST_FIELD = 2**31 - 1
_HINT = re.compile(r"\ufeff?sep=(.)\n", re.IGNORECASE)
"""First line that spreadsheets read the delimiter from."""
_DECIMAL_COMMA = re.compile(r"-?\d+,\d+")
_VALUE = re.compile(r"[\d\s.,:/+%$\u20ac\u00a3()-]*\d[\d\s.,:/+%$\u20ac\u00a3()-]*|true|false", re.IGNORECASE)


def find_delimiter(head: str, *, named: bool) -> str | None:
    r"""Return the sign between the cells of a table; None when the text is no table of two columns or more.

    Args:
        head: The beginning of the text, with "\n" at line ends, without a last line that is cut off.
        named: Whether its name calls it a table; else the rows must agree almost all, in three rows or more.
    """
    if hint := _HINT.match(head):
        return hint[1]
    for quoted in (True, False):  # a quote that is never closed joins all rows
        scores = [score for sign in _DELIMITERS if (score := _score(head, sign, named=named, quoted=quoted))]
        if scores:
            return max(scores)[-1]
    return None


def read_rows(text: str, delimiter: str) -> Iterator[list[str]]:
    r"""Yield the rows of a table; a quote that is never closed is taken as a sign like any other."""
    body = _HINT.sub("", text, count=1)
    quoted = all(cell.count("\n") <= _MOST_LINES_IN_CELL for row in _rows(body, delimiter) for cell in row)
    return _rows(body, delimiter, quoted=quoted)


def are_names(row: Sequence[str]) -> bool:
    """Whether a first row looks like the names of columns: short, different, and no values."""
    names = [cell.strip() for cell in row if cell.strip()]
    return (
        bool(names)
        and len(names) * 2 > len(row)
        and len(set(names)) == len(names)
        and all(len(name) <= _LONGEST_NAME and not _VALUE.fullmatch(name) for name in names)
    )


def _rows(text: str, delimiter: str, *, quoted: bool = True) -> Iterator[list[str]]:
    csv.field_size_limit(_LARGEST_FIELD)
    lines = io.StringIO(text, newline="")
    return csv.reader(lines, delimiter=delimiter, quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE)


def _score(head: str, delimiter: str, *, named: bool, quoted: bool) -> tuple[float, bool, int, str] | None:
    """Return how well rows agree, with what breaks ties: no number that is cut in two, then more columns."""
    every = list(islice(_rows(head, delimiter, quoted=quoted), _ROWS))
    rows = [row for row in every if any(cell.strip() for cell in row)] or [row for row in every if row]
    if not rows:
        return None
    columns, agreeing = Counter(map(len, rows)).most_common(1)[0]
    share = agreeing / len(rows)
    if columns < 2 or share < (_AGREE if named else _AGREE_UNNAMED):  # noqa: PLR2004 (a table has two columns)
        return None
    if (not named and not _clear(rows, delimiter, columns)) or (not (named and len(rows) > 1) and _is_prose(rows)):
        return None
    decimals = sum(any(map(_DECIMAL_COMMA.fullmatch, row)) for row in rows)
    return round(share, 2), decimals * 3 > len(rows), columns, delimiter


def _is_prose(rows: list[list[str]]) -> bool:
    """Whether most lines end as sentences do."""
    return sum(row[-1].rstrip().endswith((".", "!", "?")) for row in rows) * 2 > len(rows)


def _clear(rows: list[list[str]], delimiter: str, columns: int) -> bool:
    """Whether rows without a name that says so are a table: prose has commas too."""
    return (
        len(rows) >= _LEAST_ROWS
        and (delimiter != "," or columns >= _LEAST_COMMA_COLUMNS)
        and all(len(cell) <= _LONGEST_CELL_UNNAMED for row in rows for cell in row)
        and any(are_names(row) or any(map(_VALUE.fullmatch, row)) for row in rows[:2])
    )
