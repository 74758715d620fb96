"""The parsing process: `python -m app.ingestion.parsing.child MEDIA_TYPE LIMITS PARENT`, file on stdin, JSON on stdout.

It first takes from itself what a hostile file could use: memory, processor time, files, core dumps and
the size of its answer. Then nothing that happens here can harm the worker that started it.
"""

import base64
import ctypes
import gc
import json
import os
import resource
import signal
import sys

from app.documents.media_types import MediaType
from app.ingestion.parsing.formats import parse
from app.ingestion.parsing.types import Mark, ParsedDocument, ParsedPage, ParseFailure, ParseLimits

EXIT_MEMORY = 70
"""Exit status when memory ran out; there may be none left to say so in words."""

_PARENT_DEATH_SIGNAL = 1
"""Option of `prctl`, of Linux alone."""
_OPEN_FILES = 32
_OBJECTS_BETWEEN_COLLECTIONS = 50_000
"""A document is made of many small objects and hardly a cycle; looking for cycles as often as usual costs a tenth."""
_BYTES_A_CHARACTER = 8
_BYTES_OF_BOXES = 96 * 1024 * 1024
"""A PDF has at most 64 MiB of boxes, which base64 makes a third longer."""
_BYTES_BESIDE_TEXT = 16 * 1024 * 1024


def answer_bytes(limits: ParseLimits) -> int:
    """Return the most bytes that an answer within the limits can have."""
    return limits.max_characters * _BYTES_A_CHARACTER + _BYTES_OF_BOXES + _BYTES_BESIDE_TEXT


def main() -> None:
    """Parse one file."""
    media_type, limits = MediaType(sys.argv[1]), ParseLimits(**json.loads(sys.argv[2]))
    _end_with(int(sys.argv[3]))
    _confine(limits)
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    try:
        answer = _parse(media_type, limits)
        sys.stdout.buffer.write(json.dumps(answer, ensure_ascii=False, default=_plain).encode())
        sys.stdout.buffer.flush()
    except (MemoryError, ImportError):  # a library that finds no room to be loaded says ImportError
        os._exit(EXIT_MEMORY)
    os._exit(0)  # skips the libraries' clean-up, which can crash after a damaged file


def _end_with(parent: int) -> None:
    """End when the parent does, where the system can tell: a worker that was killed reads the file anew."""
    if sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, ctypes.c_ulong(signal.SIGKILL))
    if os.getppid() != parent:  # it ended before
        os._exit(0)


def _confine(limits: ParseLimits) -> None:
    for kind, most, slack in (
        (resource.RLIMIT_AS, limits.memory_bytes, 0),
        # The system kills at the hard limit, and only before it says that time was the cause (SIGXCPU).
        (resource.RLIMIT_CPU, limits.seconds, 1),
        (resource.RLIMIT_NOFILE, _OPEN_FILES, 0),
        (resource.RLIMIT_FSIZE, answer_bytes(limits), 0),
        (resource.RLIMIT_CORE, 0, 0),
    ):
        _, ceiling = resource.getrlimit(kind)
        hard = most + slack if ceiling == resource.RLIM_INFINITY else min(most + slack, ceiling)
        resource.setrlimit(kind, (min(most, hard), hard))


def _parse(media_type: MediaType, limits: ParseLimits) -> dict[str, object]:
    try:
        return {"document": parse(sys.stdin.buffer.read(), media_type, limits)}
    except ParseFailure as failure:
        return {"failure": failure.reason}


def _plain(value: object) -> object:
    """Return a part of a document in a form that JSON has."""
    if isinstance(value, bytes):
        return base64.urlsafe_b64encode(value).decode()
    if isinstance(value, ParsedDocument | ParsedPage | Mark):
        return {name: getattr(value, name) for name in value.__slots__}
    raise TypeError(f"{type(value).__name__} has no form in JSON")


if __name__ == "__main__":
    main()
