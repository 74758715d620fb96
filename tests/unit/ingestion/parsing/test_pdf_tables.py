from collections.abc import Sequence

import pytest
from fpdf.enums import TableBordersLayout

from app.ingestion.parsing.pdf import parse_pdf
from app.ingestion.parsing.types import MarkKind, ParsedDocument, ParseLimits
from tests.support.pdfs import drawn, put, raw_pdf, saved, shown

LIMITS = ParseLimits(seconds=30, memory_bytes=2**30, max_pages=20, max_characters=100_000, max_unpacked_bytes=2**29)
TIMERS = [
    ("Timer", "Value", "Started when", "On expiry"),
    (
        "T3410",
        "15 s",
        "the request is sent",
        "T3411 or T3402 is started, as the clause on abnormal cases says at length",
    ),
    ("T3411", "10 s", "attach fails", "the request is sent again"),
    ("T3402", "12 min", "attach fails and the counter of attempts has reached five", "attach begins anew"),
]
FIGURES = [
    ("Item", "2023", "2024"),
    ("Revenue", "1,204.5", "1,310.9"),
    ("Cost of sales", "804.1", "842.0"),
    ("Tax", "-30.2", "-41.0"),
]
PROSE = "This ordinary text stands beside the table and must not become a part of it. " * 4


def _document(rows: Sequence[tuple[str, ...]], layout: TableBordersLayout) -> ParsedDocument:
    document = drawn()
    document.multi_cell(0, 5, PROSE)
    document.ln(4)
    with document.table(borders_layout=layout) as table:
        for row in rows:
            table.row(row)
    document.ln(4)
    document.multi_cell(0, 5, PROSE)
    return parse_pdf(saved(document), LIMITS)


def _marked(document: ParsedDocument) -> list[tuple[MarkKind, str]]:
    text = "".join(page.text for page in document.pages)
    return [(mark.kind, text[mark.start : mark.end]) for mark in document.marks]


def _rows(rows: Sequence[tuple[str, ...]]) -> list[tuple[MarkKind, str]]:
    kinds = [MarkKind.HEADER_ROW, *[MarkKind.ROW] * (len(rows) - 1)]
    return [(kind, " | ".join(row)) for kind, row in zip(kinds, rows, strict=True)]


@pytest.mark.parametrize(
    "layout", [TableBordersLayout.ALL, TableBordersLayout.INTERNAL, TableBordersLayout.HORIZONTAL_LINES]
)
def test_a_ruled_table_has_a_line_for_each_row_also_with_cells_of_several_lines(layout: TableBordersLayout) -> None:
    document = _document(TIMERS, layout)
    assert _marked(document) == _rows(TIMERS)
    assert f"\n\n{' | '.join(TIMERS[0])}\n{' | '.join(TIMERS[1])}\n" in document.pages[0].text


@pytest.mark.parametrize("name", ["ALL", "NONE", "INTERNAL", "MINIMAL", "HORIZONTAL_LINES", "SINGLE_TOP_LINE"])
def test_a_table_of_figures_is_one_with_any_lines_or_none(name: str) -> None:
    assert _marked(_document(FIGURES, getattr(TableBordersLayout, name))) == _rows(FIGURES)


@pytest.mark.parametrize("layout", [TableBordersLayout.NONE, TableBordersLayout.MINIMAL])
def test_cells_that_cannot_be_told_apart_stay_text(layout: TableBordersLayout) -> None:
    assert _marked(_document(TIMERS, layout)) == []


def test_a_table_goes_on_over_pages_with_its_header_on_each() -> None:
    document = drawn()
    document.set_auto_page_break(auto=True, margin=20)
    with document.table() as table:
        for number in range(60):
            table.row(("No", "Name", "Amount") if number == 0 else (str(number), f"Entry of {number}", f"{number}.50"))
    parsed = parse_pdf(saved(document), LIMITS)
    kinds = [kind for kind, _ in _marked(parsed)]
    assert len(parsed.pages) == 2
    assert kinds.count(MarkKind.ROW) == 59
    assert kinds.count(MarkKind.HEADER_ROW) == 2
    assert all(page.text.startswith("No | Name | Amount\n") for page in parsed.pages)


def test_a_broken_word_in_a_cell_is_joined_and_rows_are_not() -> None:
    lines = b"".join(b"50 %d m 350 %d l S\n" % (y, y) for y in (750, 700, 650))
    lines += b"".join(b"%d 650 m %d 750 l S\n" % (x, x) for x in (50, 200, 350))
    words = shown("timer", 60, 735) + shown("configu-", 210, 735) + shown("ration", 210, 722)
    words += shown("value", 60, 685) + shown("ends with a dash-", 210, 685)
    parsed = parse_pdf(raw_pdf([lines + words + shown("and text", 50, 600)]), LIMITS)
    assert [text for _, text in _marked(parsed)] == ["timer | configuration", "value | ends with a dash-"]
    assert parsed.pages[0].text.endswith("dash-\n\nand text\n")


def test_a_cell_over_several_columns_leaves_the_cells_beside_it_empty() -> None:
    document = drawn()
    with document.table() as table:
        head = table.row()
        head.cell("Year")
        head.cell("Figures of the plant", colspan=2)
        for row in FIGURES:
            table.row(row)
    assert [text for _, text in _marked(parse_pdf(saved(document), LIMITS))][:2] == [
        "Year | Figures of the plant |",
        "Item | 2023 | 2024",
    ]


def test_a_table_of_contents_is_no_table() -> None:
    document = drawn()
    for number in range(12):
        put(document, 20, 30 + 6 * number, f"{number // 3 + 1}.{number % 3 + 1}")
        put(document, 35, 30 + 6 * number, f"Section on subject {number}")
        put(document, 180, 30 + 6 * number, str(3 * number + 1))
    assert _marked(parse_pdf(saved(document), LIMITS)) == []


def test_a_list_with_its_numbers_apart_is_no_table() -> None:
    document = drawn()
    for number in range(9):
        put(document, 20, 30 + 6 * number, f"{number + 1}.")
        put(document, 30, 30 + 6 * number, f"What is to be done about subject {number}")
    assert _marked(parse_pdf(saved(document), LIMITS)) == []


def test_a_frame_around_text_and_a_grid_without_words_are_no_tables() -> None:
    document = drawn()
    document.multi_cell(0, 5, PROSE, border=1)
    for row in range(5):
        for column in range(5):
            document.set_xy(20 + 10 * column, 100 + 10 * row)
            document.cell(10, 10, "*", border=1)
    assert _marked(parse_pdf(saved(document), LIMITS)) == []


def test_a_page_full_of_lines_is_read_without_them() -> None:
    lines = b"".join(
        b"10 %d m 590 %d l S %d 10 m %d 790 l S\n" % (n % 790, n % 790, n % 590, n % 590) for n in range(3_000)
    )
    assert parse_pdf(raw_pdf([lines + shown("a drawing", 50, 700)]), LIMITS).pages[0].text == "a drawing\n"
