"""Reads a story of a DOCX (its body, a note, a header) as a stream, so that neither size nor depth of it matters."""

import re
from dataclasses import dataclass, field, replace
from typing import Protocol

from app.ingestion.parsing.composing import PAGE_BORDER, Passage
from app.ingestion.parsing.docx_names import attribute, is_on, local_name, number, relation
from app.ingestion.parsing.docx_numbering import BULLET, Numbering
from app.ingestion.parsing.docx_package import NoDoctype
from app.ingestion.parsing.docx_styles import BODY_LEVEL, Styles
from app.ingestion.parsing.docx_tables import Table
from app.ingestion.parsing.types import MarkKind, ParseFailure, ParseReason

# Deleted and moved text, field codes, readings above characters, what is written twice for older programs,
# and properties as they were before a change.
_UNSEEN = frozenset(
    [
        "del",
        "moveFrom",
        "delText",
        "instrText",
        "delInstrText",
        "rt",
        "mc:Fallback",
        "pPrChange",
        "rPrChange",
        "sectPrChange",
        "tblPrChange",
        "tblGridChange",
        "trPrChange",
        "tcPrChange",
        "numberingChange",
    ]
)
_TEXT = frozenset({"t", "m:t"})
_SIGNS = {
    "tab": " ",
    "ptab": " ",
    "cr": "\n",
    "noBreakHyphen": "-",
    "lastRenderedPageBreak": PAGE_BORDER,
    "br": "",
    "sym": "",
    "footnoteReference": "",
    "endnoteReference": "",
}
"""What an element in a run stands for; the last ones say more by their attributes."""
_MOST_FIELDS = 100
_MOST_NESTED = 20
"""Tables within each other; each of them would copy all that is in the inner ones."""
_PRIVATE_USE = range(0xE000, 0xF900)
_SPACES = re.compile(r"[^\S\n\f]+")
_SPACES_AT_BORDER = re.compile(r" \f | \f|\f ")
_SPACES_AT_LINE = re.compile(r" ?\n ?")


class Sink(Protocol):
    """Takes what a story is made of, in order."""

    def take(self, passage: Passage) -> None:
        """Take a block."""

    def refer(self, kind: str, note_id: str) -> str:
        """Take a reference to a note and return its mark."""

    def end_section(self, section: "Section") -> None:
        """Take the properties of the section that ends here."""


@dataclass(slots=True)
class Section:
    """Properties of a section.

    Attributes:
        continuous: Whether it begins on the page where the one before it ends.
        parts: Ids of the headers and footers of its ordinary pages, by kind.
    """

    continuous: bool = False
    parts: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class _Paragraph:
    style: str = ""
    outline: int | None = None
    num_id: int | None = None
    level: int | None = None
    pieces: list[str] = field(default_factory=list)
    joined: bool = False
    """Whether its mark was deleted, so that the next paragraph goes on."""
    section: Section | None = None


@dataclass(frozen=True, slots=True)
class Definitions:
    """What the stories of a document share."""

    styles: Styles
    numbering: Numbering
    max_characters: int


