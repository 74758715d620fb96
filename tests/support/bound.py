"""Turns into a command that the kernel kills when the process that started it ends, however that happens.

A test run that is interrupted stops nothing itself. Only Linux has this; elsewhere the command just runs.
"""

import ctypes
import os
import signal
import sys
from pathlib import Path

_PR_SET_PDEATHSIG = 1


def bound(*arguments: str) -> list[str]:
    """Return the command line that runs Python with these arguments for as long as the calling process lives."""
    return [sys.executable, "-I", str(Path(__file__)), str(os.getpid()), *arguments]


if __name__ == "__main__":
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))
        if os.getppid() != int(sys.argv[1]):
            sys.exit("The parent has ended already.")
    os.execv(sys.executable, [sys.executable, *sys.argv[2:]])  # noqa: S606
