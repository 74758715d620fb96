import time

import pytest
from hypothesis import example, given, strategies as st

from app.retrieval.snippets import LONGEST, find_snippet, read_question

FILLER = "Nothing of this is about that at all, and it goes on for some time. " * 12


def cut(question: str, text: str, longest: int = LONGEST) -> str:
    found = find_snippet(read_question(question), text, longest)
    return text[found.start : found.end]


def test_a_short_text_is_its_own_snippet() -> None:
    assert cut("What?", "  The bridge has three arches.\n") == "The bridge has three arches."


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("When does T3410 run?", "T3410 runs after the attach request."),
        ("What does 11.4.1 say?", "11.4.1 Verify that logs are kept."),
        ("what is said of E1042", "The code E-1042 means that the door is open."),
        ("Where are 1234567 euro?", "The fund has 1,234,567 euro."),
        ("Who opened the bridge over the Salm?", "The mayor opened the bridge over the Salm in 1931."),
        ("opening of bridges", "The bridge was opened by the mayor."),
        ("橋はいつ開かれましたか", "町長が橋を開かれました。"),
        ("다리는 언제 열렸습니까", "다리는 1931년에 열렸습니다."),
        ("Когда открыли мост", "Мост через реку открыли в мае."),
        ("ÉCOLE", "L\u2019école est fermée."),
        ("पुल कब खुला", "पुल मई में खुला।"),
    ],
)
def test_a_snippet_shows_what_was_asked_for(question: str, wanted: str) -> None:
    for text in (f"{wanted} {FILLER}", f"{FILLER}{wanted} {FILLER}", f"{FILLER}{wanted}"):
        assert wanted in cut(question, text)


def test_an_identifier_counts_more_than_words() -> None:
    text = f"{FILLER}The timer runs after each request. {FILLER}T3411 is unlike T3410. {FILLER}"
    assert "T3410" in cut("Which timer runs after each T3410 request?", text)


def test_rare_words_count_more_than_those_on_every_line() -> None:
    text = "The keeper of the house walks. " * 20 + "The lantern is lit. " + "The keeper of the house walks. " * 20
    assert "lantern" in cut("Does the keeper of the house light the lantern?", text)


def test_without_a_match_it_is_the_beginning() -> None:
    assert cut("zebra", FILLER, 40) == "Nothing of this is about that at all,"


def test_words_are_not_cut() -> None:
    words = FILLER.split()
    for longest in range(20, 120):
        assert set(cut("zebra time", FILLER, longest).split()) <= set(words)


def test_a_word_that_is_longer_than_the_limit_is_cut_between_characters() -> None:
    assert cut("zebra", "e\u0301" * 400, 25) == "e\u0301" * 12
    assert cut("a" * 400, "x " * 20 + "a" * 400, 25) == "a" * 25


def test_time_is_linear_in_both_lengths() -> None:
    def seconds(repeated: int) -> float:
        text = "key door 5.1 橋は開かれた " * repeated + "a" * 20 * repeated + "\u0301" * 20 * repeated
        begun = time.process_time()
        find_snippet(read_question(text), text)
        return time.process_time() - begun

    assert seconds(4_000) < 40 * seconds(400) + 0.1


ANY = st.text(st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from("ab 1.,-\n橋開\u0301")), max_size=300)


@given(ANY, ANY, st.integers(1, 60))
@example("x", " " * 80, 10)
@example("\u0301", "\u0301" * 80, 10)
@example("橋", "橋" * 80, 10)
@example("", " 00", 2)
@example("", " " * 80 + "a" * 80, 10)
@example("", " " * 10 + "\u0301" * 80, 10)
def test_a_snippet_is_a_part_of_any_text_within_the_limit(question: str, text: str, longest: int) -> None:
    found = find_snippet(read_question(question), text, longest)
    part = text[found.start : found.end]
    assert 0 <= found.start <= found.end <= len(text)
    assert len(part) <= longest
    assert part == part.strip()
    assert part or not text.strip()
