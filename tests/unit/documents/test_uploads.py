import unicodedata

import pytest
from hypothesis import given, strategies as st

from app.core.errors import InvalidRequestError
from app.documents.uploads import clean_name


@pytest.mark.parametrize(
    ("given_name", "kept"),
    [
        ("report.pdf", "report.pdf"),
        ("C:\\Users\\someone\\report.pdf", "report.pdf"),
        ("../../etc/passwd", "passwd"),
        ("  many   spaces .txt ", "many spaces .txt"),
        ("line\nbreak\x00.txt", "linebreak.txt"),
        ("invoice\u202efdp.exe", "invoicefdp.exe"),
        ("e\u0301tude.md", "\u00e9tude.md"),
        ("half\ud800.txt", "half.txt"),
        ("e\x00\u0301tude.md", "\u00e9tude.md"),
        ("1\u200e.txt", "1.txt"),
        ("two\u2028lines.txt", "two lines.txt"),
    ],
)
def test_name_keeps_what_a_reader_sees(given_name: str, kept: str) -> None:
    assert clean_name(given_name) == kept


@pytest.mark.parametrize("name", ["", "   ", "..", "folder/", "\x00\x1f", "x" * 256])
def test_name_that_says_nothing_or_too_much_is_refused(name: str) -> None:
    with pytest.raises(InvalidRequestError):
        clean_name(name)


@pytest.mark.parametrize(
    "name",
    ["\u200b", "\u200b\u2060", "\u200d \u200c", "\u2800", "\u3164", "\u115f\u1160", "\uffa0", "\u00ad", "\ufe0f",
     "\u034f", "\U000e0041\U000e007f", "\U000e0fff", "\u2065", "\U0001d159", "\u180e", "folder/\u200b", "\u202e\u200b"],
)  # fmt: skip
def test_name_that_shows_nothing_is_refused(name: str) -> None:
    with pytest.raises(InvalidRequestError, match="needs a name"):
        clean_name(name)


@pytest.mark.parametrize(
    "name", ["\u0646\u0627\u0645\u0647\u200c\u0647\u0627.pdf", "\U0001f468\u200d\U0001f469\u200d\U0001f467.md"]
)
def test_name_keeps_the_joiners_between_signs_that_show(name: str) -> None:
    assert clean_name(name) == name


@given(st.text(max_size=200))
def test_clean_name_is_stable_and_storable(name: str) -> None:
    try:
        cleaned = clean_name(name)
    except InvalidRequestError:
        return
    assert clean_name(cleaned) == cleaned
    assert unicodedata.is_normalized("NFC", cleaned)
    assert "\x00" not in cleaned
    assert "/" not in cleaned
    cleaned.encode("utf-8")
