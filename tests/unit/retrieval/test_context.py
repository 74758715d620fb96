import re
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, strategies as st

from app.core.ids import ChunkId
from app.retrieval.context import Considered, Context, ContextSettings, Fate, choose, widen
from app.retrieval.types import Passage
from tests.unit.answering.examples import passage

SETTINGS = ContextSettings()
LONG = (
    "The keeper of the attic opens the window at noon and closes it in the evening when the lanterns are lit. "
    "Whoever takes a key signs for it in the book that lies beside the door of the workshop. "
)


def fates(context: Context) -> dict[str, Fate]:
    return {each.passage.text: each.fate for each in context.fates}


def given_texts(question: str, *passages: Passage, settings: ContextSettings = SETTINGS) -> list[str]:
    return [each.text for each in choose(question, passages, settings).passages]


def filler(name: str, count: int) -> list[Passage]:
    """Return passages of one document that share no run of words."""
    return [passage(" ".join(f"{name}{n}word{w}" for w in range(12)), name=f"{name}.txt") for n in range(count)]


@pytest.mark.parametrize(
    "wrong",
    [{"hits": 0}, {"tokens": 0}, {"neighbours": -1}, {"centres": 0}, {"alike": 0}, {"candidates": 7}, {"likeness": 0}],
)
def test_settings_that_give_nothing_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"must|share"):
        ContextSettings(**wrong)


def test_the_best_passages_are_given_in_order_and_the_others_ranked_too_low() -> None:
    ranked = filler("a", 12)
    context = choose("What is it?", ranked, SETTINGS)
    assert context.passages == tuple(ranked[:8])
    assert [each.fate for each in context.fates] == [Fate.GIVEN] * 8 + [Fate.RANK] * 4
    assert [each.rank for each in context.fates] == list(range(1, 13))


@pytest.mark.parametrize(
    "repetition",
    [
        LONG.upper(),
        LONG.replace(" ", "\n  "),
        LONG.replace(".", "").replace("workshop", "workshop!"),
        LONG.split(". ", maxsplit=1)[0],
        "lies beside the door",
    ],
    ids=["case", "space", "signs", "first sentence", "a few words"],
)
def test_a_passage_that_says_nothing_new_is_left_out(repetition: str) -> None:
    first, second = passage(LONG, name="a.txt"), passage(repetition, name="b.txt")
    context = choose("What does the keeper open?", [first, second], SETTINGS)
    assert context.passages == (first,)
    assert context.fates[1] == Considered(second, 2, Fate.DUPLICATE, first.chunk_id)


def test_a_passage_that_says_more_than_a_better_one_stays() -> None:
    assert given_texts("What?", passage(LONG), passage(LONG + "It is noted.")) == [LONG, LONG + "It is noted."]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("It lasts 5 years.", "It lasts 6 years."),
        ("It lasts 1.5 years.", "It lasts 15 years."),
        ("It is -5 degrees.", "It is 5 degrees."),
        ("T3410 runs.", "T3411 runs."),
        ("2.13 Verify.", "2.14 Verify."),
        ("It costs 40 euro.", "It costs 40 000 euro."),
    ],
)
@pytest.mark.parametrize("around", ["", LONG * 3])
def test_passages_that_differ_in_a_number_all_stay(one: str, other: str, around: str) -> None:
    texts = [f"{around}{one}", f"{around}{other}", f"{around}{one} 7", f"{around}{other} 8"]
    assert given_texts("What?", *(passage(text, name=f"{text}.txt") for text in texts)) == texts


def test_a_contradiction_in_one_word_stays_visible_but_revisions_do_not_take_all_places() -> None:
    texts = [f"{LONG * 2}The fee is {word} euro. {LONG}" for word in ("forty", "fifty", "sixty", "seventy")]
    context = choose("What is the fee?", [passage(text, name=f"{text}.txt") for text in texts], SETTINGS)
    assert [each.fate for each in context.fates] == [Fate.GIVEN, Fate.GIVEN, Fate.DUPLICATE, Fate.DUPLICATE]


def test_the_same_words_under_different_headings_are_different() -> None:
    one, other = passage("It is kept."), replace(passage("It is kept. "), heading="3.1 Keys")
    assert given_texts("What?", one, other) == ["It is kept.", "It is kept. "]
    assert given_texts("What?", other, one) == ["It is kept. "]


