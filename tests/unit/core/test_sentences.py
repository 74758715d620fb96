import itertools

import pytest
from hypothesis import given, strategies as st

from app.core.sentences import sentence_spans
from tests.support.growth import assert_linear


def _sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text)]


@pytest.mark.parametrize(
    "sentences",
    [
        ["Dr. Smith paid $3.50 to J. R. Jones, Inc. in Jan. 2020.", "See Fig. 3 and Sec. 4.2."],
        ['"Is it?" he asked.', "Version 3.0 is out!", "Done."],
        ["(See p. 4.)", "U.S. law applies.", "He lives in the U.S.", "The end..."],
        ["What is vitamin C?", "Plan B works, e.g. on Fridays.", "It rose by 5%."],
        ["1. Open the door.", "Then close it."],
        ['A stray " mark.', "It joins nothing.", "At all."],
    ],
)
def test_sentences_end_where_a_reader_ends_them(sentences: list[str]) -> None:
    assert _sentences(" ".join(sentences)) == sentences


def test_blank_lines_and_list_items_end_sentences_and_wrapped_lines_do_not() -> None:
    text = "A heading\n\nText that is\nwrapped. More:\n- one\n- two\n2.13 Verify that\n2.14 Verify more"
    expected = [
        "A heading",
        "Text that is\nwrapped.",
        "More:",
        "- one",
        "- two",
        "2.13 Verify that",
        "2.14 Verify more",
    ]
    assert _sentences(text) == expected


def test_full_width_stops_need_no_space() -> None:
    assert _sentences("\u4f60\u597d\u3002\u518d\u89c1\u3002") == ["\u4f60\u597d\u3002", "\u518d\u89c1\u3002"]


@pytest.mark.parametrize(
    "sentences",
    [
        ["sku | shelf | stock", "SK-1 | A. 3 | 12", "SK-2 | B-4 | 7"],
        ["| Alert | Contact |", "|---|---|", "| Stuck | Dr. Ada Berg. Call her! |", "Others go\nto the desk."],
        ["Contacts", "Alert | Contact", "--- | ---", "disk | bo"],
        ["It has two parts.", "key | value", "Each is\nnamed."],
        ["|a|b|", "|1|2|", "Below.", "More."],
        ["one | two", "Chapter 3 | 45"],
    ],
)
def test_each_row_of_a_table_is_a_sentence(sentences: list[str]) -> None:
    assert _sentences("\n".join(sentences)) == sentences
    assert _sentences("\n\n".join(sentences)) == sentences


@pytest.mark.parametrize(
    "text",
    [
        "Run `ls | wc -l` to count\nthe files of a folder.",
        "Where a||b holds, |x| is the size\nof x, and a|b divides.",
    ],
)
def test_a_bar_in_running_text_makes_no_row(text: str) -> None:
    assert _sentences(text) == [text]


def test_a_row_with_texts_in_its_cells_has_their_sentences() -> None:
    cell = "The pump is checked daily. It stops by hand. " * 15
    rows = f"1 | {cell} | yes\n2 | {cell} | no"
    assert _sentences(rows)[:2] == ["1 | The pump is checked daily.", "It stops by hand."]
    assert not any("yes" in sentence and "2 |" in sentence for sentence in _sentences(rows))


@given(st.text(alphabet=st.sampled_from(list("aB1.!?| \n\t\f\"')-\u3002\u00a0\u2022"))) | st.text())
def test_spans_are_ordered_and_hold_every_character_but_white_space(text: str) -> None:
    spans = sentence_spans(text)
    assert all(start < end for start, end in spans)
    assert all(left[1] <= right[0] for left, right in itertools.pairwise(spans))
    assert "".join("".join(text[start:end].split()) for start, end in spans) == "".join(text.split())


@pytest.mark.parametrize(
    "unit", ["word ", ".", ".)", " \n", "\n ", "a. ", "A.\n\n", "|", "a | b\n", "A | b\na\n", "|\f", "\n|\n"]
)
def test_a_megabyte_takes_linear_time(unit: str) -> None:
    assert_linear(sentence_spans, unit * (1_000_000 // len(unit)))
