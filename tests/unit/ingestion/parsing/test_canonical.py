import unicodedata

import pytest
from hypothesis import given, strategies as st

from app.ingestion.parsing.canonical import clean, is_clean, join_broken_words, split_long, tidy, vocabulary
from tests.support.growth import assert_linear

ANY_TEXT = st.text(alphabet=st.characters(exclude_categories=()))


@given(ANY_TEXT)
def test_clean_text_is_normal_and_can_be_stored(text: str) -> None:
    cleaned = clean(text)
    assert unicodedata.is_normalized("NFC", cleaned)
    assert "\x00" not in cleaned
    assert "\r" not in cleaned
    cleaned.encode()


@given(ANY_TEXT)
def test_a_text_that_is_clean_stays_as_it_is(text: str) -> None:
    assert not is_clean(text) or clean(text) == text
    assert is_clean(clean(text))


def test_clean_folds_line_ends_and_drops_marks() -> None:
    assert clean("\ufeffa\r\nb\rc\u2028d\x00e\ud800f") == "a\nb\nc\ndef"


def test_more_marks_than_a_letter_can_bear_are_parted() -> None:
    few, many = "a" + "\u0323" * 100, "a" + "\u0323\u0301" * 150
    assert clean(few) == unicodedata.normalize("NFC", few)
    assert max(map(len, clean(many).split("\u034f"))) <= 100
    assert clean(many).replace("\u034f", "").count("\u0301") == 150


def test_tidy_keeps_single_blank_lines_and_indentation() -> None:
    assert tidy("\n\na  \n\n\n\n  b\n") == "a\n\n  b"


def _join(text: str) -> str:
    return join_broken_words(text, vocabulary([text]))


def test_hyphenation_at_line_ends_is_undone() -> None:
    assert _join("the configu-\nration") == "the configuration"


def test_a_hyphen_stays_where_the_document_speaks_for_it() -> None:
    assert _join("client-server and client-\nserver") == "client-server and client-server"
    assert _join("business critical, or business-\ncritical") == "business critical, or business-critical"


def test_a_hyphen_that_does_not_break_stays() -> None:
    assert _join("production\u2011\nready") == "production\u2011ready"


def test_names_and_numbers_keep_their_hyphen_and_line() -> None:
    assert _join("Python-\nFlask 10-\n12") == "Python-\nFlask 10-\n12"


@given(st.text(alphabet="ab \n", min_size=0, max_size=200).map(lambda text: text * 700))
def test_pieces_of_a_long_text_make_it_up(text: str) -> None:
    pieces = list(split_long(text))
    assert "".join(pieces) == text
    assert all(0 < len(piece) <= 20_000 for piece in pieces)


def test_a_long_text_is_cut_at_a_paragraph() -> None:
    first, second = split_long("a " * 7_000 + "\n\n" + "b " * 6_000)
    assert first.endswith("\n\n")
    assert second.startswith("b")


@pytest.mark.parametrize("unit", ["-\na", "\r", " \n", "e\u0301", "a-"])
def test_a_megabyte_takes_linear_time(unit: str) -> None:
    def work(raw: str) -> None:
        text = tidy(clean(raw))
        join_broken_words(text, vocabulary([text]))

    assert_linear(work, unit * (1_000_000 // len(unit)))


def test_the_vocabulary_holds_the_words_of_many_texts_without_their_signs() -> None:
    texts = [f"(Number{chr(97 + index % 26)}, client-server\nend 12ab." for index in range(120)]
    expected = {f"number{chr(97 + index)}" for index in range(26)} | {"client-server", "end", "ab"}
    assert vocabulary(texts) == expected
