"""What the supervisor starts, watches and stops, whatever is inside."""

import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from app.embedded import processes
from app.embedded.errors import PartFailedError
from app.embedded.logs import log_end
from app.embedded.processes import Command, Ending

_POLL_SECONDS = 0.05
# A process that cannot be asked is taken for well when it has run for so long.
_SETTLED_SECONDS = 2.0


class Part(Protocol):
    """One server or process of the embedded set."""

    name: str
    log: Path

    @property
    def process(self) -> subprocess.Popen[bytes] | None:
        """The process, once begun."""

    @property
    def mark(self) -> str:
        """A text that the command line of this part holds, and no other program's."""

    def begin(self) -> None:
        """Start, without waiting."""

    def wait_ready(self) -> None:
        """Wait until it does its work; raise `PartFailedError` when it does not come up."""

    def is_up(self) -> bool:
        """Tell, without waiting, whether it does its work."""

    def ending(self, process: subprocess.Popen[bytes]) -> Ending:
        """Tell how it is ended."""


class ProcessPart:
    """A part that is one command.

    Args:
        name: What messages call it.
        command: How to start it.
        mark: A text that its command line holds, and no other program's.
        is_ready: Tells whether it does its work; None when there is nothing to ask.
        seconds: How long it may take to get there.
    """

    def __init__(
        self, name: str, command: Command, mark: str, is_ready: Callable[[], bool] | None = None, seconds: float = 30.0
    ) -> None:
        self.name = name
        self.log = command.log
        self.mark = mark
        self._command = command
        self._is_ready = is_ready
        self._seconds = seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._begun = 0.0

    @property
    def process(self) -> subprocess.Popen[bytes] | None:
        """The process, once begun."""
        return self._process

    def begin(self) -> None:
        """Start, without waiting."""
        self._process = processes.spawn(self._command)
        self._begun = time.monotonic()

    def wait_ready(self) -> None:
        """Wait until it does its work.

        Raises:
            PartFailedError: It ended, or took too long; the end of its log is in the text.
        """
        deadline = time.monotonic() + self._seconds
        while self._is_ready and not self._is_ready():
            if self._process is None or self._process.poll() is not None:
                raise PartFailedError(f"{self.name} ended while it was starting. {log_end(self.log)}")
            if time.monotonic() > deadline:
                detail = f"{self.name} was not ready within {self._seconds:.0f} s. {log_end(self.log)}"
                raise PartFailedError(detail)
            time.sleep(_POLL_SECONDS)

    def is_up(self) -> bool:
        """Tell, without waiting, whether it does its work, or has run for a while when there is nothing to ask."""
        if self._process is None or self._process.poll() is not None:
            return False
        return self._is_ready() if self._is_ready else time.monotonic() - self._begun >= _SETTLED_SECONDS

    def ending(self, process: subprocess.Popen[bytes]) -> Ending:
        """Tell how it is ended."""
        return Ending(process)
