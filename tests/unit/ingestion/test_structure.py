import itertools

import pytest
from hypothesis import given, strategies as st

from app.ingestion.parsing.types import Mark, MarkKind
from app.ingestion.structure import Block, Guess, Kind, find_blocks


def _mark(text: str, part: str, kind: MarkKind, level: int = 0) -> Mark:
    start = text.index(part)
    return Mark(start, start + len(part), kind, level)


def _heading_marks(text: str, **levels: int) -> list[Mark]:
    return [_mark(text, part.replace("_", " "), MarkKind.HEADING, level) for part, level in levels.items()]


def _paths(text: str, marks: list[Mark]) -> list[tuple[str, ...]]:
    blocks = find_blocks(text, marks=marks)
    return [block.path for block in blocks if block.kind is Kind.PARAGRAPH]


def _headers(blocks: list[Block]) -> list[str | None]:
    return [block.table.header if block.table else None for block in blocks if block.kind is Kind.ROW]


def _headings(text: str) -> list[str]:
    return [text[block.start : block.end] for block in find_blocks(text) if block.kind is Kind.HEADING]


def test_markdown_headings_make_a_path() -> None:
    text = "# Book\n\n## One\nText.\n\n### Deep #\nMore.\n\n## Two\nEnd."
    paths = [block.path for block in find_blocks(text) if block.kind is Kind.PARAGRAPH]
    assert paths == [("Book", "One"), ("Book", "One", "Deep"), ("Book", "Two")]


def test_numbered_headings_make_a_path() -> None:
    text = "3 Timers\n\n3.1 T3410\n\nThe timer starts.\n\n4. Errors\n\nNone."
    paths = [block.path for block in find_blocks(text) if block.kind is Kind.PARAGRAPH]
    assert paths == [("3 Timers", "3.1 T3410"), ("4. Errors",)]


@pytest.mark.parametrize(
    "line",
    [
        "2.18 Verify that information enumeration is not possible via\nlogin or reset.",
        "2.33 Browser autocomplete is permitted.",
        "2.1 Simple Multicast Audio Conference ........ 5",
        "# Description 1 2 3 Since",
        "Annex F of ISO standard 10646 is such an encoding",
        "1. Open the door\n2. Close the door",
    ],
)
def test_clauses_contents_and_lists_are_no_headings(line: str) -> None:
    assert _headings(f"Some text before\n{line}") == []


def test_marks_in_code_are_no_headings() -> None:
    assert _headings("# Real\n\n```\n\n# comment\n```\n\n# Next\n") == ["# Real", "# Next"]


def test_clauses_items_and_rows_begin_blocks() -> None:
    text = "2.13\nVerify that\npasswords are hashed.\n2.14 Verify more of\nit.\n- one\n- two\n| a | b |\n| c | d |"
    blocks = [(text[block.start : block.end], block.kind) for block in find_blocks(text)]
    assert blocks == [
        ("2.13\nVerify that\npasswords are hashed.", Kind.CLAUSE),
        ("2.14 Verify more of\nit.", Kind.CLAUSE),
        ("- one", Kind.ITEM),
        ("- two", Kind.ITEM),
        ("| a | b |", Kind.ROW),
        ("| c | d |", Kind.ROW),
    ]


@given(st.text(alphabet=st.sampled_from(list("aA1. \n#-|`\t\u00a0\u2003\x1c:")), max_size=300))
def test_blocks_are_ordered_and_hold_every_character_but_white_space(text: str) -> None:
    blocks = list(find_blocks(text))
    assert all(left.end <= right.start for left, right in itertools.pairwise(blocks))
    assert "".join("".join(text[block.start : block.end].split()) for block in blocks) == "".join(text.split())


def test_a_line_that_begins_with_much_space_is_not_lost() -> None:
    text = " " * 500 + "here"
    assert [text[block.start : block.end] for block in find_blocks(text)] == ["here"]


def test_marked_headings_nest_by_their_level() -> None:
    text = "Guide\nfirst words\nSafety first\nmore words\nTools\nlast words"
    marks = _heading_marks(text, Guide=1, Safety_first=3, Tools=2)
    assert _paths(text, marks) == [("Guide",), ("Guide", "Safety first"), ("Guide", "Tools")]


def test_no_heading_is_guessed_when_all_are_marked() -> None:
    text = "Guide\n\n3 Timers\n\n# T3410\n\n2.1 Verify that it starts.\n- one\n\nChapter 4: End\n\nwords"
    blocks = list(find_blocks(text, marks=_heading_marks(text, Guide=1), guess=Guess.NONE))
    assert [block.kind for block in blocks if block.kind in (Kind.HEADING, Kind.CLAUSE, Kind.ITEM)] == [
        Kind.HEADING,
        Kind.CLAUSE,
        Kind.ITEM,
    ]
    assert {block.path for block in blocks} == {("Guide",)}


def test_a_number_sign_makes_no_heading_on_paper() -> None:
    kinds = [block.kind for block in find_blocks("# Description 1 2\n\n3.1 Timers\n\nWords.", guess=Guess.PLAIN)]
    assert kinds == [Kind.PARAGRAPH, Kind.HEADING, Kind.PARAGRAPH]


