"""Where words stand: each run without white space of a page's text has its boxes, whatever was done to the text."""

import re
import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given, settings, strategies as st

from app.core.boxes import FULL, Box, unpack
from app.ingestion.parsing.canonical import vocabulary
from app.ingestion.parsing.pdf import parse_pdf
from app.ingestion.parsing.pdf_layout import Piece
from app.ingestion.parsing.pdf_pages import DraftPage, canonical_page, placed_page
from app.ingestion.parsing.pdf_words import PageWords, Word
from app.ingestion.parsing.types import ParsedPage, ParseLimits
from tests.support.growth import assert_linear
from tests.support.pdfs import drawn, put, raw_pdf, saved, shown

LIMITS = ParseLimits(seconds=30, memory_bytes=2**30, max_pages=20, max_characters=100_000, max_unpacked_bytes=2**29)
MILLIMETRE = 72 / 25.4


def _assert_boxes_cover(text: str, packed: bytes) -> list[Box]:
    boxes = list(unpack(packed))
    assert "".join(text[box.start : box.end] for box in boxes) == re.sub(r"\s", "", text)
    assert all(before.end <= after.start for before, after in pairwise(boxes))
    return boxes


def _page(data: bytes) -> ParsedPage:
    page = parse_pdf(data, LIMITS).pages[0]
    _assert_boxes_cover(page.text, page.boxes)
    return page


def _box(page: ParsedPage, word: str) -> Box:
    start = page.text.index(word)
    return next(box for box in unpack(page.boxes) if box.start <= start < box.end)


def _middle(page: ParsedPage, word: str) -> tuple[float, float]:
    """Return the middle of a word's first box in points from the top left corner."""
    box = _box(page, word)
    return (box.left + box.right) / 2 * (page.width or 0), (box.top + box.bottom) / 2 * (page.height or 0)


def test_a_word_has_the_box_it_is_drawn_in() -> None:
    document = drawn()
    put(document, 50, 100, "pump")
    page = _page(saved(document))
    box = _box(page, "pump")
    assert (page.width, page.height) == pytest.approx((595.28, 841.89), abs=0.1)
    assert box.left * 595.28 == pytest.approx(51 * MILLIMETRE, abs=1)
    assert (box.right - box.left) * 595.28 == pytest.approx(document.get_string_width("pump") * MILLIMETRE, abs=1)
    assert 100 * MILLIMETRE - 1 < box.top * 841.89 < box.bottom * 841.89 < 105 * MILLIMETRE + 2


@pytest.mark.parametrize(
    ("turn", "place", "size"),
    [
        (0, (100, 100), (600, 800)),
        (90, (700, 100), (800, 600)),
        (180, (500, 700), (600, 800)),
        (270, (100, 500), (800, 600)),
        (450, (700, 100), (800, 600)),
    ],
)
def test_boxes_are_given_as_the_page_is_turned(turn: int, place: tuple[int, int], size: tuple[int, int]) -> None:
    page = _page(raw_pdf([shown("O", 96, 696)], page=b"/Rotate %d" % turn))
    assert [page.width, page.height] == list(size)
    assert _middle(page, "O") == pytest.approx(place, abs=6)


def test_boxes_count_from_the_corner_of_the_crop_box() -> None:
    page = _page(raw_pdf([shown("O", 96, 696)], page=b"/CropBox[50 100 550 750]"))
    assert [page.width, page.height] == [500, 650]
    assert _middle(page, "O") == pytest.approx((50, 50), abs=6)


def test_a_word_joined_over_a_line_end_has_a_box_on_each_line() -> None:
    page = _page(raw_pdf([shown("the configu-", 50, 700) + shown("ration of it", 50, 686)]))
    assert page.text == "the configuration of it\n"
    first, second = (_box(page, word) for word in ("configu", "ration"))
    assert (page.text[first.start : first.end], page.text[second.start : second.end]) == ("configu", "ration")
    assert first.bottom < second.bottom
    assert second.left < first.left


