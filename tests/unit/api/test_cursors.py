import base64
from datetime import UTC, datetime
from uuid import UUID

import pytest
from pydantic import BaseModel

from app.api.cursors import cut, decode_cursor, encode_cursor
from app.core.errors import InvalidRequestError

MOMENT = datetime(2026, 1, 2, 3, 4, 5, 678_901, tzinfo=UTC)
ITEM = UUID("8b7b7a0e-6f0e-4d0f-9c0b-3f1c4a7f2b61")


class Number(BaseModel):
    value: int


def test_a_cursor_gives_back_its_position_to_the_microsecond() -> None:
    assert decode_cursor(encode_cursor(MOMENT, ITEM)) == (MOMENT, ITEM)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "ä",
        "\x00",
        "[]",
        '["a"]',
        "[1,2]",
        '{"a":1}',
        "null",
        "[" * 400,
        '["2026-01-02T03:04:05+00:00","x"]',
        f'["2026-01-02T03:04:05","{ITEM}"]',
        f'["2026-99-02T03:04:05+00:00","{ITEM}"]',
        f'[null,"{ITEM}"]',
    ],
)
def test_what_is_no_cursor_is_refused(text: str) -> None:
    encoded = base64.urlsafe_b64encode(text.encode()).decode()
    for cursor in (text, encoded):
        with pytest.raises(InvalidRequestError):
            decode_cursor(cursor)


def test_a_page_names_the_next_one_only_when_there_is_one() -> None:
    def page(found: list[int]) -> tuple[list[int], str | None]:
        cut_page = cut(found, 2, lambda value: Number(value=value), str)
        return [item.value for item in cut_page.items], cut_page.next_cursor

    assert page([]) == ([], None)
    assert page([1, 2]) == ([1, 2], None)
    assert page([1, 2, 3]) == ([1, 2], "2")
