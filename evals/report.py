"""Sums a run up by set and prints it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.answering.claims import Status
from evals.figures import auroc, percentile, share
from evals.loading import LoadedSet
from evals.running import Outcome
from evals.searching import SearchOutcome
from evals.splits import in_half

Figures = Mapping[str, float | int | None]
SearchFigures = Mapping[str, Mapping[str, Figures]]
"""By half of the questions, then by way of searching."""

_RANKS = (1, 3, 8)
_COLUMNS = (
    ("answers_with_evidence", "right"),
    ("evidence_in_answers", "precise"),
    ("false_answers", "false ans"),
    ("false_refusals", "refused"),
    ("auroc", "auroc"),
    ("citations_exact", "exact"),
    ("seconds_p50", "p50 s"),
    ("seconds_p95", "p95 s"),
    ("load_seconds", "load s"),
)
_SEARCH_COLUMNS = (
    ("recall@1", "r@1"),
    ("recall@3", "r@3"),
    ("recall@8", "r@8"),
    ("right_file@1", "file@1"),
    ("ndcg@10", "ndcg@10"),
    ("seconds_p50", "p50 s"),
    ("seconds_p95", "p95 s"),
)


@dataclass(frozen=True, slots=True)
class SetRun:
    """Everything that was measured on one set."""

    name: str
    loaded: LoadedSet
    load_seconds: float
    outcomes: Sequence[Outcome]


def sum_up(run: SetRun) -> Figures:
    """Return the figures of a set; None where there is nothing to measure."""
    answerable = [each for each in run.outcomes if each.question.answerable]
    unanswerable = [each for each in run.outcomes if not each.question.answerable]
    answered = [each for each in answerable if each.status is not Status.ABSTAINED]
    evident = [each for each in answerable if each.question.evidence]
    return {
        "questions": len(run.outcomes),
        "answerable": len(answerable),
        "documents": len(run.loaded.files) - len(run.loaded.failed),
        "documents_failed": len(run.loaded.failed),
        "answers_with_evidence": share(sum(each.holds for each in evident), len(evident)),
        "answers_with_answer": share(sum(each.holds_answer for each in answerable), len(answerable)),
        "evidence_in_answers": share(sum(each.holds for each in answered), len(answered)),
        "false_answers": share(sum(each.status is not Status.ABSTAINED for each in unanswerable), len(unanswerable)),
        "false_refusals": share(len(answerable) - len(answered), len(answerable)),
        "auroc": auroc([each.score for each in answerable], [each.score for each in unanswerable]),
        "citations": sum(each.citations for each in run.outcomes),
        "citations_exact": share(
            sum(each.exact_citations for each in run.outcomes), sum(each.citations for each in run.outcomes)
        ),
        "seconds_p50": percentile([each.seconds for each in run.outcomes], 0.5),
        "seconds_p95": percentile([each.seconds for each in run.outcomes], 0.95),
        "load_seconds": run.load_seconds,
    }


def sum_up_search(outcomes: Mapping[str, Sequence[SearchOutcome]], half: str) -> SearchFigures:
    """Return the figures of each way of searching, by half; of both halves as well when both were asked."""
    if half != "all":
        return {half: {way: _search_figures(each) for way, each in outcomes.items()}}
    halves: dict[str, dict[str, Figures]] = {"all": {}, "tuning": {}, "held-out": {}}
    for way, each in outcomes.items():
        halves["all"][way] = _search_figures(each)
        for part in ("tuning", "held-out"):
            halves[part][way] = _search_figures([one for one in each if in_half(one.question_id, part)])
    return halves


def _search_figures(outcomes: Sequence[SearchOutcome]) -> Figures:
    total = len(outcomes)
    recalls = {
        f"recall@{k}": share(sum(each.rank is not None and each.rank <= k for each in outcomes), total) for k in _RANKS
    }
    return {
        "questions": total,
        **recalls,
        "right_file@1": share(sum(each.right_file for each in outcomes), total),
        "ndcg@10": mean([each.ndcg for each in outcomes]),
        "seconds_p50": percentile([each.seconds for each in outcomes], 0.5),
        "seconds_p95": percentile([each.seconds for each in outcomes], 0.95),
    }


def mean(values: Sequence[float]) -> float | None:
    """Return the mean, or None of nothing."""
    return sum(values) / len(values) if values else None


def print_table(figures: Mapping[str, Figures]) -> None:
    """Print one line for each set."""
    print(f"{'set':<12}{'n':>6}" + "".join(f"{title:>10}" for _, title in _COLUMNS))
    for name, row in figures.items():
        print(f"{name:<12}{row['questions']:>6}" + _cells(row, _COLUMNS))


def print_search_table(figures: Mapping[str, SearchFigures]) -> None:
    """Print one line for each set, half and way of searching."""
    print(f"{'set':<12}{'half':<10}{'search':<10}{'n':>5}" + "".join(f"{title:>10}" for _, title in _SEARCH_COLUMNS))
    for name, halves in figures.items():
        for half, ways in halves.items():
            for way, row in ways.items():
                print(f"{name:<12}{half:<10}{way:<10}{row['questions']:>5}" + _cells(row, _SEARCH_COLUMNS))


def _cells(row: Figures, columns: Sequence[tuple[str, str]]) -> str:
    return "".join(f"{_shown(row[key]):>10}" for key, _ in columns)


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
