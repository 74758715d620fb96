"""The parsing process, forked by the nursery for one file: order and file on stdin, JSON on stdout.

It first takes from itself what a hostile file could use: memory, processor time, files, processes, core dumps
and the size of its answer. Then nothing that happens here can harm the worker that wants the text.
"""

import base64
import ctypes
import gc
import json
import os
import resource
import signal
import sys
from typing import NoReturn

from app.ingestion.parsing.formats import parse
from app.ingestion.parsing.orders import EXIT_DAMAGED, EXIT_MEMORY, ORDER_BYTES, Order, answer_bytes
from app.ingestion.parsing.types import Mark, ParsedDocument, ParsedPage, ParseFailure, ParseLimits

_PARENT_DEATH_SIGNAL = 1
"""Option of `prctl`, of Linux alone."""
_OPEN_FILES = 32
_OBJECTS_BETWEEN_COLLECTIONS = 50_000
"""A document is made of many small objects and hardly a cycle; looking for cycles as often as usual costs a tenth."""


def run(parent: int) -> NoReturn:
    """Parse one file and end. What this raises is no fault of the file: a limit is refused, or the disk is full.

    Args:
        parent: Process that this one ends with.
    """
    end_with(parent)
    order = Order.unpack(os.read(0, ORDER_BYTES))
    _confine(order.limits)
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    try:
        with open(0, "rb", buffering=0) as source:
            data = source.read()
        answer = _answer(data, order)
        with open(1, "wb") as target:
            target.write(answer)
    except (MemoryError, ImportError):  # a library that finds no room to be loaded says ImportError
        os._exit(EXIT_MEMORY)
    os._exit(0)  # skips the libraries' clean-up, which can crash after a damaged file


def end_with(parent: int) -> None:
    """End when the parent does, where the system can tell: a worker that was killed reads the file anew."""
    if sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, ctypes.c_ulong(signal.SIGKILL))
    if os.getppid() != parent:  # it ended before
        os._exit(0)


def _confine(limits: ParseLimits) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # Python ignores it, and says what a full disk says
    if sys.platform != "darwin":  # where each process begins with more addresses than any limit, so that none is taken
        _limit(resource.RLIMIT_AS, limits.memory_bytes)
    # The system kills at the hard limit, and only before it says that time was the cause (SIGXCPU).
    _limit(resource.RLIMIT_CPU, limits.seconds, slack=1)
    _limit(resource.RLIMIT_NOFILE, _OPEN_FILES)
    _limit(resource.RLIMIT_NPROC, 0)  # a process of its own would have its own time, and outlive it
    _limit(resource.RLIMIT_FSIZE, answer_bytes(limits))
    _limit(resource.RLIMIT_CORE, 0)


def _limit(kind: int, most: int, slack: int = 0) -> None:
    _, ceiling = resource.getrlimit(kind)
    hard = most + slack if ceiling == resource.RLIM_INFINITY else min(most + slack, ceiling)
    resource.setrlimit(kind, (min(most, hard), hard))


def _answer(data: bytes, order: Order) -> bytes:
    try:
        return json.dumps(_parse(data, order), ensure_ascii=False, default=_plain).encode()
    except (MemoryError, ImportError):
        raise
    except BaseException:  # noqa: BLE001 (a damaged file can make a library raise anything)
        os._exit(EXIT_DAMAGED)


def _parse(data: bytes, order: Order) -> dict[str, object]:
    try:
        return {"document": parse(data, order.media_type, order.limits)}
    except ParseFailure as failure:
        return {"failure": failure.reason}


def _plain(value: object) -> object:
    """Return a part of a document in a form that JSON has."""
    if isinstance(value, bytes):
        return base64.urlsafe_b64encode(value).decode()
    if isinstance(value, ParsedDocument | ParsedPage | Mark):
        return {name: getattr(value, name) for name in value.__slots__}
    raise TypeError(f"{type(value).__name__} has no form in JSON")
