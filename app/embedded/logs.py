"""What of a log a person is shown who did not ask for it: few lines, and only those that tell of trouble."""

import json
from collections.abc import Sequence
from pathlib import Path

from app.embedded import processes

_LINES = 5
_READ_LINES = 200
_QUIET = frozenset({"debug", "info", "notice"})


def log_end(log: Path) -> str:
    """Return where a log is and the last of its latest start that tells of trouble, for messages."""
    found = telling(processes.tail(log, _READ_LINES).splitlines())
    return "\n".join([f"Its log is {log}, and ends with:", *found]) if found else f"Its log is {log}."


def telling(lines: Sequence[str]) -> list[str]:
    """Return the last few lines but those that are JSON and say that all is well."""
    return [line for line in lines if line.strip() and not _is_quiet(line)][-_LINES:]


def _is_quiet(line: str) -> bool:
    try:
        entry = json.loads(line)
    except ValueError:
        return False
    return isinstance(entry, dict) and entry.get("level") in _QUIET
