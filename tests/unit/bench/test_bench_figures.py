import math

import pytest

from bench.figures import Bar, Figure, Sense, at_least, at_most, exactly, in_words, percentile


@pytest.mark.parametrize(
    ("bar", "good", "bad"), [(at_least(8), 8.0, 7.9), (at_most(2), 2.0, 2.01), (exactly(0), 0.0, 1.0)]
)
def test_a_bar_holds_on_its_good_side_and_for_no_missing_value(bar: Bar, good: float, bad: float) -> None:
    assert bar.holds(good)
    assert not bar.holds(bad)
    assert not bar.holds(math.nan)


def test_a_figure_is_the_median_of_its_samples() -> None:
    figure = Figure("speed", (9.0, 1.0, 8.0), "pages/s", at_least(8))
    assert (figure.value, figure.holds) == (8.0, True)
    assert Figure("speed", (), "pages/s", at_least(8)).holds is False
    assert Figure("speed", (1.0,)).holds is None


def test_a_figure_in_words_tells_median_spread_bar_and_verdict() -> None:
    figure = Figure("speed", (7.0, 5.0, 9.5), "pages/s", Bar(Sense.AT_LEAST, 8), "two threads")
    expected = "speed: 7 pages/s (median of 3, 5 to 9.5) [bar >= 8: DOES NOT HOLD] -- two threads"
    assert in_words(figure) == expected
    assert in_words(Figure("files", (3.0,), bar=exactly(3))) == "files: 3 [bar = 3: holds]"
    assert in_words(Figure("files", ())) == "files: not measured"


def test_percentile_is_a_value_that_so_many_do_not_exceed() -> None:
    values = [float(value) for value in range(100, 0, -1)]
    assert (percentile(values, 0.95), percentile(values, 0.5), percentile([4.0], 0.95)) == (95.0, 50.0, 4.0)
    assert math.isnan(percentile([], 0.5))
