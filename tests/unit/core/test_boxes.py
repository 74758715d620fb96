import struct

import pytest
from hypothesis import given, strategies as st

from app.core.boxes import FULL, Box, pack, pack_columns, spans, unpack

EDGES = st.floats(min_value=0, max_value=1)
BOXES = st.builds(
    lambda start, length, edges: Box(start, start + length, *edges),
    st.integers(0, 2**31),
    st.integers(0, 65_535),
    st.tuples(EDGES, EDGES, EDGES, EDGES),
)


@given(st.lists(BOXES, max_size=20))
def test_boxes_come_back_within_a_65535th_of_the_page(boxes: list[Box]) -> None:
    found = list(unpack(pack(boxes)))
    assert [box[:2] for box in found] == [box[:2] for box in boxes]
    assert all(
        abs(a - b) <= 1 / 65_535 for one, two in zip(found, boxes, strict=True) for a, b in zip(one, two, strict=True)
    )


def test_what_lies_outside_the_page_is_drawn_at_its_edge() -> None:
    assert next(unpack(pack([Box(0, 3, -0.2, 0.5, 1.7, 0.6)])))[2::2] == (0.0, 1.0)


def test_other_bytes_are_refused() -> None:
    with pytest.raises(struct.error):
        list(unpack(b"fifteen bytes!!"))


@given(st.lists(st.tuples(st.integers(0, 2**31), st.integers(1, 200_000), *[st.integers(0, FULL)] * 4), max_size=20))
def test_columns_give_what_boxes_give_and_long_runs_become_several(rows: list[tuple[int, ...]]) -> None:
    columns = [list(column) for column in zip(*rows, strict=True)] or [[]] * 6
    starts, lengths, left, top, right, bottom = columns
    ends = [start + length for start, length in zip(starts, lengths, strict=True)]
    packed = pack_columns(starts, ends, (left, top, right, bottom))
    pieces = [
        Box(part, min(part + FULL, row[0] + row[1]), *(edge / FULL for edge in row[2:]))
        for row in rows
        for part in range(row[0], row[0] + row[1], FULL)
    ]
    assert packed == pack(pieces)
    assert list(spans(packed)) == [piece[:2] for piece in pieces]
