# ruff: noqa: E501 - samples are easier to read in one line
import codecs

import pytest
from hypothesis import given, strategies as st

from app.documents.media_types import MediaType
from app.ingestion.parsing.csv_text import parse_csv
from app.ingestion.parsing.types import MarkKind, ParsedDocument, ParseFailure, ParseLimits, ParseReason
from tests.support.growth import assert_linear

LIMITS = ParseLimits(seconds=30, memory_bytes=2**30, max_pages=400, max_characters=6_000_000, max_unpacked_bytes=2**29)


def _text(document: ParsedDocument) -> str:
    return "".join(page.text for page in document.pages)


def _lines(data: bytes) -> list[str]:
    return _text(parse_csv(data, LIMITS)).splitlines()


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"name,value\nT1,5\n", ["name | value", "T1 | 5"]),
        (b"name;value\r\nT1;1,5\r\nT2;2,5\r\n", ["name | value", "T1 | 1,5", "T2 | 2,5"]),
        (b"name\tvalue\rT1\t5\r", ["name | value", "T1 | 5"]),
        (b"name|value\nT1|5\n", ["name | value", "T1 | 5"]),
        (b"sep=;\nname;value\nT1;5\n", ["name | value", "T1 | 5"]),
        (b'name,note\nT1,"a, b"\nT2,"says ""no"""\n', ["name | note", "T1 | a, b", 'T2 | says "no"']),
        (b'name,note\nT1,"one\ntwo"\n', ["name | note", "T1 | one two"]),
        (b"a,b,c\n1,,3\n,,\n,2,\n", ["a | b | c", "1 | | 3", "| 2 |"]),
        (b"a,b\n1,2\n3\n4,5,6\n7,8\n", ["a | b", "1 | 2", "3", "4 | 5 | 6", "7 | 8"]),
        (b"name\nAda\nGrace\n", ["name", "Ada", "Grace"]),
        (b'size,unit\n5" disk,x\n3" disk,y\n', ["size | unit", '5" disk | x', '3" disk | y']),
        (codecs.BOM_UTF8 + "caf\u00e9,b\n1,2\n".encode(), ["caf\u00e9 | b", "1 | 2"]),
        (codecs.BOM_UTF16_LE + "caf\u00e9;b\n1;2\n".encode("utf-16-le"), ["caf\u00e9 | b", "1 | 2"]),
        ("\u0438\u043c\u044f;\u0446\u0435\u043d\u0430\n\u0445\u043b\u0435\u0431;5\n\u0441\u043e\u043b\u044c;6\n".encode("cp1251"),
         ["\u0438\u043c\u044f | \u0446\u0435\u043d\u0430", "\u0445\u043b\u0435\u0431 | 5", "\u0441\u043e\u043b\u044c | 6"]),
    ],
)  # fmt: skip
def test_rows_are_lines(data: bytes, expected: list[str]) -> None:
    assert _lines(data) == expected


@pytest.mark.parametrize(
    ("data", "header"),
    [
        (b"name,value\nT1,5\n", True),
        (b"1,2\n3,4\n", False),
        (b"2024-01-01,12.5\n2024-01-02,13\n", False),
        (b"a,a\n1,2\n", False),
        (b"name,\nT1,5\n", False),
    ],
)
def test_a_first_row_of_names_is_the_header(data: bytes, header: bool) -> None:
    marks = parse_csv(data, LIMITS).marks
    assert [mark.kind is MarkKind.HEADER_ROW for mark in marks] == [header, *[False] * (len(marks) - 1)]


def test_a_quote_that_never_ends_takes_no_rows_with_it() -> None:
    lines = _lines(b'a,b\n"x,1\n' + b"c,2\n" * 5_000)
    assert len(lines) == 5_002
    assert lines[1] == '"x | 1'


def test_pages_end_at_rows() -> None:
    document = parse_csv(b"name,value\n" + b"some name,12345\n" * 5_000, LIMITS)
    assert len(document.pages) > 1
    assert all(page.text.endswith("\n") for page in document.pages)


def test_a_cell_of_900_kb_is_kept() -> None:
    assert len(_text(parse_csv(b"a,b\n1," + b"x" * 900_000 + b"\n", LIMITS))) > 900_000


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\n\n,,\n", ParseReason.NO_TEXT),
        (b"a,b\n" * 2_000_000, ParseReason.TOO_MANY_CHARACTERS),
        (b"a,b\n" + b"word,1\n" * 850_000, ParseReason.TOO_MANY_CHARACTERS),
    ],
)
def test_limits_are_kept(data: bytes, reason: ParseReason) -> None:
    with pytest.raises(ParseFailure) as caught:
        parse_csv(data, LIMITS)
    assert caught.value.reason is reason


@pytest.mark.parametrize("unit", ["a,b\n", '"', '"a,\n', 'a;"b\n', ",", "\u00e9\u0301;\n"])
def test_time_grows_with_the_text(unit: str) -> None:
    def read(text: str) -> None:
        try:
            parse_csv(text.encode(), LIMITS)
        except ParseFailure as failure:
            assert failure.reason is ParseReason.NO_TEXT  # noqa: PT017 (both ends are right)

    assert_linear(read, unit * (400_000 // len(unit)))


@given(st.binary(max_size=1_000) | st.text(alphabet='ab1,;|\t\n"\r\x00\f\u0301\u00e9 ').map(str.encode))
def test_marks_lie_in_the_text_whatever_the_bytes(data: bytes) -> None:
    try:
        document = parse_csv(data, LIMITS)
    except ParseFailure as failure:
        assert failure.detail_for(MediaType.CSV)  # noqa: PT017 (both ends are right)
        return
    text, end = _text(document), 0
    for mark in document.marks:
        assert end <= mark.start < mark.end <= len(text)
        assert "\n" not in text[mark.start : mark.end]
        end = mark.end
    assert "\x00" not in text
