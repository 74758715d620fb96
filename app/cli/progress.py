"""How a running upload is shown: live bars on a terminal, one line for each event elsewhere."""

import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Protocol, Self

from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from app.cli import output
from app.cli.files import LocalFile
from app.cli.overview import Overview
from app.cli.words import FINAL_STATES, state_of, time_left

_NAME_WIDTH = 40
_BARS = 6
_QUIET_SECONDS = 10.0
_OVERVIEW_SECONDS = 30.0
# Up to so many files are told one by one where there is no terminal; the stages of more would hide their results.
_TOLD_SINGLY = 10


class UploadProgress(Protocol):
    """Is told what happens to each file."""

    def __enter__(self) -> Self:
        """Begin to show."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Leave the terminal as it was."""

    def say(self, words: str) -> None:
        """Something that concerns the upload as a whole."""

    def sending(self, file: LocalFile) -> None:
        """The bytes of a file are on their way."""

    def unsent(self, file: LocalFile) -> None:
        """A file did not get to the service after all."""

    def accepted(self, file: LocalFile) -> None:
        """The service has a file."""

    def following(self, file: LocalFile) -> None:
        """What becomes of a file is watched from now on."""

    def status(self, file: LocalFile, document: Mapping[str, Any]) -> None:
        """The document of a file has come further."""

    def left(self, file: LocalFile) -> None:
        """A file is not watched any more, for a while or for good."""

    def finished(self, file: LocalFile, *, failed: bool, at_once: bool) -> None:
        """Nothing more will happen to a file; its result is printed elsewhere."""


def upload_progress(overview: Overview, *, live: bool, silent: bool) -> UploadProgress:
    """Return what shows an upload, and keeps its overview."""
    if silent:
        return SilentProgress()
    return BarProgress(overview) if live else LineProgress(overview)


class SilentProgress:
    """Shows nothing: a program reads the results alone."""

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """End."""

    def say(self, words: str) -> None:
        """Show nothing."""

    def sending(self, file: LocalFile) -> None:
        """Show nothing."""

    unsent = accepted = following = left = sending

    def status(self, file: LocalFile, document: Mapping[str, Any]) -> None:
        """Show nothing."""

    def finished(self, file: LocalFile, *, failed: bool, at_once: bool) -> None:
        """Show nothing."""


