"""Looks into ZIP and OLE files for what they are, within bounds that no directory of a hostile file exceeds."""

import os
from collections.abc import Iterator
from struct import Struct, error as StructError  # noqa: N812 (a class under a function's name)
from typing import BinaryIO

ZIP_SIGNATURES = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")
OLE_SIGNATURE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"

_END = b"PK\x05\x06"
_END_RECORD = Struct("<4s4H2LH")
_END_REACH = 65_535 + _END_RECORD.size
_ENTRY = Struct("<4s6H3L5H2L")
_ENTRY_SIGNATURE = b"PK\x01\x02"
_MOST_DIRECTORY = 1024 * 1024
_MOST_NAMES = 5_000
_OLE_ENTRY = 128
_PART = 1024 * 1024


def zip_names(file: BinaryIO) -> list[str]:
    """Return the names of a ZIP file's first 5,000 entries; none when its directory is missing."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _END_REACH))
    tail = file.read(_END_REACH)
    at = tail.rfind(_END)
    if at < 0 or len(tail) - at < _END_RECORD.size:
        return []
    length = _END_RECORD.unpack_from(tail, at)[5]
    end = size - len(tail) + at
    file.seek(max(0, end - length))
    return list(_names(file.read(min(length, _MOST_DIRECTORY))))


def _names(directory: bytes) -> Iterator[str]:
    offset = 0
    for _ in range(_MOST_NAMES):
        try:
            fields = _ENTRY.unpack_from(directory, offset)
        except StructError:
            return
        if fields[0] != _ENTRY_SIGNATURE:
            return
        name, extra, comment = fields[10:13]
        start = offset + _ENTRY.size
        yield directory[start : start + name].decode("utf-8", "replace").replace("\\", "/").lstrip("/")
        offset = start + name + extra + comment


def ole_has(file: BinaryIO, stream: str) -> bool:
    """Whether an OLE file has a stream of this name; its directory's entries begin at multiples of 128 bytes."""
    wanted = stream.encode("utf-16-le") + b"\x00\x00"
    file.seek(0)
    while part := file.read(_PART):
        at = part.find(wanted)
        while at >= 0:
            if at % _OLE_ENTRY == 0:
                return True
            at = part.find(wanted, at + 1)
    return False
