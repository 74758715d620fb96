"""Pages by position: a cursor names the last item seen, so that new items never shift a page."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Annotated, Generic, TypeVar
from uuid import UUID

from fastapi import Query
from pydantic import BaseModel

from app.core.errors import InvalidRequestError

DEFAULT_LIMIT = 50
MAX_LIMIT = 100
_MAX_CURSOR_CHARACTERS = 512

Limit = Annotated[int, Query(ge=1, le=MAX_LIMIT, description="Most items in the answer.")]
Cursor = Annotated[str | None, Query(max_length=_MAX_CURSOR_CHARACTERS, description="`next_cursor` of the last page.")]

Item = TypeVar("Item")
Read = TypeVar("Read", bound=BaseModel)


class Page(BaseModel, Generic[Read]):
    """Some items of a list, and where the next ones begin; null at the end."""

    items: list[Read]
    next_cursor: str | None


def encode_cursor(moment: datetime, item_id: UUID) -> str:
    """Return the cursor of an item in a list that is ordered by time, then by id."""
    return urlsafe_b64encode(json.dumps([moment.isoformat(), str(item_id)]).encode()).rstrip(b"=").decode()


def decode_cursor(cursor: str) -> tuple[datetime, UUID]:
    """Return the position that a cursor names.

    Raises:
        InvalidRequestError: It is none of ours.
    """
    try:
        moment, item_id = json.loads(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        position = datetime.fromisoformat(moment), UUID(item_id)
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise _unknown() from error
    if position[0].tzinfo is None:
        raise _unknown()
    return position


def cut(found: Sequence[Item], limit: int, read: Callable[[Item], Read], cursor: Callable[[Item], str]) -> Page[Read]:
    """Return the page of a list that was asked for one item more than the limit, to see whether more follow."""
    shown = found[:limit]
    more = len(found) > limit
    return Page[Read](items=[read(item) for item in shown], next_cursor=cursor(shown[-1]) if more else None)


def _unknown() -> InvalidRequestError:
    return InvalidRequestError("The cursor is not one that this list gave.")
