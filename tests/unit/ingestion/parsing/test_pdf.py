import io

import pypdf
import pytest
from fpdf import FPDF
from PIL import Image
from pypdf.constants import PageLabelStyle

from app.core.boxes import unpack
from app.ingestion.parsing import pdf_library
from app.ingestion.parsing.pdf import parse_pdf
from app.ingestion.parsing.pypdf_text import PypdfText
from app.ingestion.parsing.types import ParseFailure, ParseLimits, ParseReason
from tests.support.growth import assert_linear
from tests.support.pdfs import raw_pdf, shown

LIMITS = ParseLimits(seconds=30, memory_bytes=2**30, max_pages=20, max_characters=100_000, max_unpacked_bytes=2**29)
BODIES = ("The pump starts at 40 degrees.", "Valves close by hand.", "Filters last a year.")


def _pdf(*pages: str) -> bytes:
    document = FPDF()
    document.set_font("Helvetica", size=12)
    for text in pages:
        document.add_page()
        document.multi_cell(0, 8, text)
    return bytes(document.output())


def _scan(*, pages: int = 1) -> FPDF:
    document = FPDF()
    for _ in range(pages):
        document.add_page()
        document.image(Image.new("RGB", (40, 40), "gray"), 10, 10, 100)
    return document


def _encrypted(user_password: str, algorithm: str = "AES-256") -> bytes:
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(_pdf(BODIES[0])))
    writer.encrypt(user_password, owner_password="owner", algorithm=algorithm)
    target = io.BytesIO()
    writer.write(target)
    return target.getvalue()


def _reason(data: bytes) -> ParseReason:
    with pytest.raises(ParseFailure) as caught:
        parse_pdf(data, LIMITS)
    return caught.value.reason


def test_pages_are_read_in_order_and_end_with_a_line() -> None:
    document = parse_pdf(_pdf(*BODIES), LIMITS)
    assert [page.text for page in document.pages] == [f"{body}\n" for body in BODIES]
    assert [(page.number, page.label) for page in document.pages] == [(1, "1"), (2, "2"), (3, "3")]
    assert document.warnings == ()


def test_headers_become_furniture() -> None:
    document = parse_pdf(_pdf(*(f"ACME\n{body}\n{number}" for number, body in enumerate(BODIES, start=1))), LIMITS)
    assert document.pages[2].text == f"{BODIES[2]}\n"
    assert document.pages[2].furniture == ("ACME", "3")


def test_page_labels_are_kept() -> None:
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(_pdf(*BODIES)))
    writer.set_page_label(0, 1, style=PageLabelStyle.LOWERCASE_ROMAN)
    writer.set_page_label(2, 2, style=PageLabelStyle.DECIMAL, start=1)
    target = io.BytesIO()
    writer.write(target)
    assert [page.label for page in parse_pdf(target.getvalue(), LIMITS).pages] == ["i", "ii", "1"]


def test_pages_without_text_are_named() -> None:
    document = _scan(pages=2)
    document.add_page()
    document.set_font("Helvetica", size=12)
    document.cell(text="Words at last.")
    parsed = parse_pdf(bytes(document.output()), LIMITS)
    assert parsed.warnings == ("Pages 1 to 2 hold no text.",)
    assert [page.has_text for page in parsed.pages] == [False, False, True]


def test_a_page_of_nothing_but_furniture_is_named_as_such() -> None:
    document = FPDF()
    document.set_font("Helvetica", size=12)
    for body in (*BODIES, ""):
        document.add_page()
        document.multi_cell(0, 8, f"ACME\n{body}")
    parsed = parse_pdf(bytes(document.output()), LIMITS)
    assert parsed.warnings == ("Page 4 holds no text but headers and footers.",)


def test_a_scan_has_no_text() -> None:
    assert _reason(bytes(_scan().output())) is ParseReason.NO_TEXT


@pytest.mark.parametrize("algorithm", ["RC4-40", "RC4-128", "AES-128", "AES-256-R5", "AES-256"])
def test_a_user_password_makes_it_encrypted_and_an_owner_password_alone_does_not(algorithm: str) -> None:
    assert _reason(_encrypted("secret", algorithm)) is ParseReason.ENCRYPTED
    page = parse_pdf(_encrypted("", algorithm), LIMITS).pages[0]
    assert page.text == f"{BODIES[0]}\n"
    assert page.boxes


@pytest.mark.parametrize("data", [b"%PDF-1.7\n", b"%PDF-1.7\n" + b"garbage " * 500, _pdf("x")[:300]])
def test_damaged_files_are_corrupt(data: bytes) -> None:
    assert _reason(data) is ParseReason.CORRUPT


