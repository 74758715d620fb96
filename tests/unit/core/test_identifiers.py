import pytest
from hypothesis import given, strategies as st

from app.core.identifiers import extract_identifiers, missing_identifiers, name_identifiers
from tests.support.growth import assert_linear


@pytest.mark.parametrize(
    ("text", "forms"),
    [
        ("Timer T3410 expires.", ("t3410",)),
        ("see 11.4.1.", ("11.4.1",)),
        ("V5.1.3 and v17.4.0", ("5.1.3", "17.4.0")),
        ("RFC 4960", ("4960", "rfc4960")),
        ("RFC4960", ("rfc4960",)),
        ("error E-1042 or E1042", ("e1042",)),
        ("0x80070005", ("0x80070005",)),
        ("on 2021-03-04 (3/4/2021)", ("2021-03-04", "3/4/2021")),
        ("pages 10\u201312", ("10", "12")),
        ("10-12", ("10-12", "10", "12")),
        ("$1,234,567.89", ("1234567.89",)),
        ("CVE-2021-44228", ("cve-2021-44228",)),
        ("GPT\u20114, ISO/IEC 27001", ("gpt4", "27001", "iec27001")),
        ("\uff12\uff13", ("23",)),
        ("no digits at all", ()),
        ("4 x 4", ("4",)),
    ],
)
def test_forms_of_identifiers(text: str, forms: tuple[str, ...]) -> None:
    assert extract_identifiers(text) == forms


def test_neighbouring_names_share_no_form() -> None:
    assert not set(extract_identifiers("T3410")) & set(extract_identifiers("T3411"))


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("RFC 4960 says so", "RFC4960"),
        ("RFC 4960 says so", "RFCs 4960 and 9260"),
        ("Rule V5.1.3", "5.1.3 Verify that"),
        ("10-12 items", "from 10 to 12 items"),
        ("E1042 occurs", "error e-1042"),
    ],
)
def test_an_identifier_written_otherwise_stands_in_its_evidence(claim: str, evidence: str) -> None:
    assert missing_identifiers(claim, [evidence]) == ()


@pytest.mark.parametrize(
    ("claim", "evidence", "missing"),
    [
        ("T3411 expires", "T3410 expires", ("t3411",)),
        ("10-12 items", "10 items", ("10-12",)),
        ("It was 1,500.", "It was 1,501.", ("1500",)),
        ("E-1042 occurs", "1042 apples", ("e1042",)),
        ("Since 1999, 1999", "", ("1999",)),
    ],
)
def test_an_identifier_without_evidence_is_named(claim: str, evidence: str, missing: tuple[str, ...]) -> None:
    assert missing_identifiers(claim, [evidence]) == missing


def test_evidence_may_be_spread_over_quotes_and_question() -> None:
    assert missing_identifiers("T3410 lasts 15 s", ["What is T3410?", "it lasts 15 s"]) == ()


@given(st.text())
def test_a_text_supports_itself_and_forms_hold_digits(text: str) -> None:
    assert missing_identifiers(text, [text]) == ()
    assert all(any(character.isdigit() for character in form) for form in extract_identifiers(text))


@pytest.mark.parametrize("unit", ["1,234", "1-", "a.", "1/2/", "v1.", "x1 "])
def test_a_megabyte_without_pauses_takes_linear_time(unit: str) -> None:
    assert_linear(extract_identifiers, unit * (1_000_000 // len(unit)))


@pytest.mark.parametrize(("name", "identifier"), [("ASVS 3.0.pdf", "3.0"), ("TS 24.301 v18.9.md", "24.301")])
def test_a_name_is_known_by_its_numbers_without_the_extension(name: str, identifier: str) -> None:
    assert identifier in name_identifiers(name)
    assert not any("pdf" in found or "md" in found for found in name_identifiers(name))
