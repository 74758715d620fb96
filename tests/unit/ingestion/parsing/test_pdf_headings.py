import pytest
from fpdf import FPDF

from app.ingestion.parsing.pdf import parse_pdf
from app.ingestion.parsing.types import MarkKind, ParseLimits
from tests.support.growth import assert_linear
from tests.support.pdfs import drawn, put, raw_pdf, saved, shown

LIMITS = ParseLimits(seconds=30, memory_bytes=2**30, max_pages=20, max_characters=100_000, max_unpacked_bytes=2**29)
PROSE = (
    "The pump starts at forty degrees, and its valve is closed by hand when the pressure falls below the limit. " * 6
)


def _headings(data: bytes) -> list[tuple[int, str]]:
    parsed = parse_pdf(data, LIMITS)
    text = "".join(page.text for page in parsed.pages)
    return [(mark.level, text[mark.start : mark.end]) for mark in parsed.marks if mark.kind is MarkKind.HEADING]


def _prose(document: FPDF) -> None:
    document.set_font(style="", size=10)
    document.ln(7)
    document.set_x(20)
    document.multi_cell(0, 5, PROSE)
    document.ln(5)


def test_larger_type_is_a_heading_and_its_size_gives_the_level() -> None:
    document = drawn()
    for size, title in ((18, "Operation"), (14, "Starting the pump"), (14, "Stopping the pump"), (18, "Repair")):
        put(document, 20, document.get_y(), title, size=size)
        _prose(document)
    assert _headings(saved(document)) == [
        (1, "Operation"),
        (2, "Starting the pump"),
        (2, "Stopping the pump"),
        (1, "Repair"),
    ]


def test_a_bold_line_of_its_own_is_a_heading_and_bold_words_or_paragraphs_are_not() -> None:
    document = drawn()
    put(document, 20, 20, "Safety first", style="B")
    _prose(document)
    put(document, 20, document.get_y(), "Note:", style="B")
    _prose(document)
    document.set_font(style="B", size=10)
    document.multi_cell(0, 5, PROSE)
    assert _headings(saved(document)) == [(1, "Safety first")]


def test_a_heading_of_two_lines_is_one() -> None:
    document = drawn()
    put(document, 20, 20, "Introduction to the geometry", size=16)
    put(document, 20, 27, "and topology of pumps", size=16)
    document.ln(5)
    _prose(document)
    assert _headings(saved(document)) == [(1, "Introduction to the geometry\nand topology of pumps")]


def test_the_outline_names_headings_in_body_type_with_their_depth() -> None:
    document = drawn()
    document.start_section("Scope of this manual")
    put(document, 20, 20, "1  Scope of this manual")
    _prose(document)
    document.start_section("Words used", level=1)
    put(document, 20, document.get_y(), "Words used")
    _prose(document)
    document.start_section("Not on the page", level=1)
    assert _headings(saved(document)) == [(1, "1 Scope of this manual"), (2, "Words used")]


def test_furniture_is_no_heading() -> None:
    document = drawn()
    for subject in ("pumps", "valves", "filters"):
        put(document, 20, 8, "ACME MANUAL", size=16, style="B")
        put(document, 20, 30, f"Of {subject}", size=14)
        _prose(document)
        document.add_page()
    assert _headings(saved(document)) == [(1, "Of pumps"), (1, "Of valves"), (1, "Of filters")]


def test_when_all_is_large_nothing_stands_out() -> None:
    document = drawn()
    for number in range(10):
        put(document, 20, 20 + 20 * number, f"Small print of {number}", size=8)
        put(document, 20, 27 + 20 * number, f"Large words {number}", size=14)
    assert _headings(saved(document)) == []


def _outlined(count: int, entry: str) -> bytes:
    """A page with an outline of that many entries, object 7 and on, all of the same form."""
    root = b"<</Type/Outlines/First 7 0 R/Last %d 0 R/Count %d>>" % (6 + count, count)
    entries = [entry.format(n=number, next=8 + number).encode() for number in range(count)]
    content = shown("Entry 3", 50, 700) + shown("Some text below it that is longer than the title", 50, 680)
    return raw_pdf([content], catalog=b"/Outlines 6 0 R", more=[root, *entries])


@pytest.mark.parametrize(
    "entry",
    [
        "<</Title(Entry {n})/Parent 6 0 R/Dest[4 0 R/Fit]/Next 7 0 R/First 7 0 R>>",
        "<</Title(Entry {n})/Parent 6 0 R/Dest[4 0 R/Fit]/Next {next} 0 R>>",
        "<</Title(Entry {n})/Parent 6 0 R/A<</S/GoTo/D[4 0 R/Fit]>>/First {next} 0 R>>",
        "<</Title(Entry {n})/Parent 6 0 R/Dest[999999 0 R/Fit]/Next {next} 0 R>>",
        "<</Title 7/Parent 6 0 R/Dest 7/Next(what)>>",
    ],
)
def test_a_hostile_outline_ends_and_leaves_the_text(entry: str) -> None:
    def work(entries: str) -> None:
        assert parse_pdf(_outlined(len(entries), entry), LIMITS).pages[0].text.startswith("Entry 3\n")

    assert_linear(work, "x" * 30_000)


def test_an_outline_of_many_entries_finds_its_title() -> None:
    entry = "<</Title(Entry {n})/Parent 6 0 R/Dest[4 0 R/Fit]/Next {next} 0 R>>"
    assert _headings(_outlined(30_000, entry)) == [(1, "Entry 3")]
