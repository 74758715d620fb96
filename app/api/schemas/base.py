"""What all request and response bodies share."""

import unicodedata
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, model_validator

from app.core.glyphs import is_visible

_NUL = "\x00"


class RequestBody(BaseModel):
    """A body that a client sends: unknown fields are refused, and so is U+0000, which Postgres cannot store."""

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)

    @model_validator(mode="before")
    @classmethod
    def _refuse_nul(cls, value: Any) -> Any:
        if _holds_nul(value):
            raise ValueError("must not contain U+0000")
        return value


class ReadModel(BaseModel):
    """A body that the service answers with, read from one of its values."""

    model_config = ConfigDict(from_attributes=True, frozen=True)


def _holds_nul(body: object) -> bool:
    """Look through a body of any depth; a recursion would end where the interpreter's stack does."""
    waiting = [body]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str) and _NUL in value:
            return True
        if isinstance(value, dict):
            waiting.extend((*value.keys(), *value.values()))
        elif isinstance(value, list):
            waiting.extend(value)
    return False


def _one_line(value: str) -> str:
    if any(unicodedata.category(character) in {"Cc", "Zl", "Zp"} for character in value):
        raise ValueError("must be one line without control characters")
    if not is_visible(value):
        raise ValueError("must have something that a reader sees")
    return value


OneLine = Annotated[str, AfterValidator(_one_line)]