class Story(NoDoctype):
    """Takes the XML of a story and gives its blocks to a sink.

    Args:
        sink: Takes the blocks.
        definitions: Styles and numberings of the document.
        fields: Whether the results of fields are text; in headers they are page numbers.
    """

    def __init__(self, sink: Sink, definitions: Definitions, *, fields: bool = True) -> None:
        self._sink = sink
        self._definitions = definitions
        self._shows_fields = fields
        self._unseen = 0
        self._in_text = False
        self._in_paragraph_properties = False
        self._hidden = False
        self._paragraphs: list[_Paragraph] = []
        self._tables: list[Table] = []
        self._fields: list[bool] = []
        """For each open field, whether its result has begun."""
        self._simple_fields = 0
        self._written = 0
        self._section: Section | None = None
        self._after_item = False
        self._carried: list[str] = []

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Take an element's beginning."""
        name = local_name(tag)
        if self._unseen:
            self._unseen += 1
        elif name in _UNSEEN:
            self._unseen = 1
            if name == "del" and self._in_paragraph_properties and self._paragraphs:
                self._paragraphs[-1].joined = True
        elif self._section is not None:
            self._set_section(self._section, name, attributes)
        elif self._in_paragraph_properties:
            self._set_paragraph(name, attributes)
        else:
            self._begin(name, attributes)

    def end(self, tag: str) -> None:
        """Take an element's end."""
        if self._unseen:
            self._unseen -= 1
            return
        match local_name(tag):
            case "t" | "m:t":
                self._in_text = False
            case "r":
                self._hidden = False
            case "p":
                self._end_paragraph()
            case "pPr":
                self._in_paragraph_properties = False
            case "sectPr":
                self._end_section()
            case "fldSimple":
                self._simple_fields = max(0, self._simple_fields - 1)
            case name if self._tables:
                self._end_table_part(name)

    def data(self, text: str) -> None:
        """Take text."""
        if self._in_text and not self._unseen:
            self._write(text)

    def _begin(self, name: str, attributes: dict[str, str]) -> None:
        match name:
            case "t" | "m:t":
                self._in_text = True
            case "p":
                self._paragraphs.append(_Paragraph(pieces=self._carried))
                self._carried = []
            case "pPr":
                self._in_paragraph_properties = bool(self._paragraphs)
            case "sectPr":
                self._section = Section()
            case "vanish":
                self._hidden = is_on(attributes)
            case "fldChar" | "fldSimple":
                self._set_field(name, attribute(attributes, "fldCharType"))
            case "tbl":
                self._tables.append(Table(framing=len(self._tables) >= _MOST_NESTED))
            case _ if name in _SIGNS:
                self._write(self._sign(name, attributes))
            case _ if self._tables:
                self._tables[-1].begin(name, attributes)

    def _sign(self, name: str, attributes: dict[str, str]) -> str:
        match name:
            case "br":
                return PAGE_BORDER if attribute(attributes, "type") == "page" else "\n"
            case "sym":
                return _symbol(attribute(attributes, "char"))
            case "footnoteReference" | "endnoteReference":
                return self._sink.refer(name.removesuffix("Reference"), attribute(attributes, "id"))
        return _SIGNS[name]

    def _end_table_part(self, name: str) -> None:
        if name == "tbl":
            self._give(self._tables.pop().rest())
        elif name == "tr":
            table = self._tables.pop()
            self._give(table.end_row())  # to the cell around the table, if there is one
            self._tables.append(table)

    def _set_field(self, name: str, kind: str) -> None:
        if name == "fldSimple":
            self._simple_fields += 1
        elif kind == "begin" and len(self._fields) < _MOST_FIELDS:
            self._fields.append(False)
        elif self._fields and kind == "separate":
            self._fields[-1] = True
        elif self._fields and kind == "end":
            self._fields.pop()

    def _write(self, text: str) -> None:
        visible = all(self._fields) and (self._shows_fields or not (self._fields or self._simple_fields))
        self._written += len(text)
        if self._written > self._definitions.max_characters:
            raise ParseFailure(ParseReason.TOO_MANY_CHARACTERS)
        if self._paragraphs and (text == PAGE_BORDER or (visible and not self._hidden)):
            self._paragraphs[-1].pieces.append(text)

    def _set_paragraph(self, name: str, attributes: dict[str, str]) -> None:
        paragraph, value = self._paragraphs[-1], attribute(attributes, "val")
        match name:
            case "pStyle":
                paragraph.style = value
            case "outlineLvl":
                paragraph.outline = number(value)
            case "numId":
                paragraph.num_id = number(value)
            case "ilvl":
                paragraph.level = number(value)
            case "pageBreakBefore" if is_on(attributes):
                paragraph.pieces.insert(0, PAGE_BORDER)
            case "sectPr":
                self._section = Section()

    @staticmethod
    def _set_section(section: Section, name: str, attributes: dict[str, str]) -> None:
        if name == "type":
            section.continuous = attribute(attributes, "val") == "continuous"
        elif name in {"headerReference", "footerReference"} and attribute(attributes, "type", "default") == "default":
            section.parts[name] = relation(attributes)

    def _end_section(self) -> None:
        section, self._section = self._section, None
        if section is None:
            return
        if self._paragraphs:
            self._paragraphs[-1].section = section
        else:
            self._sink.end_section(section)

    def _end_paragraph(self) -> None:
        if not self._paragraphs:
            return
        self._in_paragraph_properties = False
        self._fields = [True] * len(self._fields)  # codes end with their paragraph, even when a file forgets to say so
        paragraph = self._paragraphs.pop()
        if paragraph.joined:
            self._carried = paragraph.pieces
        else:
            self._give([self._passage(paragraph)])
        if paragraph.section is not None:
            self._sink.end_section(paragraph.section)

    def _give(self, passages: list[Passage]) -> None:
        for passage in passages:
            if self._tables:
                self._tables[-1].take(passage)
            else:
                self._sink.take(passage)

    def _passage(self, paragraph: _Paragraph) -> Passage:
        outline = self._definitions.styles.outline(paragraph.style) if paragraph.outline is None else paragraph.outline
        label = self._label(paragraph)
        text = _plain("".join(paragraph.pieces))
        is_item, after_item = bool(label), self._after_item
        self._after_item = is_item
        shown = _labelled(text, label)
        if outline is not None and 0 <= outline < BODY_LEVEL:
            self._after_item = False
            return Passage(shown.replace("\n", " "), MarkKind.HEADING, outline + 1)
        return Passage(shown, apart=not (is_item and after_item))

    def _label(self, paragraph: _Paragraph) -> str:
        styled_id, styled_level = self._definitions.styles.numbering(paragraph.style)
        num_id = styled_id if paragraph.num_id is None else paragraph.num_id
        if not num_id:
            return ""
        level = paragraph.level
        if level is None and paragraph.num_id is None:
            level = styled_level or self._definitions.numbering.level_of_style(num_id, paragraph.style)
        return self._definitions.numbering.label(num_id, level or 0)


