"""The strict reading of a token's parts: one text has one meaning, or it is refused."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import NoReturn


class MalformedTokenError(Exception):
    """The token cannot be an access token of any provider; the text names the rule, never a value."""


def decode_segment(segment: str) -> bytes:
    """Return the bytes of one base64url segment; a second spelling of the same bytes is refused."""
    try:
        decoded = urlsafe_b64decode(segment + "=" * (-len(segment) % 4))
    except ValueError as error:
        raise MalformedTokenError("not base64url") from error
    if urlsafe_b64encode(decoded).rstrip(b"=").decode("ascii") != segment:
        raise MalformedTokenError("not canonical base64url")
    return decoded


def decode_members(segment: str) -> dict[str, object]:
    """Return the members of a JSON object; duplicate names and numbers outside of JSON are refused."""
    try:
        value = json.loads(
            decode_segment(segment).decode("utf-8"), object_pairs_hook=_unique, parse_constant=_refuse_constant
        )
    except (ValueError, RecursionError) as error:
        raise MalformedTokenError("not JSON") from error
    if not isinstance(value, dict):
        raise MalformedTokenError("not a JSON object")
    return value


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise MalformedTokenError("a member stands twice")
    return members


def _refuse_constant(_: str) -> NoReturn:
    raise MalformedTokenError("not a JSON number")