@pytest.mark.parametrize(
    "question",
    [
        "Compare how keys are kept.",
        "What is the difference in how keys are kept?",
        "old vs new: how are keys kept",
        "What has changed between the two about keys?",
        "Worin unterscheiden sich die Fassungen?",
        "两个版本有什么区别",
    ],
)
def test_documents_that_are_compared_do_not_repeat_each_other(question: str) -> None:
    one, other = passage(LONG, name="old.txt"), passage(LONG.upper(), name="new.txt")
    assert len(given_texts(question, one, other)) == 2
    assert len(given_texts("How are keys kept?", one, other)) == 1


@pytest.mark.parametrize("question", ["What does 2.13 of Rules 3.0 say?", "What does Rules 3.0.1 say in 2.13?"])
def test_documents_that_the_question_tells_apart_by_name_do_not_repeat_each_other(question: str) -> None:
    old, new = passage(f"2.13 {LONG}", name="Rules 3.0.txt"), passage(f"2.13  {LONG}", name="Rules 3.0.1.txt")
    assert len(given_texts(question, old, new)) == 2
    assert len(given_texts("What does 2.13 of the rules say?", old, new)) == 1


def test_each_named_document_is_given_even_when_one_ranks_above_the_other() -> None:
    ranked = [*filler("Rules 3.0", 12), *filler("Notes", 6), *filler("Rules 3.0.1", 2)]
    context = choose("What is new in Rules 3.0.1 that Rules 3.0 does not say?", ranked, SETTINGS)
    names = [each.document_name for each in context.passages]
    assert (names.count("Rules 3.0.txt"), names.count("Rules 3.0.1.txt")) == (4, 1)
    assert [each.rank for each in context.fates] == list(range(1, 21))
    assert [ranked.index(each) for each in context.passages] == sorted(ranked.index(each) for each in context.passages)


def test_a_comparison_gives_no_document_more_than_half_while_others_have_something() -> None:
    ranked = [*filler("old", 10), *filler("new", 2), *filler("other", 1)]
    names = [each.document_name for each in choose("Compare the fees.", ranked, SETTINGS).passages]
    assert [names.count(f"{name}.txt") for name in ("old", "new", "other")] == [5, 2, 1]


def test_one_named_document_leaves_the_order_as_it_is() -> None:
    ranked = [*filler("Rules 3.0", 12), *filler("Rules 3.0.1", 2)]
    assert choose("What does 2.13 of Rules 3.0 say?", ranked, SETTINGS).passages == tuple(ranked[:8])


def test_what_does_not_fit_is_left_out_and_a_smaller_one_takes_its_place() -> None:
    large, small, tiny = (
        replace(each, token_count=tokens) for each, tokens in zip(filler("a", 3), (60, 50, 40), strict=True)
    )
    context = choose("What?", [large, small, tiny], ContextSettings(tokens=100))
    assert context.passages == (large, tiny)
    assert [each.fate for each in context.fates] == [Fate.GIVEN, Fate.BUDGET, Fate.GIVEN]


def chain(*headings: str) -> list[Passage]:
    """Return the chunks of one content, one under each heading."""
    return [
        replace(each, ordinal=n, heading=heading)
        for n, (each, heading) in enumerate(zip(filler("a", len(headings)), headings, strict=True))
    ]


def widened(chunks: Sequence[Passage], hits: Sequence[int], **settings: int) -> list[int]:
    limits = ContextSettings(**{"neighbours": 4, **settings})
    context = choose("What?", [chunks[n] for n in hits], limits)
    return [each.ordinal for each in widen(context, chunks, limits).passages]


def test_neighbours_come_after_the_hits_and_those_of_the_best_first() -> None:
    chunks = chain(*["Keys"] * 10)
    assert widened(chunks, [7, 2]) == [7, 2, 8, 6, 3, 1]
    assert widened(chunks, [7, 2], neighbours=3) == [7, 2, 8, 6, 3]
    assert widened(chunks, [7, 2], centres=1) == [7, 2, 8, 6]
    assert widened(chunks, [7, 2], neighbours=0) == [7, 2]
    assert widened(chunks, [0, 1, 9]) == [0, 1, 9, 2, 8]


def test_neighbours_stand_under_the_same_headings() -> None:
    chunks = chain("1 Keys", "1 Keys > 1.1 Safe", "1 Keys > 1.1 Safe", "2 Doors")
    assert widened(chunks, [2]) == [2, 1]
    assert widened(chunks, [0]) == [0]


def test_rows_of_a_table_that_was_cut_are_neighbours() -> None:
    chunks = chain("1 Timers", "1 Timers > Timer | Value", "1 Timers > Timer | Value", "1 Timers")
    assert widened(chunks, [1]) == [1, 2, 0]


