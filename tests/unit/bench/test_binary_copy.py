"""The bytes are those that the driver itself writes for the same values."""

import numpy as np
from pgvector import HalfVector
from psycopg.adapt import PyFormat, Transformer

from bench import binary_copy


def written(value: object) -> bytes:
    dumped = Transformer().get_dumper(value, PyFormat.BINARY).dump(value)
    assert dumped is not None
    return bytes(dumped)


def test_scalars_and_arrays_are_as_the_driver_writes_them() -> None:
    assert binary_copy.integer(70_000) == written(70_000)
    assert binary_copy.bigint(-(2**40)) == written(-(2**40))
    assert binary_copy.text_array(["5.1.3", "t3410"]) == written(["5.1.3", "t3410"])
    big = np.array([2**40, -(2**41), 2**42])
    assert binary_copy.bigint_arrays(big, [1, 3]) == [written([2**40]), written([-(2**41), 2**42])]
    small = np.array([1, 200, 3], np.int32)
    assert binary_copy.smallint_arrays(small, [0, 2, 3])[1:] == [written([1, 200]), written([3])]
    assert binary_copy.smallint_arrays(small, [0])[0][:8] == bytes(8)


def test_vectors_are_as_pgvector_writes_them() -> None:
    vectors = np.array([[0.25, -1.5], [3.0, 0.1]], np.float32)
    assert binary_copy.halfvecs(vectors) == [HalfVector(each).to_binary() for each in vectors]


def test_a_row_counts_its_fields_and_marks_what_is_missing() -> None:
    assert binary_copy.row(b"ab", None, b"") == b"\0\3" + b"\0\0\0\2ab" + b"\xff\xff\xff\xff" + b"\0\0\0\0"
