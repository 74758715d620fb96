"""Tells which lines are headings, and how headings nest.

Canonical text has no fonts. Where a line may be a heading or the first line of a clause, what follows decides:
a heading is short, ends without a stop, and no sentence runs on below.
"""

import itertools
import re
from dataclasses import dataclass

LONGEST_HEADING = 100
LOOK = 200
"""Characters of a line that tell its kind: no expression ever sees more, however long the line is."""
_LONGEST_PATH = 300
_DEEPEST = 9
"""Marked headings below this level count as of this level, so that a path stays short."""
_NAMED_LEVEL = 6
"""Level of "Chapter 2"; that of a numbered heading is one more for each part of its number."""
_BODY_LINE = 40
"""From this length on, a line below a number and a title is running text, not the next entry of a list."""

_ATX = re.compile(r" {0,3}(?P<marks>#{1,6})\s++(?P<title>\S.*)")
_NUMBERED = re.compile(r"\s{0,6}(?P<number>(?:[A-Z]\.)?\d{1,3}(?:\.\d{1,3})*)\.?\s+(?P<title>[^\W\d_a-z].*)")
_NAMED = re.compile(
    r"\s{0,4}(?:(?:Item|ITEM)\s+\d|V\d{1,2}[:.]\s*\D"
    r"|(?:Chapter|CHAPTER|Appendix|APPENDIX|Annex|ANNEX)\s+\w+(?:\s*$|\s*[:.\u2013\u2014-]|\s+[^\Wa-z]))"
)
_NUMBER = re.compile(r"\s*[A-Z]{0,2}\d{1,3}(?:\.\d{1,4})+[.)]?(?:\s|$)")
_RUNS_ON = re.compile(r"\s*[^\W\d_A-Z]")
_ENDS_OPEN = re.compile(r"(?:[.;:,!]|\s\d{1,4})\s*$")

Path = tuple[str, ...]
"""Titles of the headings above a text, outermost first."""


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading, for its place among the others.

    Attributes:
        title: Its words, cut at 100 characters.
        level: Depth; only those of headings from the same source can be compared.
        marked: Whether the parser gave it; else it was guessed from its line.
        parts: Parts of its number: 2 for "3.1 T3410"; 0 for "Chapter 2"; None without a number.
    """

    title: str
    level: int
    marked: bool
    parts: int | None


def marked_heading(text: str, level: int) -> Heading:
    """Return the heading that a parser marked; its text may be long."""
    line = text[:LOOK]
    return Heading(_words(line), min(max(level, 1), _DEEPEST), marked=True, parts=_parts(line))


def guessed_heading(line: str, before: str, after: str, *, is_markdown: bool) -> Heading | None:
    """Return the heading that a line is by the lines around it: 1 to 6 for Markdown marks, deeper for numbers."""
    atx = _ATX.fullmatch(line)
    if atx and is_markdown and (not before.strip() or _ATX.fullmatch(before)):
        title = _without_closing_marks(atx["title"])
        return Heading(_words(title), len(atx["marks"]), marked=False, parts=_parts(title))
    level = _level_of_plain(line, before, after)
    return Heading(_words(line), level, marked=False, parts=_parts(line)) if level else None


def is_clause(line: str) -> bool:
    """Whether a line begins with a number of several parts, such as "2.13" or "V5.1.3"."""
    return _NUMBER.match(line) is not None


def below(path: tuple[Heading, ...], heading: Heading) -> tuple[Heading, ...]:
    """Return the path of a heading that follows others: those above it, and itself."""
    return (*itertools.takewhile(lambda outer: _is_above(outer, heading), path), heading)


def path_text(path: Path) -> str:
    """Return a path as it is shown, such as "3 Timers > 3.1 T3410"."""
    return " > ".join(path)[:_LONGEST_PATH]


def _is_above(outer: Heading, inner: Heading) -> bool:
    """Compare by level within one source, else by numbers; without them what is marked is above what is guessed.

    A guessed "Chapter 2" is below no more than the title of the whole.
    """
    if outer.marked is inner.marked:
        return outer.level < inner.level
    if outer.parts is not None and inner.parts is not None:
        return outer.parts < inner.parts
    return outer.marked and (inner.parts != 0 or outer.level <= 1)


def _level_of_plain(line: str, before: str, after: str) -> int:
    stripped = line.strip()
    if len(stripped) > LONGEST_HEADING or _ENDS_OPEN.search(stripped) or _RUNS_ON.match(after):
        return 0
    if _NAMED.match(line):
        return _NAMED_LEVEL
    numbered = _NUMBERED.fullmatch(line)
    if not numbered:
        return 0
    if is_clause(after) and not after.strip().startswith(numbered["number"]):
        return 0  # a row of a numbered table, whose next row stands below
    parts = numbered["number"].count(".") + 1
    alone = not before.strip() and not after.strip()
    return _NAMED_LEVEL + parts if parts > 1 or alone or len(after.strip()) >= _BODY_LINE else 0


def _parts(line: str) -> int | None:
    if _NAMED.match(line):
        return 0
    numbered = _NUMBERED.match(line)
    return numbered["number"].count(".") + 1 if numbered else None


def _words(line: str) -> str:
    return " ".join(line.split())[:LONGEST_HEADING]


def _without_closing_marks(title: str) -> str:
    return title.rstrip().rstrip("#").rstrip() or title[0]
