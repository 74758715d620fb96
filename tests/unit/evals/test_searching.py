from evals.formats import Evidence, LabelledQuestion
from evals.matching import Found
from evals.report import sum_up_search
from evals.searching import SearchOutcome, judge
from evals.splits import in_half

QUESTION = LabelledQuestion(
    "q", "When was it dug?", answerable=True, label="", answers=(), evidence=(Evidence("canal.txt", "Dug in 1889."),)
)


def test_the_rank_is_that_of_the_first_passage_with_the_evidence() -> None:
    found = [Found("mill.txt", "Dug in 1889."), Found("canal.txt", "It is deep."), Found("canal.txt", "Dug in 1889.")]
    outcome = judge(found, QUESTION, 0.5)
    assert outcome.rank == 3
    assert not outcome.right_file
    assert 0 < outcome.ndcg < 1


def test_the_right_file_can_be_first_without_the_evidence() -> None:
    outcome = judge([Found("canal.txt", "It is deep.")], QUESTION, 0.5)
    assert outcome.rank is None
    assert outcome.right_file
    assert outcome.ndcg == 1


def test_nothing_found_is_a_miss() -> None:
    assert judge([], QUESTION, 0.5) == SearchOutcome("q", None, right_file=False, ndcg=0.0, seconds=0.5)


def outcomes() -> list[SearchOutcome]:
    ranks = {"one": 1, "two": 3, "three": 8, "four": None}
    return [SearchOutcome(name, rank, rank == 1, 0.5, float(len(name))) for name, rank in ranks.items()]


def test_recall_counts_what_stands_within_the_first_places() -> None:
    figures = sum_up_search({"ours": outcomes()}, "tuning")["tuning"]["ours"]
    assert [figures[f"recall@{k}"] for k in (1, 3, 8)] == [0.25, 0.5, 0.75]
    assert figures["right_file@1"] == 0.25
    assert figures["ndcg@10"] == 0.5
    assert (figures["seconds_p50"], figures["seconds_p95"]) == (3.0, 5.0)


def test_both_halves_are_told_apart_when_all_is_asked() -> None:
    figures = sum_up_search({"ours": outcomes()}, "all")
    assert list(figures) == ["all", "tuning", "held-out"]
    assert figures["all"]["ours"]["questions"] == 4
    tuning = sum(in_half(each.question_id, "tuning") for each in outcomes())
    assert figures["tuning"]["ours"]["questions"] == tuning
    assert figures["held-out"]["ours"]["questions"] == 4 - tuning


def test_no_question_gives_no_figure() -> None:
    figures = sum_up_search({"ours": []}, "held-out")["held-out"]["ours"]
    assert figures["recall@8"] is None
    assert figures["ndcg@10"] is None
    assert figures["questions"] == 0