class LineProgress:
    """A line for each change of a file's stage, and now and then one within a stage and one for all files.

    Of many files only the last is told, and of no file its end: that is a result.

    Args:
        overview: Is kept up to date.
        monotonic: Seconds of a clock that never goes back.
    """

    def __init__(self, overview: Overview, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._overview = overview
        self._monotonic = monotonic
        self._last: dict[str, tuple[str, str, float]] = {}
        self._told_at = monotonic()
        self._singly = overview.total <= _TOLD_SINGLY

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """End."""

    def say(self, words: str) -> None:
        """Print it."""
        output.say(words)

    def sending(self, file: LocalFile) -> None:
        """Tell that a file is sent."""
        self._overview.send(file.name)
        self._tell(file, "sending", "sending")

    def unsent(self, file: LocalFile) -> None:
        """Count it among those that wait."""
        self._overview.keep(file.name)

    def accepted(self, file: LocalFile) -> None:
        """Count it."""
        self._overview.accept(file.name)

    def following(self, file: LocalFile) -> None:
        """Say nothing: its states are told."""

    def status(self, file: LocalFile, document: Mapping[str, Any]) -> None:
        """Tell a new state that is not the last."""
        self._overview.move(file.name, document)
        if document["status"] not in FINAL_STATES:
            self._tell(file, str(document["status"]), state_of(document))
        self._tell_all()

    def left(self, file: LocalFile) -> None:
        """Say nothing."""

    def finished(self, file: LocalFile, *, failed: bool, at_once: bool) -> None:
        """Forget a file, and tell now and then how far all are."""
        self._last.pop(file.name, None)
        self._overview.finish(file.name, failed=failed, at_once=at_once)
        self._tell_all()

    def _tell_all(self) -> None:
        now = self._monotonic()
        if now - self._told_at >= _OVERVIEW_SECONDS and self._overview.done < self._overview.total:
            self._told_at = now
            output.say(f"All files: {all_words(self._overview, now)}")

    def _tell(self, file: LocalFile, stage: str, words: str) -> None:
        if not self._singly:
            return
        now = self._monotonic()
        told = self._last.get(file.name)
        if told and told[0] == stage and (told[1] == words or now - told[2] < _QUIET_SECONDS):
            return
        self._last[file.name] = (stage, words, now)
        output.say(f"{output.neutral(file.name)}: {words}")


class BarProgress:
    """A bar for each of a handful of files that are under way, a count of the others, and a bar for all."""

    def __init__(self, overview: Overview) -> None:
        self._overview = overview
        self._bars = Progress(
            TextColumn("{task.fields[name]}", markup=False),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[words]}", markup=False),
            TimeElapsedColumn(),
            console=output.err(),
            transient=True,
        )
        self._all = self._bars.add_task("", total=overview.total, name="All files", words=f"0 of {overview.total:,}")
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> Self:
        """Show the bars."""
        self._bars.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Take the bars away."""
        self._bars.stop()

    def say(self, words: str) -> None:
        """Print it above the bars."""
        self._bars.console.print(output.neutral(words))

    def sending(self, file: LocalFile) -> None:
        """Add a bar for a file."""
        self._overview.send(file.name)
        self._show(file, "sending")

    def unsent(self, file: LocalFile) -> None:
        """Take the bar away, and count the file among those that wait."""
        self._overview.keep(file.name)
        self.left(file)

    def accepted(self, file: LocalFile) -> None:
        """Take the bar away until the file is followed."""
        self._overview.accept(file.name)
        self.left(file)

    def following(self, file: LocalFile) -> None:
        """Add a bar for a file."""
        self._show(file, "waiting for its state")

    def status(self, file: LocalFile, document: Mapping[str, Any]) -> None:
        """Move the bar of a file, with the time that the service says."""
        self._overview.move(file.name, document)
        self._move_all()
        task = self._tasks.get(file.name)
        if task is not None:
            said = document.get("estimate_seconds")
            words = state_of(document) + (f", {time_left(said)}" if said else "")
            done, total = document.get("done") or 0, document.get("total") or None
            self._bars.update(task, total=total, completed=done, words=output.neutral(words))

    def left(self, file: LocalFile) -> None:
        """Take away the bar of a file."""
        task = self._tasks.pop(file.name, None)
        if task is not None:
            self._bars.remove_task(task)
        self._move_all()

    def finished(self, file: LocalFile, *, failed: bool, at_once: bool) -> None:
        """Take away the bar of a file, and move the one for all."""
        self._overview.finish(file.name, failed=failed, at_once=at_once)
        self.left(file)

    def _show(self, file: LocalFile, words: str) -> None:
        if file.name not in self._tasks and len(self._tasks) < _BARS:
            self._tasks[file.name] = self._bars.add_task("", total=None, name=_short(file.name), words=words)
        self._move_all()

    def _move_all(self) -> None:
        others = self._overview.working + self._overview.sending - len(self._tasks)
        words = all_words(self._overview, time.monotonic())
        words += f"; {others:,} more under way" if others > 0 else ""
        self._bars.update(self._all, completed=self._overview.done, words=words)


def all_words(overview: Overview, now: float) -> str:
    """Return how far all files are, such as `12 of 1,000, 1 failed, about 3 minutes left`."""
    parts = [f"{overview.done:,} of {overview.total:,}"]
    if overview.failed:
        parts.append(f"{overview.failed:,} failed")
    seconds = overview.seconds_left(now)
    if seconds is not None and overview.done < overview.total:
        parts.append(time_left(seconds))
    return ", ".join(parts)


def _short(name: str) -> str:
    return output.cropped(output.neutral(name), _NAME_WIDTH)