def test_chunks_of_other_contents_are_no_neighbours() -> None:
    hit, other = chain("Keys", "Keys")
    limits = ContextSettings(neighbours=4)
    context = choose("What?", [hit], limits)
    assert widen(context, [replace(other, content_sha256="1" * 64)], limits) == context


def test_a_neighbour_keeps_what_the_search_said_of_it() -> None:
    chunks = chain(*["Keys"] * 12)
    limits = ContextSettings(neighbours=2)
    ranked = [chunks[0], chunks[8], *chunks[2:8], chunks[1]]
    context = widen(choose("What?", ranked, limits), chunks, limits)
    assert context.passages == (*ranked, chunks[9])
    assert context.fates[8] == Considered(chunks[1], 9, Fate.NEIGHBOUR)
    assert context.fates[9] == Considered(chunks[9], None, Fate.NEIGHBOUR)


def test_neighbours_take_only_the_room_that_the_hits_leave() -> None:
    chunks = [replace(each, token_count=10) for each in chain(*["Keys"] * 5)]
    assert widened(chunks, [2, 4], tokens=39) == [2, 4, 3]


def test_time_is_linear_in_the_length_of_the_passages() -> None:
    def seconds(repeated: int) -> float:
        ranked = [passage(f"n{n} " + LONG * repeated + "-" * 500 * repeated, name=f"{n}.txt") for n in range(24)]
        begun = time.process_time()
        choose("What is the difference?", ranked, ContextSettings(tokens=10**9))
        return time.process_time() - begun

    assert seconds(80) < 40 * seconds(8) + 0.1


TEXTS = st.lists(
    st.sampled_from(["key", "Key", "door.", "not", "5", "-5", "1.5", "T3410", "橋は", "\n", "|", ""]), max_size=8
)


@st.composite
def searches(draw: st.DrawFn) -> list[Passage]:
    """Draw what a search might bring: chunks of a few documents, many of them alike."""
    drawn = draw(st.lists(st.tuples(TEXTS, st.sampled_from(["a 1", "a 2", "b"]), st.integers(1, 90)), max_size=24))
    return [
        replace(
            passage(" ".join(words), name=f"{name}.txt"),
            chunk_id=ChunkId(passage(f"{n} {name}").chunk_id),
            content_sha256=name.ljust(64, "0"),
            ordinal=n,
            token_count=tokens,
        )
        for n, (words, name, tokens) in enumerate(drawn)
    ]


LIMITS = st.builds(
    ContextSettings,
    hits=st.integers(1, 8),
    tokens=st.integers(1, 300),
    neighbours=st.integers(0, 4),
    centres=st.integers(1, 3),
    alike=st.integers(1, 3),
)
QUESTIONS = st.sampled_from(["What is a 1?", "Compare a 1 with a 2.", "Where is the key?", ""])


@given(QUESTIONS, searches(), LIMITS)
def test_every_passage_has_one_fate_and_no_limit_is_passed(
    question: str, ranked: list[Passage], settings: ContextSettings
) -> None:
    context = choose(question, ranked, settings)
    assert [each.passage for each in context.fates] == ranked
    assert context.passages == tuple(each.passage for each in context.fates if each.fate is Fate.GIVEN)
    assert len(context.passages) <= settings.hits
    assert sum(each.token_count for each in context.passages) <= settings.tokens
    by_id = {each.chunk_id: each for each in context.passages}
    for each in context.fates:
        assert (each.fate is Fate.DUPLICATE) == (each.duplicate_of is not None)
        if each.duplicate_of:
            assert digits(each.passage) <= digits(by_id[each.duplicate_of])


@given(QUESTIONS, searches(), LIMITS)
def test_widening_only_adds_what_stands_beside(question: str, ranked: list[Passage], settings: ContextSettings) -> None:
    context = choose(question, ranked[::2], settings)
    wide = widen(context, ranked, settings)
    hits, added = wide.passages[: len(context.passages)], wide.passages[len(context.passages) :]
    assert hits == context.passages
    assert len(added) <= settings.neighbours
    assert sum(each.token_count for each in wide.passages) <= settings.tokens
    assert len({each.chunk_id for each in wide.passages}) == len(wide.passages)
    centres = {(each.content_sha256, each.ordinal) for each in hits[: settings.centres]}
    for each in added:
        assert centres & {(each.content_sha256, each.ordinal - 1), (each.content_sha256, each.ordinal + 1)}
    assert {each.passage for each in wide.fates if each.fate in {Fate.GIVEN, Fate.NEIGHBOUR}} == set(wide.passages)
    assert len({each.passage.chunk_id for each in wide.fates}) == len(wide.fates)


def digits(found: Passage) -> set[str]:
    return set(re.findall(r"\d", found.text))
