import re

import pytest
from hypothesis import assume, given, settings, strategies as st

from app.answering.folding import fold
from app.answering.quotes import locate, split_by_page
from app.retrieval.types import PageStart
from tests.unit.answering.examples import passage

TEXT = (
    "The “trans-Atlantic” cable was laid in 1858\u2014after five attempts; it carried 0.1 words a minute.\n"
    "Its naïve co-operation clause (§ 4.2.1) caps fees at 1,500.75 € per day, not 2½ % of revenue.\n"
    "The ﬁnal re-\nport says: “don\u2019t rely on v1.2.3”, the off\u00adset of \u22125 °C was up-to-date in 10² labs."
)
WORDS = [match.span() for match in re.finditer(r"(?:\w-\n|\S)+", TEXT)]


@st.composite
def runs(draw: st.DrawFn) -> tuple[int, int]:
    first = draw(st.integers(0, len(WORDS) - 1))
    last = draw(st.integers(first, min(len(WORDS) - 1, first + 12)))
    return WORDS[first][0], WORDS[last][1]


@st.composite
def altered(draw: st.DrawFn) -> tuple[str, int, int]:
    """A run of the text as a model might copy it: same words, other white space, hyphenation and signs."""
    start, end = draw(runs())
    spaces = st.sampled_from([" ", "\n", "  ", "\u00a0", " \t\n", "\u2009"])
    pieces = [draw(spaces) if piece.isspace() else piece for piece in re.split(r"(\s+)", TEXT[start:end])]
    quote = "".join(pieces)
    swaps = {"“": '"', "”": '"', "\u2019": "'", "\u2014": "-", "\u2212": "-", "ﬁ": "fi", "ï": "i\u0308"}
    for old, new in swaps.items():
        if draw(st.booleans()):
            quote = quote.replace(old, new)
    letters = [at for at in range(1, len(quote)) if quote[at - 1 : at + 1].isalpha() and quote[at - 1].isascii()]
    if draw(st.booleans()) and letters:
        at = draw(st.sampled_from(letters))
        if quote[at].isascii():
            quote = quote[:at] + draw(st.sampled_from(["-\n", "- ", "\u00ad", "\u200b"])) + quote[at:]
    return quote, start, end


@given(altered())
@settings(deadline=None)
def test_locate_maps_an_altered_copy_back_to_words_that_fold_to_the_same(case: tuple[str, int, int]) -> None:
    quote, start, end = case
    found = locate(quote, TEXT)
    assert found is not None
    assert fold(TEXT[slice(*found)]).text == fold(quote).text
    if TEXT.count(TEXT[start:end]) == 1 and fold(TEXT).text.count(fold(quote).text) == 1:
        assert found == (start, end)


@given(runs(), st.data())
@settings(deadline=None)
def test_locate_never_finds_a_quote_with_another_letter_or_digit(run: tuple[int, int], data: st.DataObject) -> None:
    quote = TEXT[slice(*run)]
    places = [at for at, character in enumerate(quote) if character.isalnum()]
    assume(places)
    at = data.draw(st.sampled_from(places))
    other = data.draw(st.sampled_from("abcxyzABCXYZ0123456789éß")).replace(quote[at], "\u0416")
    changed = quote[:at] + other + quote[at + 1 :]
    found = locate(changed, TEXT)
    assert found is None or fold(TEXT[slice(*found)]).text == fold(changed).text
    if fold(changed).text not in fold(TEXT).text:
        assert found is None


@pytest.mark.parametrize(
    ("quote", "text"),
    [
        ("1 million", "It cost 21 million."),
        ("5 km", "It is 1.5 km long."),
        ("costs 1", "It costs 1.5 euro."),
        ("costs 1", "It costs 1,500 euro."),
        ("cat", "They concatenate."),
        ("10", "There are 10² of them."),
        ("102", "There are 10² of them."),
        ("5 degrees", "At \u22125 degrees."),
        ("The end", "THE END"),
        ("", "Anything."),
        ("\u200b", "Anything."),
        ("one three", "one two three"),
    ],
)
def test_locate_refuses_what_only_looks_like_the_text(quote: str, text: str) -> None:
    assert locate(quote, text) is None


def test_locate_finds_a_later_whole_run_when_the_first_is_part_of_a_number() -> None:
    text = "It cost 21 million, then 1 million."
    found = locate("1  million", text)
    assert found is not None
    assert text[slice(*found)] == "1 million"
    assert found[0] == text.rindex("1 million")


def test_locate_undoes_hyphenation_in_the_passage() -> None:
    text = "a long infor-\nmation text"
    assert locate("information", text) == (7, 20)


def test_locate_reads_the_hyphen_that_pdfium_gives_at_the_end_of_a_line() -> None:
    assert locate("re-authentication", "each re\ufffeauthentication") == (5, 22)


def test_fold_gives_one_source_span_to_each_character() -> None:
    folded = fold(TEXT)
    assert len(folded.text) == len(folded.starts) == len(folded.ends)
    assert all(0 <= start < end <= len(TEXT) for start, end in zip(folded.starts, folded.ends, strict=True))
    assert list(folded.starts) == sorted(folded.starts)


def test_a_quote_inside_one_page_counts_from_the_start_of_that_page() -> None:
    # Page 3 begins at 100, the passage at 120.
    found = passage("The fee is five euro.", start=120, pages=(PageStart(3, 100),))
    (span,) = split_by_page(found, 4, 7)
    assert (span.page, span.start, span.end, span.quote) == (3, 24, 27, "fee")


def test_a_quote_across_pages_becomes_one_span_for_each_page_without_the_space_between() -> None:
    first, second = "ends here \n", "\n  and goes on."
    page_one, page_two = "Page one " + first, second + " More."
    start = page_one.index("ends")
    text = first + second
    found = passage(text, start=start, pages=(PageStart(1, 0), PageStart(2, len(page_one))))
    spans = split_by_page(found, 0, len(text))
    assert [(span.page, span.quote) for span in spans] == [(1, "ends here"), (2, "and goes on.")]
    assert [page_one[spans[0].start : spans[0].end], page_two[spans[1].start : spans[1].end]] == [
        "ends here",
        "and goes on.",
    ]


def test_pages_that_a_quote_does_not_touch_get_no_span() -> None:
    found = passage("one two three", pages=(PageStart(1, 0), PageStart(2, 4), PageStart(3, 8)))
    assert [span.page for span in split_by_page(found, 4, 7)] == [2]
