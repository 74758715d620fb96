import time

from app.retrieval.repository import _numbers


def test_forms_of_one_identifier_share_a_number() -> None:
    assert _numbers(["4960", "rfc4960", "t3410", "3410", "v5.1.3"]) == [0, 0, 2, 3, 4]


def test_the_first_form_wins_when_several_fit() -> None:
    assert _numbers(["c1", "bc1", "abc1"]) == [0, 0, 0]


def test_many_identifiers_take_linear_time() -> None:
    few, many = [f"w{n}x.{n}" for n in range(5_000)], [f"w{n}x.{n}" for n in range(40_000)]
    times = []
    for identifiers in (few, many):
        begun = time.process_time()
        assert _numbers(identifiers) == list(range(len(identifiers)))
        times.append(time.process_time() - begun)
    assert times[1] < 40 * times[0] + 0.1
