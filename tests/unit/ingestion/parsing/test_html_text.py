# ruff: noqa: E501 - samples are easier to read in one line
import codecs

import pytest
from hypothesis import given, settings, strategies as st

from app.documents.media_types import MediaType
from app.ingestion.parsing.html_text import parse_html
from app.ingestion.parsing.types import ParsedDocument, ParseFailure, ParseLimits, ParseReason
from tests.support.growth import assert_linear

LIMITS = ParseLimits(seconds=30, memory_bytes=2**30, max_pages=400, max_characters=6_000_000, max_unpacked_bytes=2**29)


def _text(document: ParsedDocument) -> str:
    return "".join(page.text for page in document.pages)


def _read(page: str | bytes) -> str:
    return _text(parse_html(page.encode() if isinstance(page, str) else page, LIMITS))


def _marked(page: str) -> list[tuple[str, int, str]]:
    document = parse_html(page.encode(), LIMITS)
    text = _text(document)
    return [(mark.kind.value, mark.level, text[mark.start : mark.end]) for mark in document.marks]


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("<p>one <b>tw</b>o<p>three", "one two\n\nthree\n"),
        ("<div>one</div><div>two</div>", "one\ntwo\n"),
        ("<p>one<br>two<br/>three", "one\ntwo\nthree\n"),
        ("<p>caf&eacute; &amp; &lt;tag&gt; &#x4f60;&nbsp;x", "caf\u00e9 & <tag> \u4f60 x\n"),
        ("<p>co\u00adop&shy;erate lo<wbr>ng", "cooperate long\n"),
        ("<p>  many \n\n spaces\t here ", "many spaces here\n"),
        ("<p>E=mc<sup>2</sup>", "E=mc2\n"),
        ("<ul><li>one<li><p>two</ul>after", "- one\n- two\n\nafter\n"),
        ("<ol start=3><li>c<li value=7>g<li>h</ol>", "3. c\n7. g\n8. h\n"),
        ("<ul><li>a<ul><li>b</ul></ul>", "- a\n- b\n"),
        ("<dl><dt>Timer<dd>five seconds</dl>", "Timer\nfive seconds\n"),
        ("<pre>  a\n    b\n\n\n  c  </pre>x", "  a\n    b\n\n  c\n\nx\n"),
        ("<script>no</script><style>no</style><noscript>no</noscript><template>no</template>yes", "yes\n"),
        ("<nav>menu</nav><div role=navigation>menu</div><main>text</main><footer>foot</footer>", "text\n\nfoot\n"),
        ("<p hidden>no</p><p style='color:red; display : none'>no</p><p aria-hidden=true>kept</p>", "kept\n"),
        ("<p style='visibility:hidden'>no<p hidden=until-found>found", "found\n"),
        ("<img alt=no><input value=no><select><option>no</select><textarea>no</textarea><button>no</button>x", "x\n"),
        ("<iframe>no</iframe><svg><text>no</text></svg><object>no</object>x", "x\n"),
        ("<table><tr><td>alone</td></tr></table>", "alone\n"),
        ("<details><summary>More</summary>inside</details>", "More\ninside\n"),
        ("<!-- no --><p>x<!-- no -->y", "xy\n"),
    ],
)
def test_what_a_reader_sees_is_the_text(page: str, expected: str) -> None:
    assert _read(page) == expected


def test_headings_are_marked_and_are_one_line() -> None:
    page = "<title>Whole</title><h1>The<br>plan</h1>Text<h3><a href=x>Deep <div>part</div></a></h3>more"
    assert _marked(page) == [("heading", 1, "The plan"), ("heading", 3, "Deep part")]
    assert parse_html(page.encode(), LIMITS).all_headings_marked


def test_the_title_stands_in_for_a_heading() -> None:
    assert _marked("<head><title>A  page</title></head><h2>Part</h2>x") == [
        ("heading", 1, "A page"),
        ("heading", 2, "Part"),
    ]


