"""How much memory processes take, as the kernel counts it. Linux only."""

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

_PEAK = re.compile(rb"^VmHWM:\s+(\d+) kB", re.MULTILINE)
_KIBIBYTE = 1024
_NURSERY = b"app.ingestion.parsing.nursery"
_LOOK_SECONDS = 0.02


class Peaks:
    """The most memory that a process, and apart from it the largest process below it, have taken.

    Attributes:
        own: Bytes of the process.
        largest_child: Bytes of the largest process that it started, or that one of those started.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self.own = 0
        self.largest_child = 0

    def look(self) -> None:
        """Look now; the kernel keeps the peak of a process until it ends, so that looks miss only a last moment."""
        self.own = max(self.own, peak_of(self._pid))
        self.largest_child = max([self.largest_child, *(peak_of(pid) for pid in descendants(self._pid))])


@contextlib.asynccontextmanager
async def watched(pid: int) -> AsyncIterator[Peaks]:
    """Watch a process until the block ends."""
    peaks = Peaks(pid)

    async def look_on() -> None:
        while True:
            peaks.look()
            await asyncio.sleep(_LOOK_SECONDS)

    looking = asyncio.create_task(look_on())
    try:
        yield peaks
    finally:
        looking.cancel()
        await asyncio.wait([looking])
        peaks.look()


def peak_of(pid: int) -> int:
    """Return the most bytes of memory that a process has held at once; 0 when it has ended."""
    try:
        found = _PEAK.search(Path(f"/proc/{pid}/status").read_bytes())
    except OSError:
        return 0
    return int(found[1]) * _KIBIBYTE if found else 0


def descendants(pid: int) -> Iterator[int]:
    """Yield the processes that a process started, and those that they started.

    One that does not yet run a program of its own is left out: until then it shares the memory of the one that
    started it, and its peak is theirs. Those of the nursery never do, and read files.
    """
    for listed in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in map(int, listed.read_bytes().split()):
                if _command(child) != _command(pid) or _NURSERY in _command(pid):
                    yield child
                    yield from descendants(child)


def _command(pid: int) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()