def test_guessed_headings_nest_below_marked_ones_by_their_numbers() -> None:
    text = "Part I\nwords a\n\n3 Timers\nwords b\n\n3.1 T3410\n\nWords c.\n\n4 Errors\n\nWords d.\n\nPart II\nwords e"
    marks = [
        _mark(text, "Part I", MarkKind.HEADING, 1),
        _mark(text, "3 Timers", MarkKind.HEADING, 2),
        _mark(text, "Part II", MarkKind.HEADING, 1),
    ]
    assert _paths(text, marks) == [
        ("Part I",),
        ("Part I", "3 Timers"),
        ("Part I", "3 Timers", "3.1 T3410"),
        ("Part I", "4 Errors"),
        ("Part II",),
    ]


def test_a_marked_heading_nests_below_a_guessed_one_only_by_its_number() -> None:
    text = "3 Timers\n\nWords a.\n\n3.1 T3410\nwords b\nAbout\nwords c"
    marks = [_mark(text, "3.1 T3410", MarkKind.HEADING, 1), _mark(text, "About", MarkKind.HEADING, 1)]
    assert _paths(text, marks) == [("3 Timers",), ("3 Timers", "3.1 T3410"), ("About",)]


def test_a_guessed_chapter_nests_below_the_title_only() -> None:
    text = "Report\nwords a\nNote 9\nwords b\n\nItem 2. Discussion\n\nWords c."
    assert _paths(text, _heading_marks(text, Report=1, Note_9=2))[-1] == ("Report", "Item 2. Discussion")


@pytest.mark.parametrize("line", ["# Description 1 2 3 Since", "1 Alpha"])
def test_a_line_beside_a_mark_has_no_blank_line_around_it(line: str) -> None:
    text = f"Title\n{line}\nEnd"
    blocks = list(find_blocks(text, marks=_heading_marks(text, Title=1, End=1)))
    assert [block.kind for block in blocks] == [Kind.HEADING, Kind.PARAGRAPH, Kind.HEADING]


def test_a_marked_heading_holds_its_whole_lines() -> None:
    text = "Words.\n3.1\tT3410 and\nits friends:\nmore words"
    marks = [_mark(text, "T3410 and\nits friends", MarkKind.HEADING, 1)]
    blocks = list(find_blocks(text, marks=marks))
    assert [text[block.start : block.end] for block in blocks] == [
        "Words.",
        "3.1\tT3410 and\nits friends:",
        "more words",
    ]
    assert blocks[-1].path == ("3.1 T3410 and its friends:",)


def test_a_marked_heading_leaves_the_running_text_of_its_line() -> None:
    text = "Scope. " + "This clause says what follows. " * 5
    blocks = list(find_blocks(text, marks=_heading_marks(text, Scope=1)))
    assert [block.kind for block in blocks] == [Kind.HEADING, Kind.PARAGRAPH]
    assert blocks[0].end == len("Scope")


def test_deep_and_odd_levels_of_marks_keep_paths_short() -> None:
    text = "".join(f"h{number:04}\n" for number in range(1000))
    marks = [Mark(6 * number, 6 * number + 5, MarkKind.HEADING, number) for number in range(1000)]
    assert max(len(block.path) for block in find_blocks(text, marks=marks)) < 10


def test_marked_rows_belong_to_the_header_right_above_them() -> None:
    lines = ["Timer | Value", "in | s", "T1 | 5", "T2 | 6", "", "T3 | 7", "words", "T4 | 8", "Error | Text", "E1 | no"]
    text = "\n".join(lines)
    kinds = {0: "header_row", 1: "header_row", 2: "row", 3: "row", 5: "row", 7: "row", 8: "header_row", 9: "row"}
    marks = [_mark(text, lines[number], MarkKind(kind)) for number, kind in kinds.items()]
    timers = "Timer | Value / in | s"
    assert _headers(list(find_blocks(text, marks=marks))) == [
        *("Timer | Value", timers, timers, timers),
        *(None, None),
        *("Error | Text", "Error | Text"),
    ]


@pytest.mark.parametrize(
    ("table", "header"),
    [
        ("| Timer | Value |\n|---|:-:|\n| T1 | 5 |\n| T2 | 6 |", "Timer | Value"),
        ("Timer | Value\n--- | ---\n3.1 T1 | 5\n2 T2 | 6", "Timer | Value"),
        ("| | |\n|---|---|\n| T1 | 5 |\n| T2 | 6 |", ""),
    ],
    ids=["bars around", "bars between", "empty header"],
)
def test_a_markdown_table_has_its_separator_beside_its_header(table: str, header: str) -> None:
    text = f"Words before\n{table}\nand after\n| other | row |"
    rows = [block for block in find_blocks(text) if block.kind is Kind.ROW]
    assert [text[row.start : row.end] for row in rows[:3]] == [
        "\n".join(table.split("\n")[:2]),
        *table.split("\n")[2:],
    ]
    assert _headers(rows) == [header, header, header, None]


def test_a_table_in_code_has_no_header() -> None:
    assert _headers(list(find_blocks("```\n| a | b |\n|---|---|\n| c | d |\n```"))) == [None, None, None]


@pytest.mark.parametrize("line", ["a -- b | c", "|a|", "----"])
def test_a_line_that_is_no_separator_makes_no_table(line: str) -> None:
    assert _headers(list(find_blocks(f"| x | y |\n{line}"))) in ([None], [None, None])
