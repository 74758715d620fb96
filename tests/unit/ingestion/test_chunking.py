from dataclasses import replace

import pytest

from app.ingestion.chunking import Chunk, chunk
from app.ingestion.parsing.types import Mark, MarkKind, ParsedDocument, ParseFailure, ParseReason
from tests.support.generated import check_chunks, count_letters, document_of
from tests.support.growth import assert_linear

SENTENCE = "The timer starts when the message is sent, and it stops when an answer comes. "


def _chunks(*texts: str) -> tuple[Chunk, ...]:
    document = document_of(*texts)
    chunks = chunk(document, count_letters)
    check_chunks(document, chunks, count_letters)
    return chunks


def _table(rows: list[str]) -> ParsedDocument:
    """Return a table whose first row is its header, with a blank line for each empty row."""
    text = "\n".join(rows)
    kinds = [MarkKind.HEADER_ROW, *[MarkKind.ROW] * len(rows)]
    spans = zip(rows, kinds, strict=False)
    marks = [Mark(start := text.index(row), start + len(row), kind) for row, kind in spans if row]
    return document_of(text, marks=marks)


def test_a_chunk_never_goes_over_a_heading() -> None:
    chunks = _chunks(f"# One\n\n{SENTENCE * 3}\n\n# Two\n\n{SENTENCE * 3}\n\n## Sub\n\n{SENTENCE * 3}")
    assert [(item.text.split("\n")[0], item.heading) for item in chunks] == [
        ("# One", "One"),
        ("# Two", "Two"),
        ("## Sub", "Two > Sub"),
    ]


def test_headings_without_text_between_them_lead_one_chunk() -> None:
    (only,) = _chunks("3 Timers\n\n3.1 T3410\n\nIt starts.")
    assert only.heading == "3 Timers > 3.1 T3410"
    assert only.text.startswith("3 Timers")


def test_numbered_clauses_stay_whole() -> None:
    clauses = [
        f"2.{number} Verify that " + "passwords are hashed with a salt " * 6 + "always." for number in range(1, 30)
    ]
    chunks = _chunks("\n".join(clauses))
    assert all(any(clause in item.text for item in chunks) for clause in clauses)
    assert all(item.text.startswith("2.") for item in chunks)


def test_long_paragraphs_are_cut_between_sentences() -> None:
    text = " ".join(f"Sentence number {number} says a little more than the others." for number in range(100))
    chunks = _chunks(text)
    assert len(chunks) > 3
    assert all(item.text.startswith("Sentence") and item.text.endswith("others.") for item in chunks)


def test_a_chunk_may_cross_a_page() -> None:
    (only,) = _chunks("It begins here\n", "", "and ends there.\n")
    assert (only.page_start, only.page_end) == (1, 3)


def test_empty_text_gives_no_chunks() -> None:
    assert _chunks() == ()
    assert _chunks("", " \n") == ()


@pytest.mark.parametrize(
    "text",
    [
        " ".join(f"w{number:x}q" for number in range(650_000)),
        "a" * 900_000,
        "some words here " * 56_000,
        "\u4f60\u597d" * 200_000,
        "1.1 x\n" * 30_000,
        "# a\n\n" * 30_000,
        "# a\n\nb\n\n" * 20_000,
        "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 20_000,
        "| a |\n|---|\n|" + " cell |" * 40_000,
    ],
    ids=["unique words", "one word", "one line", "no spaces", "clauses", "headings", "sections", "rows", "cells"],
)
def test_huge_texts_are_cut_in_linear_time(text: str) -> None:
    made: list[tuple[Chunk, ...]] = []
    assert_linear(lambda part: made.append(chunk(document_of(part), count_letters)), text)
    check_chunks(document_of(text), made[-1], count_letters)


def test_marks_are_cut_in_linear_time() -> None:
    def cut(part: str) -> None:
        marks = [
            Mark(start, start + 13, MarkKind.ROW if start else MarkKind.HEADER_ROW) for start in range(0, len(part), 14)
        ]
        check_chunks(document := document_of(part, marks=marks), chunk(document, count_letters), count_letters)

    assert_linear(cut, "Timer | Value\n" * 20_000)


def test_small_sections_share_a_chunk_below_their_parent() -> None:
    (only,) = _chunks("# Words\n\n## ack\n\nAn answer.\n\n## nack\n\nA refusal.\n\n## rst\n\nA reset.")
    assert only.heading == "Words"