class Collector:
    """A sink for small stories; it keeps their blocks and counts no notes."""

    def __init__(self) -> None:
        self.passages: list[Passage] = []

    def take(self, passage: Passage) -> None:
        """Keep a block."""
        self.passages.append(replace(passage, text=passage.text.replace(PAGE_BORDER, "")))

    def refer(self, kind: str, note_id: str) -> str:  # noqa: ARG002 (a sink is asked for both)
        """Return no mark: a note has no notes."""
        return ""

    def end_section(self, section: Section) -> None:
        """Do nothing: only the body has sections."""


def _plain(text: str) -> str:
    """Return a paragraph's text with single spaces, its line ends and page borders kept."""
    single = _SPACES.sub(" ", text.replace("\u00ad", ""))
    at_border = _SPACES_AT_BORDER.sub(" \f", single)
    return _SPACES_AT_LINE.sub("\n", at_border).strip(" \n")


def _labelled(text: str, label: str) -> str:
    """Return a text after its number, which stands after page borders that come first."""
    solid = text.lstrip("\f \n")
    if not label or not solid:
        return text
    return f"{text[: len(text) - len(solid)]}{BULLET if label == BULLET else label} {solid}"


def _symbol(code: str) -> str:
    """Return a sign given by its code; signs of a font's own have no meaning outside it."""
    try:
        value = int(code, 16)
    except ValueError:
        return ""
    return chr(value) if 0x20 <= value < 0x110000 and value not in _PRIVATE_USE else ""  # noqa: PLR2004 (Unicode)
