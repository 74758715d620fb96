import math

import pytest

from evals.figures import auroc, ndcg, percentile, share


def test_share_of_nothing_is_no_figure() -> None:
    assert share(0, 0) is None
    assert share(1, 4) == 0.25


def test_percentile_is_a_value_that_occurred() -> None:
    values = [float(n) for n in range(1, 21)]
    assert percentile(values, 0.5) == 10.0
    assert percentile(values, 0.95) == 19.0
    assert percentile([], 0.5) is None


def test_auroc_counts_pairs_with_ties_as_half() -> None:
    assert auroc([0.9, 0.8], [0.1, 0.2]) == 1.0
    assert auroc([0.1], [0.9]) == 0.0
    assert auroc([0.5, 0.5], [0.5]) == 0.5
    assert auroc([0.9, 0.3], [0.5]) == 0.5
    assert auroc([], [0.5]) is None


def test_ndcg_rewards_relevant_files_at_the_top() -> None:
    assert ndcg(["a", "b"], frozenset({"a", "b"})) == 1.0
    assert ndcg(["x", "a"], frozenset({"a"})) == pytest.approx(1 / math.log2(3))
    assert ndcg(["x"], frozenset({"a"})) == 0.0
