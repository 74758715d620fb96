"""Rows in the binary format of COPY, for tables that are filled by the million. Pure.

As text, vectors alone take minutes to write. The format is in the manual of Postgres, under COPY; a `halfvec` is its
dimension, a zero and the half floats, all in network order.
"""

import struct
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)
TRAILER = b"\xff\xff"
_TEXT, _INT2, _INT8 = 25, 21, 20
_NONE = struct.pack("!i", -1)
_INTEGER = struct.Struct("!i")
_FIELDS = struct.Struct("!h")
_ARRAY = struct.Struct("!iiiii")
_VECTOR = struct.Struct("!hh")


def row(*fields: bytes | None) -> bytes:
    """Return one row; None is NULL."""
    parts = [_FIELDS.pack(len(fields))]
    for field in fields:
        if field is None:
            parts.append(_NONE)
        else:
            parts += (_INTEGER.pack(len(field)), field)
    return b"".join(parts)


def integer(value: int) -> bytes:
    """Return an `integer`."""
    return _INTEGER.pack(value)


def bigint(value: int) -> bytes:
    """Return a `bigint`."""
    return value.to_bytes(8, signed=True)


def text_array(values: Sequence[str]) -> bytes:
    """Return a `text[]`."""
    encoded = [value.encode() for value in values]
    return _array(_TEXT, len(encoded), b"".join(_INTEGER.pack(len(each)) + each for each in encoded))


def bigint_arrays(values: npt.NDArray[np.int64], ends: Iterable[int]) -> list[bytes]:
    """Return one `bigint[]` for each stretch of the values."""
    return _arrays(_INT8, ">i8", values, ends)


def smallint_arrays(values: npt.NDArray[np.int32], ends: Iterable[int]) -> list[bytes]:
    """Return one `smallint[]` for each stretch of the values."""
    return _arrays(_INT2, ">i2", values, ends)


def halfvecs(vectors: npt.NDArray[np.float32]) -> list[bytes]:
    """Return one `halfvec` for each row."""
    halves, head = vectors.astype(">f2"), _VECTOR.pack(vectors.shape[1], 0)
    return [head + half.tobytes() for half in halves]


def _arrays(oid: int, kind: str, values: npt.NDArray[np.integer], ends: Iterable[int]) -> list[bytes]:
    size = np.dtype(kind).itemsize
    elements = np.empty(values.size, [("length", ">i4"), ("value", kind)])
    elements["length"], elements["value"] = size, values
    data, step, start, arrays = elements.tobytes(), size + _INTEGER.size, 0, []
    for end in ends:
        arrays.append(_array(oid, end - start, data[start * step : end * step]))
        start = end
    return arrays


def _array(oid: int, count: int, elements: bytes) -> bytes:
    if count == 0:
        return struct.pack("!iii", 0, 0, oid)
    return _ARRAY.pack(1, 0, oid, count, 1) + elements
