"""The names that WordprocessingML gives to what a document is made of."""

from collections.abc import Mapping
from functools import lru_cache

_WORD = frozenset(
    {
        "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
        "http://purl.oclc.org/ooxml/wordprocessingml/main",
    }
)
_SHORT = {
    "http://schemas.openxmlformats.org/officeDocument/2006/math": "m:",
    "http://purl.oclc.org/ooxml/officeDocument/math": "m:",
    "http://schemas.openxmlformats.org/markup-compatibility/2006": "mc:",
}
_FALSE = frozenset({"0", "false", "off", "none"})


@lru_cache(maxsize=4_096)
def local_name(tag: str) -> str:
    """Return the name of an element of Word, "m:..." and "mc:..." for two others, and "" for what is foreign."""
    namespace, _, name = tag[1:].rpartition("}") if tag.startswith("{") else ("", "", tag)
    if namespace in _WORD:
        return name
    return _SHORT[namespace] + name if namespace in _SHORT else ""


def attribute(attributes: Mapping[str, str], name: str, default: str = "") -> str:
    """Return an attribute of Word's."""
    for namespace in _WORD:
        if (value := attributes.get(f"{{{namespace}}}{name}")) is not None:
            return value
    return default


def relation(attributes: Mapping[str, str]) -> str:
    """Return the id of what an element refers to."""
    return next((value for name, value in attributes.items() if name.endswith("/relationships}id")), "")


def is_on(attributes: Mapping[str, str]) -> bool:
    """Whether a switch is on; it is when it has no value."""
    return attribute(attributes, "val", "1").lower() not in _FALSE


def number(text: str) -> int | None:
    """Return a whole number of at most nine digits."""
    digits = text.removeprefix("-")
    return int(text) if digits.isascii() and digits.isdecimal() and len(digits) < 10 else None  # noqa: PLR2004
