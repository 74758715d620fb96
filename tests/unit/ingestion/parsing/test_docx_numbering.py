# ruff: noqa: E501 - raw XML is easier to read in one line
import pytest

from app.ingestion.parsing.docx_text import parse_docx
from app.ingestion.parsing.types import ParseLimits
from tests.support.office import docx, listed, paragraph, part, styled

LIMITS = ParseLimits(seconds=30, memory_bytes=2**30, max_pages=100, max_characters=6_000_000, max_unpacked_bytes=2**27)


def _level(at: int, form: str, text: str, more: str = "", start: int = 1) -> str:
    return f'<w:lvl w:ilvl="{at}"><w:start w:val="{start}"/><w:numFmt w:val="{form}"/>{more}<w:lvlText w:val="{text}"/></w:lvl>'


def _numbering(*levels: str, nums: str = "") -> str:
    number = '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>'
    return part("numbering", f'<w:abstractNum w:abstractNumId="0">{"".join(levels)}</w:abstractNum>{number}{nums}')


def _lines(body: str, numbering: str, styles: str = "") -> list[str]:
    parts = {"numbering": numbering} | ({"styles": styles} if styles else {})
    document = parse_docx(docx(body, **parts), LIMITS)
    return [line for page in document.pages for line in page.text.split("\n") if line]


def _labels(levels: list[int], numbering: str) -> list[str]:
    return [line.split(" ")[0] for line in _lines("".join(listed("x", 1, level) for level in levels), numbering)]


MULTI = [_level(0, "decimal", "%1"), _level(1, "decimal", "%1.%2"), _level(2, "lowerLetter", "%3)")]


def test_levels_count_within_the_one_above() -> None:
    assert _labels([0, 1, 1, 2, 2, 0, 1, 2], _numbering(*MULTI)) == ["1", "1.1", "1.2", "a)", "b)", "2", "2.1", "a)"]


def test_a_level_above_that_never_came_shows_its_start() -> None:
    assert _labels([1, 1, 0, 1], _numbering(*MULTI)) == ["1.1", "1.2", "1", "1.1"]


@pytest.mark.parametrize(
    ("form", "start", "expected"),
    [
        ("decimal", 9, ["9.", "10."]),
        ("decimalZero", 9, ["09.", "10."]),
        ("upperRoman", 3, ["III.", "IV."]),
        ("lowerRoman", 3999, ["mmmcmxcix.", "4000."]),
        ("upperLetter", 26, ["Z.", "AA."]),
        ("lowerLetter", 52, ["zz.", "aaa."]),
        ("ordinal", 11, ["11th.", "12th."]),
        ("ordinal", 22, ["22nd.", "23rd."]),
        ("russianLower", 1, ["\u0430.", "\u0431."]),
        ("chineseCounting", 10, ["\u5341.", "\u5341\u4e00."]),
        ("somethingNew", 1, ["1.", "2."]),
        ("lowerLetter", 0, ["0.", "a."]),
    ],
)
def test_numbers_are_written_in_their_form(form: str, start: int, expected: list[str]) -> None:
    assert _labels([0, 0], _numbering(_level(0, form, "%1.", start=start))) == expected


def test_words_stand_with_the_number() -> None:
    levels = [_level(0, "upperRoman", "Article %1."), _level(1, "decimal", "\u00a7 %1.%2", "<w:isLgl/>")]
    body = listed("Scope", 1) + listed("Term", 1, 1)
    assert _lines(body, _numbering(*levels)) == ["Article I. Scope", "\u00a7 1.1 Term"]


@pytest.mark.parametrize(("form", "text"), [("bullet", "o"), ("bullet", "\uf0b7"), ("decimal", "\u2022")])
def test_bullets_are_one_sign(form: str, text: str) -> None:
    assert _labels([0, 0], _numbering(_level(0, form, text))) == ["-", "-"]


def test_a_level_without_text_shows_nothing_and_counts() -> None:
    levels = [_level(0, "none", ""), _level(1, "decimal", "%2.")]
    assert _lines(listed("Head", 1) + listed("a", 1, 1), _numbering(*levels)) == ["Head", "1. a"]