def test_small_sections_of_other_parents_stay_apart() -> None:
    chunks = _chunks(f"# A\n\n{SENTENCE * 3}\n\n## a\n\nOne.\n\n## b\n\nTwo.\n\n# B\n\n## c\n\nThree.")
    assert [(item.heading, item.text.split()[-1]) for item in chunks] == [
        ("A", "comes."),
        ("A", "Two."),
        ("B > c", "Three."),
    ]


def test_a_small_section_stays_apart_from_large_ones() -> None:
    chunks = _chunks(f"# A\n\n{SENTENCE * 3}\n\n# B\n\nSmall.\n\n# C\n\n{SENTENCE * 3}")
    assert [item.heading for item in chunks] == ["A", "B", "C"]


def test_many_small_sections_make_passages_worth_reading() -> None:
    chunks = _chunks("".join(f"# h{number}\n\nword\n\n" for number in range(1_000)))
    assert all(80 <= item.token_count < 120 for item in chunks[:-1])


def test_more_passages_than_allowed_are_a_failure() -> None:
    document = document_of((SENTENCE * 10 + "\n\n") * 10)
    allowed = len(chunk(document, count_letters))
    assert len(chunk(document, count_letters, max_passages=allowed)) == allowed
    with pytest.raises(ParseFailure) as caught:
        chunk(document, count_letters, max_passages=allowed - 1)
    assert caught.value.reason is ParseReason.TOO_MANY_PASSAGES


def test_a_cut_table_shows_its_header_beside_each_further_chunk() -> None:
    text = "# 3 Timers\n\n| Timer | Value |\n|-------|-------|\n" + "".join(
        f"| T{number} | {SENTENCE}|\n" for number in range(40)
    )
    first, *others = _chunks(text)
    assert (first.heading, "|-------|" in first.text) == ("3 Timers", True)
    assert len(others) > 2
    assert {item.heading for item in others} == {"3 Timers > Timer | Value"}
    assert all(item.text.startswith("| T") and item.text.endswith("|") for item in others)


def test_a_row_that_is_too_long_is_cut_at_its_cells_each_with_the_header() -> None:
    rows = ["Timer | Start | Stop", " | ".join(["T3410", SENTENCE * 5 + "end", SENTENCE * 5 + "end"]), "T3411 | a | b"]
    document = _table(rows)
    chunks = chunk(document, count_letters)
    check_chunks(document, chunks, count_letters)
    assert [item.text.split()[-2:] for item in chunks] == [["end", "|"], ["|", "b"]]
    assert [item.heading for item in chunks] == ["", "Timer | Start | Stop"]


def test_rows_never_stand_below_the_header_of_another_table() -> None:
    rows = [f"T{number} | {SENTENCE}" for number in range(12)]
    chunks = chunk(_table(["Timer | Use", *rows, "", "Sunday | closed"]), count_letters)
    assert [item.heading for item in chunks if "Sunday" in item.text] == [""]
    assert chunks[-2].heading == "Timer | Use"


def test_words_below_a_cut_table_are_not_below_its_header() -> None:
    rows = "".join(f"| T{number} | {SENTENCE}|\n" for number in range(20))
    chunks = _chunks(f"| Timer | Use |\n|---|---|\n{rows}\n{SENTENCE * 3}\n\n| a | b |")
    assert chunks[-2].heading == "Timer | Use"
    assert (chunks[-1].heading, chunks[-1].text[:9], chunks[-1].text[-9:]) == ("", "The timer", "| a | b |")


def test_a_number_sign_leads_a_heading_in_text_files_only_and_never_when_all_are_marked() -> None:
    text = document_of("# Words\n\nText.")
    printed = replace(text, pages=(replace(text.pages[0], width=595.0),))
    documents = (text, printed, replace(text, all_headings_marked=True))
    assert [chunk(document, count_letters)[0].heading for document in documents] == ["Words", "", ""]


@pytest.mark.parametrize(("dashes", "words"), [(150, 100), (232, 175), (330, 80)])
def test_a_long_separator_is_kept_and_has_words_beside_it(dashes: int, words: int) -> None:
    chunks = _chunks(f"| Timer | Value |\n|{'-' * dashes}|\n" + f"| {'word ' * words}| 5 |\n" * 3)
    assert all(any(character.isalpha() for character in item.text) for item in chunks)


def test_a_heading_stays_with_a_paragraph_that_nearly_fills_a_chunk() -> None:
    (only,) = _chunks("# 3 Timers of the network\n\n" + "word " * 214 + "end")
    assert only.heading == "3 Timers of the network"
