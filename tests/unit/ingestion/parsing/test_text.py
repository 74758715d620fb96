import base64
import codecs
import random
from collections.abc import Callable

import pytest
from hypothesis import given, strategies as st

from app.documents.encodings import decode
from app.documents.media_types import MediaType
from app.ingestion.parsing.csv_text import parse_csv
from app.ingestion.parsing.text import parse_text
from app.ingestion.parsing.types import ParsedDocument, ParseFailure, ParseLimits, ParseReason

LIMITS = ParseLimits(seconds=30, memory_bytes=2**30, max_pages=100, max_characters=6_000_000, max_unpacked_bytes=2**29)


def _text(document: ParsedDocument) -> str:
    return "".join(page.text for page in document.pages)


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (b"", "utf-8"),
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (b"", "cp1252"),
    ],
)
def test_text_of_any_encoding_is_read(mark: bytes, encoding: str) -> None:
    text = "Le caf\u00e9 d\u00e9j\u00e0 servi \u00e9tait tr\u00e8s chaud, et la fen\u00eatre \u00e9tait ferm\u00e9e."
    assert decode(mark + text.encode(encoding)).text == text


def test_form_feeds_end_pages_and_empty_ones_are_reported() -> None:
    document = parse_text(b"one\x0c\x0cthree", LIMITS)
    assert [page.text for page in document.pages] == ["one\n", "three\n"]


def test_markdown_keeps_its_source() -> None:
    source = "# Title\n\n- a-\nb\n\n\n| x | y |"
    assert _text(parse_text(source.encode(), LIMITS)) == source


def test_headers_of_a_paged_text_are_taken_out() -> None:
    source = "\f".join(f"RFC 1 Title\n\nBody number {word}." for word in ("one", "two", "three"))
    document = parse_text(source.encode(), LIMITS)
    assert document.pages[1].text == "Body number two.\n"
    assert document.pages[1].furniture == ("RFC 1 Title",)


@pytest.mark.parametrize("data", [b"", b" \n\t\x0c ", b"\x00\x00", codecs.BOM_UTF8, b"\xef\xbb\xbf\xef\xbb\xbf"])
def test_nothing_but_space_has_no_text(data: bytes) -> None:
    with pytest.raises(ParseFailure) as caught:
        parse_text(data, LIMITS)
    assert caught.value.reason is ParseReason.NO_TEXT


@pytest.mark.parametrize(
    "text",
    [
        "\u200b" * 50,
        "\ufeff\ufeff",
        "\u00ad",
        "\u2060 \u00a0\u2003\n",
        "\u3164\u2800\ufe0f\u034f",
        "\u202e\u200d\f\u200b",
    ],
)
def test_characters_that_show_nothing_are_no_text(text: str) -> None:
    with pytest.raises(ParseFailure) as caught:
        parse_text(text.encode(), LIMITS)
    assert caught.value.reason is ParseReason.NO_TEXT


def test_a_page_of_characters_that_show_nothing_is_reported() -> None:
    document = parse_text("Text here.\f\u200b\u00ad\f!".encode(), LIMITS)
    assert [page.has_text for page in document.pages] == [True, False, True]
    assert document.warnings == ("Page 2 holds no text.",)


@pytest.mark.parametrize(
    ("data", "reason"),
    [(b"a" * 7_000_000, ParseReason.TOO_MANY_CHARACTERS), (b"a\x0c" * 200, ParseReason.TOO_MANY_PAGES)],
)
def test_limits_are_kept(data: bytes, reason: ParseReason) -> None:
    with pytest.raises(ParseFailure) as caught:
        parse_text(data, LIMITS)
    assert caught.value.reason is reason


@given(st.binary(max_size=2_000))
def test_any_bytes_reach_a_good_or_a_typed_end(data: bytes) -> None:
    try:
        document = parse_text(data, LIMITS)
    except ParseFailure as failure:
        assert failure.detail_for(MediaType.TEXT)  # noqa: PT017 (both ends are right)
    else:
        assert [page.number for page in document.pages] == list(range(1, len(document.pages) + 1))
        _text(document).encode()


def test_a_900_kb_line_becomes_pages_that_make_it_up() -> None:
    document = parse_text(b"a" * 900_000, LIMITS)
    assert _text(document) == "a" * 900_000
    assert max(len(page.text) for page in document.pages) <= 20_000


@pytest.mark.parametrize(
    "data",
    [
        base64.b64encode(random.Random(1).randbytes(30_000)),  # noqa: S311
        random.Random(2).randbytes(30_000).hex().encode(),  # noqa: S311
        b"[[1,0,0],[0,1,0],[],{}]," * 2_000,
        b"2026-01-02T03:04:05Z \x1b[31mERROR\x1b[0m [x] {} != []; 0x7f\n" * 500,
        b"for(;;){if(!(a[i]&&b[i]))++i;}" * 500,
        b"ACGT" * 20_000,
        b"+---+---+\n| 1 | 2 |\n" * 500,
        "\u8fd9\u662f\u4e00\u4e2a\u6ca1\u6709\u7a7a\u683c\u7684\u53e5\u5b50".encode() * 2_000,
        "\U0001f600\U0001f389".encode() * 500,
        "\u9f98\u9f96\u9750\u4a3b".encode() * 500,
    ],
)
def test_data_code_and_logs_are_text_too(data: bytes) -> None:
    assert parse_text(data, LIMITS).pages


@pytest.mark.parametrize(
    "data",
    [
        b"#!/bin/sh\n" + random.Random(3).randbytes(200_000),  # noqa: S311
        "\ue001\ue002 \ue003".encode() * 500,
        "caf\ufffd \ufffd\ufffd".encode() * 500,
        b"\x00\x01\x02\xff\xfe" * 200,
        b"\xff\xfe\x00\x01\x02" * 200,
    ],
)
@pytest.mark.parametrize("parse", [parse_text, parse_csv])
def test_what_is_hardly_readable_has_too_little_quality(
    data: bytes, parse: Callable[[bytes, ParseLimits], ParsedDocument]
) -> None:
    with pytest.raises(ParseFailure) as caught:
        parse(data, LIMITS)
    assert caught.value.reason is ParseReason.LOW_TEXT_QUALITY