def test_a_restart_of_zero_goes_on_and_one_of_a_level_restarts_with_it_only() -> None:
    never = [*MULTI[:1], _level(1, "decimal", "%2.", '<w:lvlRestart w:val="0"/>')]
    assert _labels([0, 1, 0, 1], _numbering(*never)) == ["1", "1.", "2", "2."]
    first = [*MULTI[:2], _level(2, "decimal", "(%3)", '<w:lvlRestart w:val="1"/>')]
    assert _labels([0, 1, 2, 1, 2, 0, 1, 2], _numbering(*first)) == ["1", "1.1", "(1)", "1.2", "(2)", "2", "2.1", "(1)"]


def test_lists_of_one_numbering_go_on_and_a_start_of_its_own_begins_anew() -> None:
    nums = (
        '<w:num w:numId="2"><w:abstractNumId w:val="0"/></w:num>'
        '<w:num w:numId="3"><w:abstractNumId w:val="0"/><w:lvlOverride w:ilvl="0"><w:startOverride w:val="5"/>'
        "</w:lvlOverride></w:num>"
    )
    body = listed("x", 1) + listed("x", 2) + listed("x", 3) + listed("x", 3)
    assert _lines(body, _numbering(*MULTI, nums=nums)) == ["1 x", "2 x", "5 x", "6 x"]


def test_a_list_can_write_a_level_its_own_way() -> None:
    nums = (
        '<w:num w:numId="2"><w:abstractNumId w:val="0"/><w:lvlOverride w:ilvl="0">'
        + _level(0, "upperLetter", "(%1)")
        + "</w:lvlOverride></w:num>"
    )
    assert _lines(listed("x", 2), _numbering(*MULTI, nums=nums)) == ["(A) x"]


STYLES = part(
    "styles",
    '<w:style w:type="paragraph" w:styleId="H1"><w:name w:val="heading 1"/><w:pPr><w:numPr><w:numId w:val="1"/></w:numPr>'
    '</w:pPr></w:style><w:style w:type="paragraph" w:styleId="H2"><w:name w:val="heading 2"/><w:basedOn w:val="H1"/>'
    '<w:pPr><w:numPr><w:ilvl w:val="1"/></w:numPr></w:pPr></w:style>'
    '<w:style w:type="paragraph" w:styleId="H3"><w:name w:val="heading 3"/><w:pPr><w:numPr><w:numId w:val="1"/></w:numPr>'
    "</w:pPr></w:style>"
    '<w:style w:type="numbering" w:styleId="Linked"><w:name w:val="Linked"/><w:pPr><w:numPr><w:numId w:val="1"/></w:numPr>'
    "</w:pPr></w:style>",
)


def test_headings_are_numbered_by_their_styles() -> None:
    levels = [*MULTI[:2], _level(2, "decimal", "%1.%2.%3", '<w:pStyle w:val="H3"/>')]
    body = (
        styled("H1", "Scope")
        + styled("H2", "Timers")
        + styled("H3", "T3410")
        + paragraph("Annex", '<w:pStyle w:val="H1"/><w:numPr><w:numId w:val="0"/></w:numPr>')
        + styled("H1", "Next")
    )
    assert _lines(body, _numbering(*levels), STYLES) == ["1 Scope", "1.1 Timers", "1.1.1 T3410", "Annex", "2 Next"]


def test_a_numbering_can_be_that_of_a_style() -> None:
    numbering = part(
        "numbering",
        f'<w:abstractNum w:abstractNumId="0">{MULTI[0]}</w:abstractNum>'
        '<w:abstractNum w:abstractNumId="1"><w:numStyleLink w:val="Linked"/></w:abstractNum>'
        '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="1"/></w:num>',
    )
    assert _lines(listed("x", 2), numbering, STYLES) == ["1 x"]


def test_a_paragraph_whose_mark_was_deleted_is_not_counted() -> None:
    gone = '<w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr><w:rPr><w:del/></w:rPr>'
    body = listed("a", 1) + paragraph("b", gone) + listed("c", 1)
    assert _lines(body, _numbering(*MULTI)) == ["1 a", "2 bc"]


@pytest.mark.parametrize(("num_id", "level"), [(7, 0), (1, 8), (1, 99), (1, -1), (-1, 0)])
def test_numbers_that_are_not_defined_show_nothing(num_id: int, level: int) -> None:
    assert _lines(listed("x", num_id, level), _numbering(*MULTI)) == ["x"]
