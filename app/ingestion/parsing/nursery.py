"""Where parsing processes come from: `python -m app.ingestion.parsing.nursery WORKER`, a socket of the worker on stdin.

Starting an interpreter and loading the parsers takes ten times as long as reading a page. This process does it once and
then forks a parser for each request. It has one thread, never reads a byte of a file, and is the parent of the parsers:
it can tell how each ended, and kill it without hitting another process that has taken over its number.

A request is one byte that carries three open files: a control socket, what the parser reads and what it writes. The
control socket gets the parser's exit status; closing its other end, or half of it, kills the parser.
"""

import contextlib
import gc
import os
import resource
import selectors
import signal
import socket
import sys
from typing import NoReturn

from app.ingestion.parsing import child
from app.ingestion.parsing.orders import EXIT_NOT_READ

_FILES_OF_REQUEST = 3
_MOST_FILES = 1024
"""Numbers of open files that a fork has to close, on systems where each is a call."""
_DRAINED = 4096


def main() -> None:
    """Fork parsers until the worker closes its end of the socket, or ends."""
    child.end_with(int(sys.argv[1]))
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # meant for the worker, which may still want texts
        signal.signal(number, signal.SIG_IGN)
    _limit_open_files()
    gc.collect()
    gc.freeze()  # what is loaded stays shared with the parsers: looking for cycles would write to it
    with socket.socket(fileno=0) as requests:
        _Nursery(requests).serve()


def _limit_open_files() -> None:
    _, ceiling = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _MOST_FILES if ceiling == resource.RLIM_INFINITY else min(_MOST_FILES, ceiling)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, ceiling))


class _Nursery:
    """The parsers that run, by the numbers of their processes, each with its control socket."""

    def __init__(self, requests: socket.socket) -> None:
        self._requests = requests
        self._ended = _ended_children()
        self._parsers: dict[int, socket.socket] = {}
        self._watched = selectors.PollSelector()
        self._watched.register(requests, selectors.EVENT_READ)
        self._watched.register(self._ended, selectors.EVENT_READ)

    def serve(self) -> None:
        """Serve requests until there can be no more."""
        more = True
        while more:
            ready = [key for key, _ in self._watched.select()]
            for key in ready:
                if key.data is not None:
                    self._kill(key.data)
            if any(key.fileobj is self._requests for key in ready):
                more = self._accept()
            self._reap()
        for number in self._parsers:
            os.kill(number, signal.SIGKILL)
        for number in self._parsers:
            os.waitpid(number, 0)

    def _kill(self, number: int) -> None:
        """Kill a parser whose worker has closed its control socket; it is still there, if only to be reaped."""
        os.kill(number, signal.SIGKILL)
        self._watched.unregister(self._parsers[number])

    def _accept(self) -> bool:
        """Take one request; false when the worker has closed its end."""
        asked, files, _, _ = socket.recv_fds(self._requests, 1, _FILES_OF_REQUEST)
        if not asked:
            return False
        if files:
            control = socket.socket(fileno=files[0])
            self._start(control, files[1:])
            for file in files[1:]:
                os.close(file)
        return True

    def _start(self, control: socket.socket, files: list[int]) -> None:
        try:
            source, target = files  # fewer arrive when this process has too many open files
            nursery, number = os.getpid(), os.fork()
        except (OSError, ValueError):
            _tell(control, EXIT_NOT_READ)
            return
        if number == 0:
            _become_parser(nursery, source, target)
        self._parsers[number] = control
        self._watched.register(control, selectors.EVENT_READ, number)

    def _reap(self) -> None:
        """Tell how the parsers ended that have, and forget them."""
        with contextlib.suppress(BlockingIOError):
            self._ended.recv(_DRAINED)
        with contextlib.suppress(ChildProcessError):
            while (found := os.waitpid(-1, os.WNOHANG))[0]:
                control = self._parsers.pop(found[0])
                if control in self._watched.get_map():
                    self._watched.unregister(control)
                _tell(control, os.waitstatus_to_exitcode(found[1]))


def _ended_children() -> socket.socket:
    """Return a socket that can be read whenever a child has ended."""
    ended, wake = socket.socketpair()
    ended.settimeout(0)
    wake.settimeout(0)
    signal.set_wakeup_fd(wake.detach())
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    return ended


def _tell(control: socket.socket, status: int) -> None:
    """Give the worker a status, unless it has stopped listening."""
    with control, contextlib.suppress(OSError):
        control.sendall(b"%d" % status)


def _become_parser(nursery: int, source: int, target: int) -> NoReturn:
    """Run the parser with its own two files and none of those of the nursery or of other parsers."""
    try:
        signal.set_wakeup_fd(-1)  # the number will be another file's
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.dup2(source, 0)
        os.dup2(target, 1)
        os.closerange(3, _MOST_FILES)
        child.run(nursery)
    finally:
        os._exit(EXIT_NOT_READ)


if __name__ == "__main__":
    main()
