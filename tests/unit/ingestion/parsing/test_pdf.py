import io

import pypdf
import pytest
from fpdf import FPDF
from PIL import Image
from pypdf.constants import PageLabelStyle

from app.ingestion.parsing.pdf import parse_pdf
from app.ingestion.parsing.types import ParseFailure, ParseLimits, ParseReason

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


def _encrypted(user_password: str) -> bytes:
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(_pdf(BODIES[0])))
    writer.encrypt(user_password, owner_password="owner", algorithm="AES-256")
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


def test_a_scan_has_no_text() -> None:
    assert _reason(bytes(_scan().output())) is ParseReason.NO_TEXT


def test_a_password_makes_it_encrypted_and_an_empty_one_opens() -> None:
    assert _reason(_encrypted("secret")) is ParseReason.ENCRYPTED
    assert parse_pdf(_encrypted(""), LIMITS).pages[0].text == f"{BODIES[0]}\n"


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
