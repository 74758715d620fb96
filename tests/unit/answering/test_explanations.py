from dataclasses import replace

from app.answering.explanations import (
    MOST_CANDIDATES,
    PartContext,
    Place,
    Retrieval,
    given,
    shown,
    summarise,
)
from app.core.ids import ChunkId
from app.retrieval.context import Considered, Context, Fate
from app.retrieval.types import ArmRanks, CorpusState, Passage
from tests.unit.answering.examples import passage

STATE = CorpusState(documents_readable=5, documents_ready=4, documents_in_progress=1, corpus_version="c")
ONE, TWO, THREE = passage("One."), passage("Two."), passage("Three.")
PLACE = Place("handbook.txt", 1, 2, "Keys")


def part(question: str, *fates: tuple[Passage, Fate], absent: tuple[str, ...] = ()) -> PartContext:
    considered = tuple(Considered(each, rank, fate) for rank, (each, fate) in enumerate(fates, 1))
    passages = tuple(each for each, fate in fates if fate in {Fate.GIVEN, Fate.NEIGHBOUR})
    return PartContext(question, Context(passages, considered), absent)


def fates(retrieval: Retrieval) -> list[tuple[ChunkId, int, int | None, Fate]]:
    return [(each.chunk_id, each.part, each.rank, each.fate) for each in retrieval.candidates]


def test_what_was_given_for_several_parts_is_given_once() -> None:
    parts = [part("a", (ONE, Fate.GIVEN), (TWO, Fate.GIVEN)), part("b", (TWO, Fate.GIVEN), (THREE, Fate.GIVEN))]
    assert given(parts) == (ONE, TWO, THREE)
    assert summarise(parts, STATE).context == (ONE.chunk_id, TWO.chunk_id, THREE.chunk_id)


def test_a_passage_that_was_given_for_any_part_counts_as_given() -> None:
    parts = [
        part("a", (ONE, Fate.GIVEN), (TWO, Fate.RANK), (THREE, Fate.BUDGET)),
        part("b", (ONE, Fate.RANK), (THREE, Fate.GIVEN)),
    ]
    retrieval = summarise(parts, STATE)
    assert fates(retrieval) == [
        (ONE.chunk_id, 1, 1, Fate.GIVEN),
        (THREE.chunk_id, 2, 2, Fate.GIVEN),
        (TWO.chunk_id, 1, 2, Fate.RANK),
    ]
    assert retrieval.questions == ("a", "b")


def test_the_record_is_bounded_and_keeps_what_was_given() -> None:
    many = [passage(f"Passage {n}.") for n in range(100)]
    parts = [part("a", *((each, Fate.RANK) for each in many[:-1])), part("b", (many[-1], Fate.GIVEN))]
    retrieval = summarise(parts, STATE)
    assert len(retrieval.candidates) == MOST_CANDIDATES
    assert retrieval.candidates[0].chunk_id == many[-1].chunk_id


def test_what_was_searched_is_noted() -> None:
    parts = [part("a", absent=("t1", "t2")), part("b", absent=("t2", "t3"))]
    retrieval = summarise(parts, STATE)
    assert retrieval.absent_identifiers == ("t1", "t2", "t3")
    assert (retrieval.documents_readable, retrieval.documents_ready) == (5, 4)


def test_ranks_of_the_arms_are_kept() -> None:
    found = passage("Found.", arms=ArmRanks(identifier=2, vector=7))
    (candidate,) = summarise([part("a", (found, Fate.GIVEN))], STATE).candidates
    assert candidate.arms == ArmRanks(identifier=2, vector=7)


def test_what_has_no_place_is_not_shown_nor_pointed_to() -> None:
    first, second = summarise([part("a", (ONE, Fate.GIVEN), (TWO, Fate.DUPLICATE))], STATE).candidates
    repeated = replace(second, duplicate_of=first.chunk_id)
    places = {(each.chunk_id, each.version_id): PLACE for each in (first, repeated)}
    assert shown([first, repeated], places) == ((first, PLACE), (repeated, PLACE))
    del places[first.chunk_id, first.version_id]
    assert shown([first, repeated], places) == ((second, PLACE),)


def test_every_fate_has_its_reason_in_words() -> None:
    (candidate,) = summarise([part("a", (ONE, Fate.GIVEN))], STATE).candidates
    reasons = {replace(candidate, fate=fate).why for fate in Fate}
    assert len(reasons) == len(Fate)
