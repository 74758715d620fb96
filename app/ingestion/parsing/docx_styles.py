"""What paragraph styles say of headings and numbering, through the styles that they are based on."""

import re
from dataclasses import dataclass
from xml.etree import ElementTree as ET

from app.ingestion.parsing.docx_names import attribute, local_name, number

BODY_LEVEL = 9
"""Outline level (ECMA-376, 17.3.1.20) of what is no heading."""

_KINDS = frozenset({"paragraph", "numbering"})
_MOST_BASES = 20
_TITLE = frozenset({"title", "titel", "titre", "t\u00edtulo", "titolo"})
# Word keeps the English names in any language; other programs write their own.
_HEADING = re.compile(
    r"(?:heading|\u00fcberschrift|titre|t\u00edtulo|titolo|kop|rubrik|overskrift|otsikko|nag\u0142\u00f3wek|nadpis"
    r"|c\u00edmsor|ba\u015fl\u0131k|\u0437\u0430\u0433\u043e\u043b\u043e\u0432\u043e\u043a|\u6807\u9898|\u6a19\u984c"
    r"|\u898b\u51fa\u3057|\uc81c\ubaa9)\s*([1-9])",
    re.IGNORECASE,
)


@dataclass(slots=True)
class Style:
    """A paragraph style; None is what the style that it is based on decides.

    Attributes:
        base: Id of the style that it is based on.
        outline: Outline level from 0; `BODY_LEVEL` for none.
        num_id: Id of its numbering; 0 for none.
        level: Level of its numbering from 0.
    """

    base: str = ""
    outline: int | None = None
    num_id: int | None = None
    level: int | None = None


class Styles:
    """The styles of one document."""

    def __init__(self, root: ET.Element | None) -> None:
        self._styles: dict[str, Style] = {}
        self._default = ""
        for element in root if root is not None else ():
            if local_name(element.tag) == "style" and attribute(element.attrib, "type", "paragraph") in _KINDS:
                self._add(element)

    def outline(self, style_id: str) -> int | None:
        """Return the outline level of a style, from 0; None for running text."""
        for style in self._chain(style_id):
            if style.outline is not None:
                return style.outline if 0 <= style.outline < BODY_LEVEL else None
        return None if style_id in self._styles else _named_level(style_id)

    def numbering(self, style_id: str) -> tuple[int | None, int | None]:
        """Return a style's numbering and its level, where it has them."""
        num_id = level = None
        for style in self._chain(style_id):
            num_id = style.num_id if num_id is None else num_id
            level = style.level if level is None else level
        return num_id, level

    def _chain(self, style_id: str) -> list[Style]:
        chain: list[Style] = []
        at = style_id or self._default
        while (style := self._styles.get(at)) and len(chain) < _MOST_BASES:
            chain.append(style)
            at = style.base
        return chain

    def _add(self, element: ET.Element) -> None:
        style, style_id, name = Style(), attribute(element.attrib, "styleId"), ""
        for child in element.iter():
            value = attribute(child.attrib, "val")
            match local_name(child.tag):
                case "name":
                    name = value
                case "basedOn":
                    style.base = value
                case "outlineLvl":
                    style.outline = number(value)
                case "numId":
                    style.num_id = number(value)
                case "ilvl":
                    style.level = number(value)
        if style.outline is None:
            style.outline = _named_level(name)
        self._styles[style_id] = style
        if attribute(element.attrib, "default") in {"1", "true", "on"}:
            self._default = style_id


def _named_level(name: str) -> int | None:
    if name.strip().lower() in _TITLE:
        return 0
    match = _HEADING.fullmatch(name.strip())
    return int(match[1]) - 1 if match else None
