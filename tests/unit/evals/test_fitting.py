from app.answering.scoring import FEATURES, probability
from evals.fitting import Example, fit_answers, fit_rank, fit_threshold

GOOD = tuple(0.9 if name == "cosine" else 0.5 for name in FEATURES)
POOR = tuple(0.1 if name == "cosine" else 0.5 for name in FEATURES)
MIDDLE = tuple(0.5 for _ in FEATURES)


def examples() -> list[Example]:
    answerable = [Example("a", answerable=True, features=(POOR, GOOD), right=(False, True))] * 10
    hopeless = [Example("a", answerable=False, features=(MIDDLE, POOR), right=(False, False))] * 10
    empty = [Example("b", answerable=False, features=(), right=())]
    return [*answerable, *hopeless, *empty]


def test_the_candidate_that_is_right_is_ranked_first() -> None:
    rank = fit_rank(examples())
    assert set(rank) == {*FEATURES, "bias"}
    assert probability(GOOD, rank) > probability(MIDDLE, rank) > probability(POOR, rank)


def test_the_threshold_lies_between_questions_with_and_without_an_answer() -> None:
    rank = fit_rank(examples())
    answers = fit_answers(examples(), rank)
    threshold = fit_threshold(examples(), rank, answers)
    assert probability(MIDDLE, answers) < threshold <= probability(GOOD, answers) + 0.001
