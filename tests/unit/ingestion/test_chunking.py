import itertools
import math

import pytest
from hypothesis import given, strategies as st

from app.ingestion.chunking import MAX_CHARACTERS, MAX_TOKENS, Chunk, chunk
from app.ingestion.parsing.canonical import clean
from app.ingestion.parsing.types import ParsedPage
from tests.support.growth import assert_linear

PIECES = st.sampled_from(
    [
        *(
            "word",
            "# H\n\n",
            "\n\n",
            "1.2 Verify ",
            "V5.1.3 x.",
            "- item\n",
            "| a | b |\n",
            ". ",
            "\n",
            " ",
            "\t",
            "e\u0301",
        ),
        *(
            "\u05e9\u05dc\u05d5\u05dd ",
            "\ufb01n ",
            "\u202e",
            "\u4f60\u597d\u3002",
            "x" * 400,
            "Dr. No said so. ",
            "\U0001f600",
        ),
    ]
)
TEXTS = (st.lists(PIECES, max_size=120).map("".join) | st.text(alphabet=st.characters(exclude_categories=()))).map(
    clean
)


def _count(text: str) -> int:
    """Count as word-piece tokenisers do: about one token for four letters, additive over white space."""
    return sum(math.ceil(len(word) / 4) for word in text.split())


def _pages(*texts: str) -> tuple[ParsedPage, ...]:
    return tuple(
        ParsedPage(number, str(number), text, (), has_text=bool(text.strip()))
        for number, text in enumerate(texts, start=1)
    )


def _check(pages: tuple[ParsedPage, ...], chunks: tuple[Chunk, ...]) -> None:
    text = "".join(page.text for page in pages)
    assert [item.ordinal for item in chunks] == list(range(len(chunks)))
    assert all(text[item.start : item.end] == item.text and item.text == item.text.strip() for item in chunks)
    assert all(left.end <= right.start for left, right in itertools.pairwise(chunks))
    assert "".join("".join(item.text.split()) for item in chunks) == "".join(text.split())
    assert all(item.token_count <= MAX_TOKENS and len(item.text) <= MAX_CHARACTERS for item in chunks)


@given(st.lists(TEXTS, max_size=4))
def test_chunks_are_slices_that_hold_everything_within_the_limits(texts: list[str]) -> None:
    pages = _pages(*texts)
    chunks = chunk(pages, _count)
    _check(pages, chunks)
    for item in chunks:
        before = sum(len(page.text) for page in pages[: item.page_start - 1])
        assert before <= item.start < before + len(pages[item.page_start - 1].text)
        assert item.page_start <= item.page_end


def test_a_chunk_never_goes_over_a_heading() -> None:
    chunks = chunk(_pages("# One\n\nFirst text.\n\n# Two\n\nSecond text.\n\n## Sub\n\nThird."), _count)
    assert [(item.text.split("\n")[0], item.heading) for item in chunks] == [
        ("# One", "One"),
        ("# Two", "Two"),
        ("## Sub", "Two > Sub"),
    ]


def test_headings_without_text_between_them_lead_one_chunk() -> None:
    (only,) = chunk(_pages("3 Timers\n\n3.1 T3410\n\nIt starts."), _count)
    assert only.heading == "3 Timers > 3.1 T3410"
    assert only.text.startswith("3 Timers")


def test_numbered_clauses_stay_whole() -> None:
    clauses = [
        f"2.{number} Verify that " + "passwords are hashed with a salt " * 6 + "always." for number in range(1, 30)
    ]
    chunks = chunk(_pages("\n".join(clauses)), _count)
    assert all(any(clause in item.text for item in chunks) for clause in clauses)
    assert all(item.text.startswith("2.") for item in chunks)


def test_long_paragraphs_are_cut_between_sentences() -> None:
    text = " ".join(f"Sentence number {number} says a little more than the others." for number in range(100))
    chunks = chunk(_pages(text), _count)
    assert len(chunks) > 3
    assert all(item.text.startswith("Sentence") and item.text.endswith("others.") for item in chunks)


def test_a_chunk_may_cross_a_page() -> None:
    (only,) = chunk(_pages("It begins here\n", "and ends there.\n"), _count)
    assert (only.page_start, only.page_end) == (1, 2)


def test_empty_text_gives_no_chunks() -> None:
    assert chunk((), _count) == ()
    assert chunk(_pages("", " \n"), _count) == ()


@pytest.mark.parametrize(
    "text",
    [
        " ".join(f"w{number:x}q" for number in range(650_000)),
        "a" * 900_000,
        "some words here " * 56_000,
        "\u4f60\u597d" * 200_000,
        "1.1 x\n" * 30_000,
        "# a\n\n" * 30_000,
    ],
    ids=["unique words", "one word", "one line", "no spaces", "clauses", "headings"],
)
def test_huge_texts_are_cut_in_linear_time(text: str) -> None:
    made: list[tuple[Chunk, ...]] = []
    assert_linear(lambda part: made.append(chunk(_pages(part), _count)), text)
    _check(_pages(text), made[-1])
