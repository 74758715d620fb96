"""What is told at the end of an upload: how many files came out in which way, and what to do about the failed ones."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from app.cli import output, words
from app.cli.files import Collected
from app.cli.overview import Overview
from app.cli.uploading import Uploaded

_NAMED = 3
_OUTCOMES = {
    "created": "new",
    "identical": "unchanged",
    "new_version": "new versions",
    "same_content": "known content",
}


def summary(results: Sequence[Uploaded]) -> str:
    """Return how many files came out in which way."""
    counts = Counter("failed" if each.error else str((each.accepted or {}).get("outcome")) for each in results)
    parts = ", ".join(f"{count:,} {_OUTCOMES.get(outcome, outcome)}" for outcome, count in counts.most_common())
    return f"{output.plural(len(results), 'file')}: {parts}."


def failures(results: Sequence[Uploaded]) -> Iterator[str]:
    """Yield what failed, grouped by reason, the most frequent first, and what to do about each."""
    by_reason: dict[str, list[Uploaded]] = defaultdict(list)
    for each in results:
        if each.error is not None:
            by_reason[words.failure(each.reason)[0]].append(each)
    groups = sorted(by_reason.items(), key=lambda group: -len(group[1]))
    if not groups:
        return
    count = sum(len(files) for _, files in groups)
    yield f"{count:,} failed: {', '.join(f'{len(files):,} {why}' for why, files in groups)}."
    for why, files in groups:
        yield f"  {why}: {words.failure(files[0].reason)[1]} {_names(files)}"


def notices(results: Sequence[Uploaded]) -> Iterator[str]:
    """Yield what is worth a look though nothing failed."""
    if similar := [each for each in results if each.similar]:
        yield f"{output.plural(len(similar), 'file')} much like one that was uploaded before. {_names(similar)}"
    if bare := [each for each in results if each.error is None and each.pages_without_text]:
        yield (
            f"{output.plural(len(bare), 'file')} with pages that hold no text, which nothing can be quoted from. "
            f"{_names(bare)}"
        )


def left_out(found: Collected) -> Iterator[str]:
    """Yield what of the named folders was not sent, and how to send it all the same."""
    if found.skipped:
        names = _listed([path.name for path in found.skipped])
        yield (
            f"{output.plural(len(found.skipped), 'file')} left out, since the name does not end like a document's. "
            f"Name a file, or use a pattern, to upload it anyway. {names}"
        )
    if found.hidden:
        count, names = len(found.hidden), _listed([path.name for path in found.hidden])
        yield f"{count:,} hidden {'file or folder' if count == 1 else 'files and folders'} left out. {names}"


def stopped(overview: Overview) -> str:
    """Return what became of the files when an upload ends before its time."""
    parts = [f"{overview.done:,} done"]
    if overview.working:
        parts.append(f"{overview.working:,} sent and still worked on")
    if overview.sending:
        parts.append(f"{overview.sending:,} on the way, which may have arrived")
    parts.append(f"{overview.waiting:,} not sent")
    said = f"Stopped. Of {output.plural(overview.total, 'file')}: {', '.join(parts)}."
    if overview.working or overview.sending:
        said += (
            "\nThe service goes on with what it has: `groundeddocs documents list --status queued` shows what waits, "
            "`--status failed` what failed."
        )
    if overview.waiting or overview.sending:
        said += "\nRun the same command again for the rest: what is there already is recognised and not read twice."
    return said


def _names(files: Sequence[Uploaded]) -> str:
    return _listed([each.file.name for each in files])


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(output.cropped(output.neutral(name)) for name in sorted(names)[:_NAMED])
    more = len(names) - _NAMED
    return f"({shown}, and {more:,} more)" if more > 0 else f"({shown})"