def test_lost_spaces_in_every_page_are_low_quality() -> None:
    assert _reason(_pdf("Verifythatinputisvalidatedtoenforcebusinessexpectations" * 3)) is ParseReason.LOW_TEXT_QUALITY


def test_limits_are_kept() -> None:
    assert _reason(_pdf(*["x"] * 21)) is ParseReason.TOO_MANY_PAGES
    with pytest.raises(ParseFailure) as caught:
        parse_pdf(
            _pdf(*BODIES),
            ParseLimits(seconds=30, memory_bytes=2**30, max_pages=20, max_characters=50, max_unpacked_bytes=2**29),
        )
    assert caught.value.reason is ParseReason.TOO_MANY_CHARACTERS


def test_the_text_of_a_tab_is_a_space_and_spaces_are_one() -> None:
    assert parse_pdf(raw_pdf([shown("two  or   more", 50, 700)]), LIMITS).pages[0].text == "two or more\n"


def test_a_gap_between_paragraphs_is_a_blank_line() -> None:
    lines = [shown(f"line {number} of it", 50, 700 - 14 * number - 20 * (number > 2)) for number in range(5)]
    text = parse_pdf(raw_pdf([b"".join(lines)]), LIMITS).pages[0].text
    assert text == "line 0 of it\nline 1 of it\nline 2 of it\n\nline 3 of it\nline 4 of it\n"


def _lost_spaces(pages: int) -> bytes:
    content = shown("Verifythatinputisvalidatedtoenforcebusinessexpectations", 50, 700)
    return raw_pdf(
        [shown("A page that reads well and is longer than the other one by far, " * 3, 50, 700), *[content] * pages]
    )


def test_a_better_second_reading_replaces_an_unreadable_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PypdfText, "page_text", lambda _self, _index: "Verify that input is\nvali-\ndated.")
    page = parse_pdf(_lost_spaces(1), LIMITS).pages[1]
    assert (page.text, page.boxes) == ("Verify that input is\nvalidated.\n", b"")


def test_a_second_reading_that_loops_or_eats_memory_leaves_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    def loop(_self: PypdfText, _index: int) -> str:
        while True:
            pass

    def eat(_self: PypdfText, _index: int) -> str:
        raise MemoryError

    limits = ParseLimits(seconds=1, memory_bytes=2**30, max_pages=20, max_characters=100_000, max_unpacked_bytes=2**29)
    for misbehave in (loop, eat):
        monkeypatch.setattr(PypdfText, "page_text", misbehave)
        parsed = parse_pdf(_lost_spaces(1), limits)
        assert parsed.pages[1].text.startswith("Verifythat")
        assert parsed.warnings == ("The text of page 2 is hardly readable.",)


def test_what_pdfium_cannot_open_is_read_by_pypdf(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf_library, "open_document", lambda _data: pdf_library.Handle())
    parsed = parse_pdf(_pdf(*BODIES), LIMITS)
    assert [page.text for page in parsed.pages] == [f"{body}\n" for body in BODIES]
    assert [page.boxes for page in parsed.pages] == [b""] * 3


def test_pages_of_one_file_may_be_damaged() -> None:
    sound = raw_pdf([shown("first", 50, 700), shown("second", 50, 700)])
    parsed = parse_pdf(sound.replace(b"/Type/Page/Parent", b"/Tipe/Paje/Parent", 1), LIMITS)
    assert parsed.pages[-1].text == "second\n"


def test_many_labels_take_their_share_of_the_time_at_most() -> None:
    numbers = b" ".join(b"%d<</S/D/P(x%d)>>" % (number, number) for number in range(20_000))
    data = raw_pdf([shown("word", 50, 700)] * 20, catalog=b"/PageLabels<</Nums[%s]>>" % numbers)
    assert parse_pdf(data, LIMITS).pages[7].label == "x71"


def test_many_small_texts_on_one_page_take_linear_time() -> None:
    def work(texts: str) -> None:
        content = b"".join(shown("ab", 7 * number % 590, 790 - number // 80 * 3, 3) for number in range(len(texts)))
        parse_pdf(raw_pdf([content]), LIMITS)

    assert_linear(work, "x" * 20_000)


def test_more_words_than_are_asked_for_at_once_keep_their_places() -> None:
    rows = b"".join(shown("a b c d e f g h i j k l m n o p q r s t", 50, 790 - 7 * row, 5) for row in range(110))
    page = parse_pdf(raw_pdf([rows]), LIMITS).pages[0]
    boxes = list(unpack(page.boxes))
    assert len(boxes) == 2_200
    assert len({(box.left, box.right) for box in boxes[::20]}) == 1
    assert [box.top for box in boxes[::20]] == sorted(box.top for box in boxes[::20])
