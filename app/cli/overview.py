"""How far an upload of several files is, and how long it will still take. Pure: times are given."""

from collections.abc import Mapping
from typing import Any

# What is done of a file's work when it gets to a stage; measured on text PDFs, where embedding takes nearly all.
_BEGINS_AT = {"queued": 0.0, "parsing": 0.0, "chunking": 0.08, "embedding": 0.1, "ready": 1.0, "failed": 1.0}
_ENDS_AT = {"parsing": 0.08, "chunking": 0.1, "embedding": 1.0}
_LEAST_SECONDS = 3.0
_LEAST_PART = 0.02


class Overview:
    """Counts the files of an upload and weighs how much of the work is done, by their sizes.

    Args:
        sizes: Length of each file in bytes, by name.
        started: Seconds of a clock that never goes back.
    """

    def __init__(self, sizes: Mapping[str, int], started: float) -> None:
        self._sizes = {name: max(size, 1) for name, size in sizes.items()}
        self._started = started
        self._parts: dict[str, float] = {}
        self._estimates: dict[str, float] = {}
        self._sending: set[str] = set()
        self._sent: set[str] = set()
        self._done: set[str] = set()
        self._known: set[str] = set()
        self.failed = 0

    @property
    def total(self) -> int:
        """How many files there are."""
        return len(self._sizes)

    @property
    def done(self) -> int:
        """How many files have come to their end."""
        return len(self._done)

    @property
    def working(self) -> int:
        """How many files the service has accepted and not finished."""
        return len(self._sent - self._done)

    @property
    def sending(self) -> int:
        """How many files are on their way."""
        return len(self._sending)

    @property
    def waiting(self) -> int:
        """How many files have not been sent."""
        return self.total - len(self._sending | self._sent | self._done)

    def send(self, name: str) -> None:
        """Note that a file is on its way."""
        self._sending.add(name)

    def keep(self, name: str) -> None:
        """Note that a file was not sent after all."""
        self._sending.discard(name)

    def accept(self, name: str) -> None:
        """Note that the service has a file."""
        self._sending.discard(name)
        self._sent.add(name)

    def move(self, name: str, document: Mapping[str, Any]) -> None:
        """Note how far the document of a file is."""
        status = str(document["status"])
        begin = _BEGINS_AT.get(status, 0.0)
        total = document.get("total") or 0
        part = min((document.get("done") or 0) / total, 1.0) if total else 0.0
        self._parts[name] = begin + part * (_ENDS_AT.get(status, begin) - begin)
        self._estimates[name] = float(document.get("estimate_seconds") or 0)

    def finish(self, name: str, *, failed: bool, at_once: bool) -> None:
        """Note that nothing more will happen to a file.

        Args:
            name: The file.
            failed: Whether it failed.
            at_once: Whether there was no work to do, so that it tells nothing about the pace.
        """
        self._sending.discard(name)
        self._done.add(name)
        self._estimates.pop(name, None)
        self.failed += failed
        if at_once:
            self._known.add(name)

    def seconds_left(self, now: float) -> float | None:
        """Return how long it will still take at the pace so far; None while that is a guess.

        Never less than the service itself says of a file that it works on.
        """
        said = max(self._estimates.values(), default=0.0)
        rest = {name: size for name, size in self._sizes.items() if name not in self._known}
        whole = sum(rest.values())
        did = sum(size * (1.0 if name in self._done else self._parts.get(name, 0.0)) for name, size in rest.items())
        took = now - self._started
        if whole == 0 or took < _LEAST_SECONDS or did / whole < _LEAST_PART:
            return said or None
        return max(took * (whole - did) / did, said)
