"""Child processes of the embedded set: how they are started, recognised later and ended."""

import contextlib
import ctypes
import functools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from app.core.clock import utc_now
from app.embedded.account import Account
from app.embedded.errors import PartFailedError

_PR_SET_PDEATHSIG = 1
_POLL_SECONDS = 0.02
_FORCE_SECONDS = 0.5
_START_MARK = "=== started at "
_LOG_BYTES = 5 * 1024 * 1024
_TAIL_BYTES = 16 * 1024


@dataclass(frozen=True, slots=True)
class Command:
    """What to start.

    Args:
        argv: Program and arguments.
        log: File that takes what it prints; kept, and cut when large.
        env: Its whole environment; None hands on ours.
        cwd: Folder that it starts in.
        account: Who runs it, if not the caller.
        dies_with_us: Signal that the kernel sends it when we end in any way (Linux only); None for none.
    """

    argv: Sequence[str | Path]
    log: Path
    env: Mapping[str, str] | None = field(default=None, repr=False)
    cwd: Path | None = None
    account: Account | None = None
    dies_with_us: signal.Signals | None = signal.SIGKILL


def spawn(command: Command) -> subprocess.Popen[bytes]:
    """Start a process in a session of its own, so that Ctrl-C in the terminal reaches only us.

    Raises:
        PartFailedError: The system refuses to run the program.
    """
    try:
        return _popen(command)
    except OSError as error:
        raise PartFailedError(f"{command.argv[0]} cannot be started: {error.strerror}.") from error


def _popen(command: Command) -> subprocess.Popen[bytes]:
    _cut_log(command.log)
    account = command.account
    with command.log.open("ab") as log:
        log.write(f"{_START_MARK}{utc_now():%Y-%m-%dT%H:%M:%SZ} ===\n".encode())
        log.flush()
        return subprocess.Popen(
            [os.fspath(part) for part in command.argv],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=command.env,
            cwd=command.cwd,
            start_new_session=True,
            user=account.uid if account else None,
            group=account.gid if account else None,
            extra_groups=[] if account else None,
            umask=0o077,
            preexec_fn=_bound_to_parent(command.dies_with_us),  # noqa: PLW1509 - we have one thread when we start parts
        )


@dataclass(frozen=True, slots=True)
class Ending:
    """How one process is ended: what asks it to, and what makes it."""

    process: subprocess.Popen[bytes]
    ask: signal.Signals = signal.SIGTERM
    force: signal.Signals = signal.SIGKILL


def stop(endings: Sequence[Ending], seconds: float) -> None:
    """Ask processes to end, all at once, then end by force what is left of them and their children.

    Args:
        endings: The processes, each with its signals.
        seconds: Time that they have together before force is used.
    """
    for ending in endings:
        ending.process.send_signal(ending.ask)
    _wait_all(endings, seconds)
    for ending in endings:
        if ending.process.poll() is None:
            ending.process.send_signal(ending.force)
    _wait_all(endings, _FORCE_SECONDS)
    for ending in endings:
        kill_group(ending.process)


def _wait_all(endings: Sequence[Ending], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and any(ending.process.poll() is None for ending in endings):
        time.sleep(_POLL_SECONDS)


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """End what is left of the session that a process led, itself included."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def tail(log: Path, lines: int = 15) -> str:
    """Return the last lines that the latest start wrote to a log file."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL_BYTES))
            text = file.read().decode("utf-8", "replace")
    except FileNotFoundError:
        return ""
    return "\n".join(text.rpartition(_START_MARK)[2].splitlines()[1:][-lines:])


def command_line(pid: int) -> str:
    """Return the command line of a running process, or an empty text when there is none."""
    proc = Path(f"/proc/{pid}/cmdline")
    if Path("/proc/self").exists():
        try:
            return proc.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace").strip()
        except OSError:
            return ""
    answer = subprocess.run(["/bin/ps", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return answer.stdout.strip()


def end_stale(pid: int, mark: str, signals: Sequence[signal.Signals], seconds: float) -> bool:
    """End a process that an earlier run left behind, if it is that process indeed.

    Args:
        pid: Its number as noted by the earlier run; may belong to another program by now.
        mark: A text that its command line holds, such as its data folder.
        signals: What to send, from polite to forceful.
        seconds: How long to wait after each.

    Returns:
        Whether a process was ended.
    """
    if not mark or mark not in command_line(pid):
        return False
    for number in signals:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
        if _gone(pid, mark, seconds):
            return True
    return False


def _gone(pid: int, mark: str, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if mark not in command_line(pid):
            return True
        time.sleep(_POLL_SECONDS)
    return False


def _cut_log(log: Path) -> None:
    """Keep one older file when a log has grown large."""
    if log.exists() and log.stat().st_size > _LOG_BYTES:
        log.replace(log.with_suffix(".old.log"))
    if not log.exists():
        log.touch(mode=0o600)


@functools.cache
def _libc() -> ctypes.CDLL | None:
    return ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def _bound_to_parent(number: signal.Signals | None) -> "functools.partial[object] | None":
    libc = _libc()
    if libc is None or number is None:
        return None
    return functools.partial(libc.prctl, _PR_SET_PDEATHSIG, int(number))
