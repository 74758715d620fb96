import itertools

import pytest
from hypothesis import given, strategies as st

from app.ingestion.structure import Kind, find_blocks


def _headings(text: str) -> list[str]:
    return [text[block.start : block.end] for block in find_blocks(text) if block.kind is Kind.HEADING]


def test_markdown_headings_make_a_path() -> None:
    text = "# Book\n\n## One\nText.\n\n### Deep #\nMore.\n\n## Two\nEnd."
    paths = [block.heading for block in find_blocks(text) if block.kind is Kind.PARAGRAPH]
    assert paths == ["Book > One", "Book > One > Deep", "Book > Two"]


def test_numbered_headings_make_a_path() -> None:
    text = "3 Timers\n\n3.1 T3410\n\nThe timer starts.\n\n4. Errors\n\nNone."
    paths = [block.heading for block in find_blocks(text) if block.kind is Kind.PARAGRAPH]
    assert paths == ["3 Timers > 3.1 T3410", "4. Errors"]


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
