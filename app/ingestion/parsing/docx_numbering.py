"""The numbers that Word shows before paragraphs and never stores: people ask for clauses by them.

Counters belong to an abstract numbering, which several lists can share (ECMA-376, 17.9). A level's next
paragraph sets all deeper levels back; a list with a start of its own sets its level back once.
"""

import re
from dataclasses import dataclass, field, replace
from xml.etree import ElementTree as ET

from app.ingestion.parsing.docx_names import attribute, is_on, local_name, number
from app.ingestion.parsing.docx_styles import Styles

BULLET = "-"

_LEVELS = 9
_MOST_LINKS = 5
_LONGEST_LETTERS = 20
_PLACE = re.compile(r"%([1-9])")
_BULLET_SIGNS = re.compile(r"[^\w%]+")
_ROMAN = (
    (1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"),
    (50, "l"), (40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"),
)  # fmt: skip
_MOST_ROMAN = 3_999
_CYRILLIC = "\u0430\u0431\u0432\u0433\u0434\u0435\u0436\u0437\u0438\u043a\u043b\u043c\u043d\u043e\u043f\u0440\u0441"
_LATIN = "abcdefghijklmnopqrstuvwxyz"
_IDEOGRAPHIC_DIGITS = "\u3007\u4e00\u4e8c\u4e09\u56db\u4e94\u516d\u4e03\u516b\u4e5d"


@dataclass(frozen=True, slots=True)
class Level:
    """One level of a numbering.

    Attributes:
        start: Its first number.
        form: How a number is written, such as "decimal" or "lowerRoman".
        text: What is shown, with "%1" for the number of the first level.
        restart: Which level, from 1, sets it back; 0 for none, None for every higher one.
        legal: Whether the numbers of higher levels are all shown as decimals.
    """

    start: int = 0
    form: str = "decimal"
    text: str = ""
    restart: int | None = None
    legal: bool = False


@dataclass(slots=True)
class _Abstract:
    levels: dict[int, Level] = field(default_factory=dict)
    style_levels: dict[str, int] = field(default_factory=dict)
    link: str = ""
    counters: dict[int, int] = field(default_factory=dict)


@dataclass(slots=True)
class _Number:
    abstract: int
    levels: dict[int, Level] = field(default_factory=dict)
    starts: dict[int, int] = field(default_factory=dict)


class Numbering:
    """The numberings of one document and how far each has counted."""

    def __init__(self, root: ET.Element | None, styles: Styles) -> None:
        self._abstracts: dict[int, _Abstract] = {}
        self._numbers: dict[int, _Number] = {}
        self._styles = styles
        for element in root if root is not None else ():
            match local_name(element.tag):
                case "abstractNum":
                    self._abstracts[_id(element, "abstractNumId")] = _abstract(element)
                case "num":
                    self._numbers[_id(element, "numId")] = _number(element)

    def level_of_style(self, num_id: int, style_id: str) -> int:
        """Return the level that a style has in a numbering; the first when it names none."""
        found = self._find(num_id)
        return found[1].style_levels.get(style_id, 0) if found else 0

    def label(self, num_id: int, level: int) -> str:
        """Count one paragraph and return what Word shows before it: "3.2", "a)", "-", or nothing."""
        found = self._find(num_id)
        if found is None or not 0 <= level < _LEVELS:
            return ""
        entry, abstract = found
        levels = abstract.levels | entry.levels
        shown = levels.get(level)
        if shown is None:
            return ""
        self._count(entry, abstract, levels, level)
        return _shown(shown, levels, abstract.counters)

    def _find(self, num_id: int) -> tuple[_Number, _Abstract] | None:
        entry = self._numbers.get(num_id)
        if entry is None:
            return None
        abstract = self._abstracts.get(entry.abstract)
        for _ in range(_MOST_LINKS):
            if abstract is None or not abstract.link:
                break
            linked = self._numbers.get(self._styles.numbering(abstract.link)[0] or 0)
            abstract = self._abstracts.get(linked.abstract) if linked else None
        return (entry, abstract) if abstract is not None else None

    @staticmethod
    def _count(entry: _Number, abstract: _Abstract, levels: dict[int, Level], level: int) -> None:
        counters = abstract.counters
        if (start := entry.starts.pop(level, None)) is not None:
            counters[level] = start
        else:
            counters[level] = counters[level] + 1 if level in counters else levels[level].start
        for deeper in [other for other in counters if other > level]:
            restart = levels[deeper].restart if deeper in levels else None
            if restart is None or (restart > 0 and level < restart):
                del counters[deeper]


def _id(element: ET.Element, name: str) -> int:
    found = number(attribute(element.attrib, name))
    return -1 if found is None else found


def _abstract(element: ET.Element) -> _Abstract:
    abstract = _Abstract()
    for child in element:
        match local_name(child.tag):
            case "numStyleLink":
                abstract.link = attribute(child.attrib, "val")
            case "lvl":
                at = _id(child, "ilvl")
                abstract.levels[at] = _level(child)
                for inner in child:
                    if local_name(inner.tag) == "pStyle":
                        abstract.style_levels[attribute(inner.attrib, "val")] = at
    return abstract


def _number(element: ET.Element) -> _Number:
    entry = _Number(-1)
    for child in element:
        match local_name(child.tag):
            case "abstractNumId":
                entry.abstract = _id(child, "val")
            case "lvlOverride":
                _override(entry, child)
    return entry


def _override(entry: _Number, element: ET.Element) -> None:
    at = _id(element, "ilvl")
    for child in element:
        match local_name(child.tag):
            case "startOverride":
                entry.starts[at] = max(0, _id(child, "val"))
            case "lvl":
                entry.levels[at] = _level(child)


def _level(element: ET.Element) -> Level:
    level = Level()
    for child in element:
        value = attribute(child.attrib, "val")
        match local_name(child.tag):
            case "start":
                level = replace(level, start=max(0, number(value) or 0))
            case "numFmt":
                level = replace(level, form=value)
            case "lvlText":
                level = replace(level, text=value)
            case "lvlRestart":
                level = replace(level, restart=number(value))
            case "isLgl":
                level = replace(level, legal=is_on(child.attrib))
    return level


def _shown(level: Level, levels: dict[int, Level], counters: dict[int, int]) -> str:
    if level.form == "bullet" or (level.text and _BULLET_SIGNS.fullmatch(level.text)):
        return BULLET

    def written(match: re.Match[str]) -> str:
        at = int(match[1]) - 1
        of_place = levels.get(at, Level())
        form = "decimal" if level.legal else of_place.form
        return _written(counters.get(at, of_place.start), form)

    return _PLACE.sub(written, level.text).strip()


def _written(value: int, form: str) -> str:
    """Return a number as Word writes it; forms that are rare are written as decimals."""
    match form:
        case "none":
            return ""
        case "lowerLetter" | "upperLetter":
            text = _letters(value, _LATIN)
        case "russianLower" | "russianUpper":
            text = _letters(value, _CYRILLIC)
        case "lowerRoman" | "upperRoman":
            text = _roman(value)
        case "decimalZero":
            text = f"{value:02}"
        case "ordinal":
            text = f"{value}{_ordinal_ending(value)}"
        case "chineseCounting" | "chineseCountingThousand" | "japaneseCounting" | "taiwaneseCountingThousand":
            text = _ideographic(value)
        case _:
            text = str(value)
    return text.upper() if form.startswith("upper") or form == "russianUpper" else text


def _letters(value: int, alphabet: str) -> str:
    """Return a, b, ..., z, aa, bb, ..., as Word counts."""
    if value < 1 or value > len(alphabet) * _LONGEST_LETTERS:
        return str(value)
    times, at = divmod(value - 1, len(alphabet))
    return alphabet[at] * (times + 1)


def _roman(value: int) -> str:
    if not 0 < value <= _MOST_ROMAN:
        return str(value)
    text = ""
    for size, letters in _ROMAN:
        times, value = divmod(value, size)
        text += letters * times
    return text


def _ordinal_ending(value: int) -> str:
    return "th" if value % 100 in {11, 12, 13} else {1: "st", 2: "nd", 3: "rd"}.get(value % 10, "th")


def _ideographic(value: int) -> str:
    """Return a number below a hundred as it is read; others digit by digit."""
    tens, ones = divmod(value, 10)
    if not 0 < value < 100:  # noqa: PLR2004 (two digits)
        return "".join(_IDEOGRAPHIC_DIGITS[int(digit)] for digit in str(max(value, 0)))
    ten = ("" if tens == 1 else _IDEOGRAPHIC_DIGITS[tens]) + "\u5341" if tens else ""
    return ten + (_IDEOGRAPHIC_DIGITS[ones] if ones else "")
