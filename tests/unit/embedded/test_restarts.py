import pytest

from app.embedded.restarts import MOST_RESTARTS, WINDOW_SECONDS, next_delay


def test_the_delay_doubles_with_each_ending_in_the_window() -> None:
    assert [next_delay(range(count), now=10.0) for count in (1, 2, 3)] == [0.5, 1.0, 2.0]


def test_one_ending_more_than_allowed_gives_up() -> None:
    assert next_delay([1.0] * MOST_RESTARTS, now=2.0) is not None
    assert next_delay([1.0] * (MOST_RESTARTS + 1), now=2.0) is None


@pytest.mark.parametrize(("age", "delay"), [(WINDOW_SECONDS - 0.1, None), (WINDOW_SECONDS, 0.5)])
def test_endings_are_forgotten_after_the_window(age: float, delay: float | None) -> None:
    endings = [0.0] * MOST_RESTARTS + [age]
    assert next_delay(endings, now=age) == delay