def test_without_headings_lines_may_be_some() -> None:
    assert not parse_html(b"<p>1. Scope<p>Text", LIMITS).all_headings_marked


def test_tables_are_rows_with_their_header() -> None:
    page = (
        "<p>Before<table><caption>Timers</caption><thead><tr><th>Name<th>Value</thead>"
        "<tbody><tr><th>T1<td><p>5 s<p>at most<tr><td>T2<td></table>After"
    )
    assert _read(page) == "Before\n\nTimers\nName | Value\nT1 | 5 s at most\nT2 |\n\nAfter\n"
    assert _marked(page) == [("header_row", 0, "Name | Value"), ("row", 0, "T1 | 5 s at most"), ("row", 0, "T2 |")]


def test_cells_over_rows_and_columns_keep_the_columns() -> None:
    page = (
        "<table><tr><th colspan=2>Group<th>C<tr><td rowspan=2>G1<td>a<td rowspan=3>x<tr><td>b<tr><td>G2<td>c"
        "<tr><td>G3<td>d<td>y</table>"
    )
    assert _read(page).splitlines() == ["Group | | C", "G1 | a | x", "G1 | b | x", "G2 | c | x", "G3 | d | y"]


@pytest.mark.parametrize(
    "page",
    [
        "<table role=presentation><tr><td>a<td>b</table>",
        "<table><tr><td><h2>Head</h2><td>b</table>",
        "<table><tr><td><table><tr><td>x</table><td>b</table>",
        "<table><tr><td>a<tr><td>b</table>",
    ],
)
def test_tables_that_only_place_things_are_no_rows(page: str) -> None:
    assert not [mark for mark in parse_html(page.encode(), LIMITS).marks if mark.kind.value.endswith("row")]


def test_a_data_table_within_a_layout_table_is_rows() -> None:
    page = "<table><tr><td>menu<td><table><tr><td>a<td>b</table></table>"
    assert _marked(page) == [("row", 0, "a | b")]


def test_pages_begin_at_the_topmost_headings() -> None:
    body = "<p>" + "Some words of text. " * 150
    document = parse_html(
        f"<h1>All</h1><h2>One</h2>{body}<h2>Two</h2>{body}<h3>Deep</h3>{body}<h2>Three</h2>x".encode(), LIMITS
    )
    assert [page.text.split("\n")[0] for page in document.pages] == ["All", "Two", "Three"]


_RUSSIAN = "\u0414\u043e\u0433\u043e\u0432\u043e\u0440 \u0432\u0441\u0442\u0443\u043f\u0430\u0435\u0442 \u0432 \u0441\u0438\u043b\u0443"


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (f"<meta charset=windows-1251><p>{_RUSSIAN}".encode("cp1251"), _RUSSIAN),
        (f'<meta http-equiv=x content="text/html; charset=koi8-r"><p>{_RUSSIAN}'.encode("koi8-r"), _RUSSIAN),
        (f'<?xml version="1.0" encoding="windows-1251"?><html><p>{_RUSSIAN}</p></html>'.encode("cp1251"), _RUSSIAN),
        ("<meta charset=shift_jis><p>\u2460\u5951\u7d04".encode("cp932"), "\u2460\u5951\u7d04"),
        ("<meta charset=iso-8859-1><p>\u201cx\u201d \u20ac".encode("cp1252"), "\u201cx\u201d \u20ac"),
        ("<meta charset=iso-2022-jp><p>\u5951\u7d04".encode("iso2022_jp"), "\u5951\u7d04"),
        (f"<meta charset=iso-8859-1><p>{_RUSSIAN}".encode(), _RUSSIAN),
        (codecs.BOM_UTF8 + f"<meta charset=koi8-r><p>{_RUSSIAN}".encode(), _RUSSIAN),
        (codecs.BOM_UTF16_LE + f"<p>{_RUSSIAN}".encode("utf-16-le"), _RUSSIAN),
        (f"<!doctype html><p>{_RUSSIAN}".encode("utf-16-be"), _RUSSIAN),
        (b"<meta charset=rot13><p>plain", "plain"),
        (b"<meta charset=utf-7><p>+ADw-b+AD4-", "+ADw-b+AD4-"),
    ],
)
def test_the_encoding_is_what_the_bytes_prove_or_the_page_says(data: bytes, expected: str) -> None:
    assert _read(data) == expected + "\n"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"<html></html>", ParseReason.NO_TEXT),
        (b"<script>x</script>", ParseReason.NO_TEXT),
        (b"<p>x" * 20, None),
        (b"<p>" + b"a" * 7_000_000, ParseReason.TOO_MANY_CHARACTERS),
        (b"<table><tr>" + b"<td rowspan=60000>abc" * 2000 + b"<tr><td>x<td>y" * 3000, ParseReason.TOO_MANY_CHARACTERS),
    ],
)
def test_limits_are_kept(data: bytes, reason: ParseReason | None) -> None:
    try:
        parse_html(data, LIMITS)
    except ParseFailure as failure:
        assert failure.reason is reason  # noqa: PT017 (one case ends well)
    else:
        assert reason is None