def test_words_beyond_furniture_and_odd_characters_keep_their_boxes() -> None:
    document = drawn()
    for number, word in enumerate(("pump", "valve", "filter")):
        put(document, 20, 10, "ACME manual")
        put(document, 20, 50 + number, f"na\u00efve caf\u00e9  {word}")
        document.add_page()
    pages = parse_pdf(saved(document), LIMITS).pages
    for page in pages:
        _assert_boxes_cover(page.text, page.boxes)
    assert pages[1].text == "na\u00efve caf\u00e9 valve\n"
    assert pages[1].furniture == ("ACME manual",)
    assert _middle(pages[1], "valve")[1] == pytest.approx(53.5 * MILLIMETRE, abs=3)


def test_a_superscript_belongs_to_its_word() -> None:
    page = _page(raw_pdf([shown("area in km", 50, 700) + shown("2", 98, 704, 6) + shown("of land", 110, 700)]))
    assert page.text == "area in km2 of land\n"


def test_impossible_places_leave_a_page_without_boxes_or_outside_words_at_its_edge() -> None:
    far = b"BT /F1 10 Tf 1 0 0 1 90000 90000 Tm (far) Tj ET\n"
    page = _page(raw_pdf([shown("here", 50, 700) + far]))
    assert all(0 <= edge <= 1 for box in unpack(page.boxes) for edge in box[2:])
    huge = b"BT /F1 1e38 Tf 1e38 0 0 1e38 1e38 1e38 Tm (huge) Tj ET\n"
    parse_pdf(raw_pdf([shown("here", 50, 700) + huge]), LIMITS)


WORDS = st.text(alphabet=st.sampled_from("abcdeXY\u00e4\u0301-\u2010\u00ad.1|"), min_size=1, max_size=8)


@st.composite
def _drafts(draw: st.DrawFn) -> DraftPage:
    lines = draw(st.lists(st.lists(WORDS, min_size=1, max_size=4), min_size=1, max_size=12))
    pieces = []
    for number, line in enumerate(lines):
        words = tuple(
            Word(unicodedata.normalize("NFC", text), 10.0 * index, 10.0 * number, 10.0 * index + 8, 10.0 * number + 9)
            for index, text in enumerate(line)
        )
        pieces.append(Piece(words, 0, 10.0 * number, 100, 10.0 * number + 9, number, 0, 9.0, bold=False))
    return placed_page("", PageWords(100, 200, (), ()), pieces, ())


@given(_drafts(), st.data())
@settings(max_examples=300, deadline=None)
def test_boxes_survive_what_is_done_to_the_text(page: DraftPage, data: st.DataObject) -> None:
    kept = [index for index in range(len(page.lines)) if data.draw(st.booleans())]
    headings = {index for index in kept if data.draw(st.booleans())}
    words = vocabulary(["\n".join(page.lines[index].text for index in kept)])
    canonical = canonical_page(page, kept, words, headings)
    boxes = _assert_boxes_cover(canonical.text, canonical.boxes)
    assert all(0 <= round(edge * FULL) <= FULL for box in boxes for edge in box[2:])
    assert [line.start for line in canonical.lines] == sorted(line.start for line in canonical.lines)
    assert all(0 <= line.start <= line.end <= len(canonical.text) for line in canonical.lines)
    assert unicodedata.is_normalized("NFC", canonical.text)


def test_a_page_of_many_broken_words_takes_linear_time() -> None:
    def work(text: str) -> None:
        lines = text.split("\n")
        words = (Word(line, 0.0, 9.0, 9.0, 18.0) for line in lines)
        pieces = [Piece((word,), 0, 9, 9, 18, number, 0, 9.0, bold=False) for number, word in enumerate(words)]
        page = placed_page("", PageWords(100, 200, (), ()), pieces, ())
        canonical_page(page, range(len(page.lines)), frozenset(), set())

    assert_linear(work, "configu-\nration\n" * 20_000)
