import random

import pytest
from fpdf import FPDF

from app.ingestion.parsing.pdf import parse_pdf
from app.ingestion.parsing.pdf_layout import Piece, reading_order
from app.ingestion.parsing.pdf_words import Word
from app.ingestion.parsing.types import ParseLimits
from tests.support.growth import assert_linear
from tests.support.pdfs import drawn, put, saved

LIMITS = ParseLimits(seconds=30, memory_bytes=2**30, max_pages=20, max_characters=100_000, max_unpacked_bytes=2**29)
SENTENCE = "the pump operator opens each valve and reads its pressure before any filter is cleaned by hand again"
LEFT, TOTAL, GUTTER = 20.0, 170.0, 7.0
LINES = 20


def _column(document: FPDF, name: str, width: float, chance: random.Random) -> list[str]:
    lines: list[str] = []
    line = f"{name} begins"
    while len(lines) < LINES:
        word = chance.choice(SENTENCE.split())
        if document.get_string_width(f"{line} {word}") > width - 2:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}"
    return lines


def _columns(count: int, *, by_line: bool, with_table: bool = False) -> bytes:
    """A title, columns, in their middle a table over all of them, and a footer; `by_line` as a typewriter would."""
    document = drawn()
    chance = random.Random(7)  # noqa: S311 (the same each time)
    width = (TOTAL - GUTTER * (count - 1)) / count
    columns = [_column(document, f"Column{number}", width, chance) for number in range(count)]
    put(document, LEFT, 15, "A title that goes over all of the columns of this page", size=16, style="B")
    places = [(row, column) for column in range(count) for row in range(LINES)]
    for row, column in sorted(places) if by_line else places:
        y = 35 + row * 5 + (40 if with_table and row >= LINES // 2 else 0)
        put(document, LEFT + column * (width + GUTTER), y, columns[column][row])
    if with_table:
        for row, cells in enumerate([("Timer", "Value", "Unit"), ("T3410", "15", "s"), ("T3402", "12", "min")]):
            for column, text in enumerate(cells):
                document.set_xy(LEFT + 50 * column, 95 + 5 * row)
                document.cell(50, 5, text, border=1)
    put(
        document,
        LEFT,
        270,
        "A footer that goes over all of the columns of this page, from the left side to the right one",
    )
    return saved(document)


def _lines(data: bytes) -> list[str]:
    return [line for line in parse_pdf(data, LIMITS).pages[0].text.split("\n") if line]


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("by_line", [False, True])
def test_columns_are_read_one_after_the_other(count: int, by_line: bool) -> None:
    lines = _lines(_columns(count, by_line=by_line))
    assert lines[0].startswith("A title")
    assert lines[-1].startswith("A footer")
    assert [lines[1 + LINES * number].split()[0] for number in range(count)] == [f"Column{n}" for n in range(count)]
    assert len(lines) == 2 + LINES * count


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("by_line", [False, True])
def test_a_table_over_all_columns_parts_them(count: int, by_line: bool) -> None:
    lines = _lines(_columns(count, by_line=by_line, with_table=True))
    half = 1 + LINES // 2 * count
    assert lines[half : half + 3] == ["Timer | Value | Unit", "T3410 | 15 | s", "T3402 | 12 | min"]
    assert [lines[1 + LINES // 2 * number].split()[0] for number in range(count)] == [
        f"Column{n}" for n in range(count)
    ]
    assert lines[-1].startswith("A footer")


def test_a_footer_on_the_left_is_read_after_both_columns() -> None:
    document = drawn()
    for row in range(8):
        put(document, 20, 30 + 5 * row, f"left column line {row} of running text here")
        put(document, 110, 30 + 5 * row, f"right column line {row} of running text here")
    put(document, 20, 120, "Printed in Bonn")
    lines = _lines(saved(document))
    assert lines == [
        *(f"left column line {row} of running text here" for row in range(8)),
        *(f"right column line {row} of running text here" for row in range(8)),
        "Printed in Bonn",
    ]


def test_labels_with_values_beside_them_stay_together() -> None:
    document = drawn()
    for row, (label, value) in enumerate([("Name:", "Ada Lovelace"), ("Born:", "1815 in London"), ("Field:", "Logic")]):
        put(document, 20, 30 + 6 * row, label)
        put(document, 60, 30 + 6 * row, value)
    assert _lines(saved(document)) == ["Name: Ada Lovelace", "Born: 1815 in London", "Field: Logic"]


def test_rows_of_long_cells_stay_rows() -> None:
    document = drawn()
    y = 30.0
    for row in range(6):
        for x in (20, 110):
            for line in range(3):
                put(document, x, y + 5 * line, f"Cell text {row} at {x} which is long enough {line}")
        y += 20
    lines = _lines(saved(document))
    assert [line.split()[2] for line in lines[::6]] == ["0", "1", "2", "3", "4", "5"]


def test_right_to_left_columns_begin_at_the_right() -> None:
    pieces = [
        Piece(
            (Word("\u05de\u05e9\u05e4\u05d8", x, 14.0 * row, x + 200, 14.0 * row + 12),),
            x,
            14.0 * row,
            x + 200,
            14.0 * row + 12,
            2 * row + column,
            0,
            10.0,
            bold=False,
        )
        for row in range(10)
        for column, x in enumerate((50.0, 300.0))
    ]
    assert [piece.left for piece in reading_order(pieces)] == [300.0] * 10 + [50.0] * 10


def _scattered(text: str) -> list[Piece]:
    """Pieces all over a page, at places that the text tells."""
    chance = random.Random(len(text))  # noqa: S311 (the same each time)
    pieces = []
    for number in range(len(text)):
        x, y = chance.random() * 550, chance.random() * 800
        pieces.append(Piece((Word("word", x, y, x + 9, y + 3),), x, y, x + 9, y + 3, number, 0, 3.0, bold=False))
    return pieces


def test_scattered_pieces_take_linear_time_and_none_is_lost() -> None:
    assert_linear(lambda text: reading_order(_scattered(text)), "x" * 20_000)
    assert_linear(lambda text: reading_order(_scattered(text)), "x" * 2_900)
    for count in (1, 7, 2_900, 3_100):
        pieces = _scattered("x" * count)
        assert sorted(piece.line for piece in reading_order(pieces)) == list(range(count))