@pytest.mark.parametrize(
    "tag", ["div", "b", "p", "table><tr><td", "ul><li", "span hidden", "blockquote", "a href=x", "svg"]
)
def test_deep_nesting_loses_no_text_and_takes_linear_time(tag: str) -> None:
    unit = f"<{tag}>"
    assert_linear(lambda text: parse_html(b"<p>Seen.</p>" + text.encode(), LIMITS), unit * (400_000 // len(unit)))
    if "hidden" not in tag and tag != "svg":
        assert _read(unit * 20_000 + "deep") == "- deep\n" if "li" in tag else "deep\n"


@pytest.mark.parametrize(
    "unit", ["<", "<a ", "<a x='", "<!--", "&amp;", "<p>x", "<td>x", "<br>", "</p>", "<li>x", "<pre>\n"]
)
def test_time_grows_with_the_page(unit: str) -> None:
    assert_linear(lambda text: parse_html(b"Seen " + text.encode(), LIMITS), unit * (300_000 // len(unit)))


def test_many_attributes_take_linear_time() -> None:
    def read(text: str) -> None:
        parse_html(f"<a {text}>x</a>y".encode(), LIMITS)

    assert_linear(read, " ".join(f"a{number}=1" for number in range(60_000)))


_PIECES = st.sampled_from(
    "<p> </p> <div> </div> <table> <tr> <td> <th> </td> </tr> </table> <thead> <h1> </h1> <h2> <li> <ul> </ul> <ol> <pre> "
    "</pre> <br> <b> </b> <caption> <td\u00a0rowspan=3> x \u0301 \n a\u00e9 &nbsp; <p\u00a0hidden> <select> </select> "
    "<template> </template> <svg> <math> <frameset> <title> </title> <body> </html> <plaintext> \x00 \f".replace(
        " ", "\x1f"
    )
    .replace("\u00a0", " ")
    .split("\x1f")
)


@settings(max_examples=400)
@given(st.lists(_PIECES, max_size=40).map("".join).map(str.encode) | st.binary(max_size=300))
def test_marks_lie_in_the_text_whatever_the_page(data: bytes) -> None:
    try:
        document = parse_html(data, LIMITS)
    except ParseFailure as failure:
        assert failure.detail_for(MediaType.HTML)  # noqa: PT017 (both ends are right)
        return
    text, end = _text(document), 0
    for mark in document.marks:
        assert end <= mark.start < mark.end <= len(text)
        assert "\n" not in text[mark.start : mark.end]
        end = mark.end
    assert "\x00" not in text
    assert "\n\n\n" not in text
