"""How a running upload is shown: live bars on a terminal, one line for each event elsewhere."""

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Protocol, Self

from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from app.cli import output
from app.cli.files import LocalFile
from app.cli.words import state_of

_NAME_WIDTH = 40


class UploadProgress(Protocol):
    """Is told what happens to each file."""

    def __enter__(self) -> Self:
        """Begin to show."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Leave the terminal as it was."""

    def sending(self, file: LocalFile) -> None:
        """The bytes of a file are on their way."""

    def status(self, file: LocalFile, document: Mapping[str, Any]) -> None:
        """The document of a file has come further."""

    def finished(self, file: LocalFile) -> None:
        """Nothing more will happen to a file; its result is printed elsewhere."""


def upload_progress(total: int, *, live: bool) -> UploadProgress:
    """Return what shows an upload of so many files."""
    return BarProgress(total) if live else LineProgress()


class LineProgress:
    """One line for each change, on standard error."""

    def __init__(self) -> None:
        self._last: dict[str, str] = {}

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """End."""

    def sending(self, file: LocalFile) -> None:
        """Tell that a file is sent."""
        self._tell(file, "sending")

    def status(self, file: LocalFile, document: Mapping[str, Any]) -> None:
        """Tell a new state."""
        self._tell(file, state_of(document))

    def finished(self, file: LocalFile) -> None:
        """Forget a file."""
        self._last.pop(file.name, None)

    def _tell(self, file: LocalFile, words: str) -> None:
        if self._last.get(file.name) != words:
            self._last[file.name] = words
            output.say(f"{output.neutral(file.name)}: {words}")


class BarProgress:
    """A bar for each file that is under way, and one for all."""

    def __init__(self, total: int) -> None:
        self._bars = Progress(
            TextColumn("{task.fields[name]}", markup=False),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[words]}", markup=False),
            TimeElapsedColumn(),
            console=output.err(),
            transient=True,
        )
        self._all = self._bars.add_task("", total=total, name="All files", words=f"0 of {total}")
        self._total = total
        self._done = 0
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> Self:
        """Show the bars."""
        self._bars.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Take the bars away."""
        self._bars.stop()

    def sending(self, file: LocalFile) -> None:
        """Add a bar for a file."""
        self._tasks[file.name] = self._bars.add_task("", total=None, name=_short(file.name), words="sending")

    def status(self, file: LocalFile, document: Mapping[str, Any]) -> None:
        """Move the bar of a file."""
        total = document.get("total") or None
        words = output.neutral(state_of(document))
        self._bars.update(self._tasks[file.name], total=total, completed=document.get("done") or 0, words=words)

    def finished(self, file: LocalFile) -> None:
        """Take away the bar of a file, and move the one for all."""
        task = self._tasks.pop(file.name, None)
        if task is not None:
            self._bars.remove_task(task)
        self._done += 1
        self._bars.update(self._all, completed=self._done, words=f"{self._done} of {self._total}")


def _short(name: str) -> str:
    return output.cropped(output.neutral(name), _NAME_WIDTH)
