"""The figures that a run is summed up in. Pure."""

import math
from collections.abc import Sequence


def share(hits: int, total: int) -> float | None:
    """Return hits / total, or None when there is nothing to count."""
    return hits / total if total else None


def percentile(values: Sequence[float], at: float) -> float | None:
    """Return the smallest value that at least `at` of all values (0 to 1) do not exceed."""
    if not values:
        return None
    return sorted(values)[max(0, math.ceil(at * len(values)) - 1)]


def auroc(positives: Sequence[float], negatives: Sequence[float]) -> float | None:
    """Return how often a positive outscores a negative, ties counting half; None without one of them."""
    if not positives or not negatives:
        return None
    labelled = sorted([(score, 1) for score in positives] + [(score, 0) for score in negatives])
    total, at = 0.0, 0
    while at < len(labelled):
        end = at
        while end < len(labelled) and labelled[end][0] == labelled[at][0]:
            end += 1
        mean_rank = (at + 1 + end) / 2
        total += mean_rank * sum(label for _, label in labelled[at:end])
        at = end
    count = len(positives)
    return (total - count * (count + 1) / 2) / (count * len(negatives))


def ndcg(ranked: Sequence[str], relevant: frozenset[str], k: int = 10) -> float:
    """Return the normalised discounted gain of a ranking with binary relevance (Järvelin and Kekäläinen, 2002).

    Args:
        ranked: Names of files, best first, each once.
        relevant: Names of the files that are relevant.
        k: How far the ranking counts.
    """
    gain = sum(1 / math.log2(place + 2) for place, name in enumerate(ranked[:k]) if name in relevant)
    ideal = sum(1 / math.log2(place + 2) for place in range(min(k, len(relevant))))
    return gain / ideal if ideal else 0.0
