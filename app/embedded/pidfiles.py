"""Which processes a data folder has started, so that the next start can end what was left behind."""

import json
import signal

from app.embedded import processes
from app.embedded.home import Home
from app.embedded.parts import Part
from app.embedded.passwords import write_private

_SECONDS = 3.0


def note(home: Home, part: Part) -> None:
    """Remember the process of a part."""
    if part.process:
        write_private(home.run / f"{part.name}.pid", json.dumps({"pid": part.process.pid, "mark": part.mark}))


def forget(home: Home) -> None:
    """Remove all notes, when everything has ended."""
    for path in home.run.glob("*.pid"):
        path.unlink()


def end_left_behind(home: Home) -> list[str]:
    """End what an earlier run of this data folder left running; the caller holds the folder.

    Postgres is left to its own start, which knows how to take over.

    Returns:
        Names of the parts that were ended.
    """
    ended = []
    for path in home.run.glob("*.pid"):
        try:
            noted = json.loads(path.read_text("utf-8"))
            pid, mark = int(noted["pid"]), str(noted["mark"])
        except (ValueError, KeyError, TypeError):
            path.unlink()
            continue
        name = path.stem
        if name != "postgres" and processes.end_stale(pid, mark, (signal.SIGTERM, signal.SIGKILL), _SECONDS):
            ended.append(name)
        path.unlink()
    return sorted(ended)
