"""Reads Word documents: text in order, with numbers, headings, tables, notes and pages as Word shows them."""

from dataclasses import replace

from app.ingestion.parsing.composing import PAGE_BORDER, Composer, Furniture, Passage, collapse, flatten
from app.ingestion.parsing.docx_names import attribute, local_name
from app.ingestion.parsing.docx_numbering import Numbering
from app.ingestion.parsing.docx_package import Package, Relationship
from app.ingestion.parsing.docx_story import Collector, Definitions, Section, Story
from app.ingestion.parsing.docx_styles import Styles
from app.ingestion.parsing.types import ParsedDocument, ParseLimits

_MOST_FURNITURE = 500
"""Characters of a header or footer that are kept: it is stored with each page."""


def parse_docx(data: bytes, limits: ParseLimits) -> ParsedDocument:
    """Return the text of a Word document.

    Raises:
        ParseFailure: It is encrypted, damaged or empty, or exceeds a limit.
    """
    package = Package(data, limits.max_unpacked_bytes)
    main = package.main_part()
    related = package.relationships(main)
    styles = Styles(package.tree(_related(related, "styles")))
    numbering = Numbering(package.tree(_related(related, "numbering")), styles)
    definitions = Definitions(styles, numbering, limits.max_characters)
    notes = {kind: _Notes(definitions) for kind in ("footnote", "endnote")}
    for kind, found in notes.items():
        package.read(_related(related, f"{kind}s"), found)
    body = _Body(Composer(limits), notes)
    package.read(main, Story(body, definitions))
    return body.finish(_furniture(package, related, definitions, body.sections))


def _related(related: dict[str, Relationship], kind: str) -> str:
    return next((found.target for found in related.values() if found.kind.endswith(f"/{kind}")), "")


class _Notes(Story):
    """Reads the footnotes or the endnotes of a document."""

    def __init__(self, definitions: Definitions) -> None:
        self._collector = Collector()
        super().__init__(self._collector, definitions)
        self._open = ""
        self.texts: dict[str, str] = {}

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Take an element's beginning."""
        if local_name(tag) in {"footnote", "endnote"}:
            self._open = attribute(attributes, "id")
        super().start(tag, attributes)

    def end(self, tag: str) -> None:
        """Take an element's end; a note ends with its text known."""
        super().end(tag)
        if local_name(tag) in {"footnote", "endnote"}:
            self.texts[self._open] = collapse(flatten(self._collector.passages))
            self._collector.passages.clear()


class _Body:
    """Takes the blocks of the body and puts the notes at the ends of the pages that refer to them."""

    def __init__(self, composer: Composer, notes: dict[str, _Notes]) -> None:
        self._composer = composer
        self._notes = notes
        self._marks: dict[tuple[str, str], str] = {}
        self._waiting: dict[str, list[Passage]] = {kind: [] for kind in notes}
        self._counts = dict.fromkeys(notes, 0)
        self._section_start = 0
        self._section_border: int | None = None
        self.sections: list[tuple[int, int, Section]] = []

    def take(self, passage: Passage) -> None:
        """Take a block; page borders around it end the page."""
        text = passage.text.strip(f"{PAGE_BORDER} ")
        before, after = passage.text.split(text, 1) if text else (passage.text, "")
        if PAGE_BORDER in before:
            self._break_page()
        self._composer.add(replace(passage, text=text))
        if PAGE_BORDER in after:
            self._break_page()

    def refer(self, kind: str, note_id: str) -> str:
        """Return the mark of a note: its number in brackets."""
        text = self._notes[kind].texts.get(note_id)
        if not text:
            return ""
        if (kind, note_id) not in self._marks:
            self._counts[kind] += 1
            mark = f"[{self._counts[kind]}]" if kind == "footnote" else f"[note {self._counts[kind]}]"
            self._marks[kind, note_id] = mark
            self._waiting[kind].append(Passage(f"{mark} {text}", apart=not self._waiting[kind]))
        return self._marks[kind, note_id]

    def end_section(self, section: Section) -> None:
        """End a section; the one after it begins a page, unless it says that it does not."""
        if section.continuous and self._section_border is not None:
            self._composer.join_pages(self._section_border)
        previous = self.sections[-1][2].parts if self.sections else {}
        section.parts = previous | section.parts
        border = self._break_page()
        end = border if border is not None else self._composer.length
        self.sections.append((self._section_start, end, section))
        self._section_start, self._section_border = end, border

    def finish(self, furniture: list[Furniture]) -> ParsedDocument:
        """Return the document, with the notes that are left at its end."""
        self._give("footnote")
        self._give("endnote")
        return self._composer.finish(furniture=furniture, all_headings_marked=self._composer.headings)

    def _break_page(self) -> int | None:
        self._give("footnote")
        return self._composer.break_page()

    def _give(self, kind: str) -> None:
        for passage in self._waiting[kind]:
            self._composer.add(passage)
        self._waiting[kind].clear()


def _furniture(
    package: Package,
    related: dict[str, Relationship],
    definitions: Definitions,
    sections: list[tuple[int, int, Section]],
) -> list[Furniture]:
    texts: dict[str, str] = {}
    furniture = []
    for start, end, section in sections:
        parts = [related[part].target for part in section.parts.values() if part in related]
        for part in parts:
            if part not in texts:
                texts[part] = _header_text(package, part, definitions)
        lines = tuple(texts[part] for part in parts if texts[part])
        furniture.append(Furniture(start, max(end, start + 1), lines))
    return furniture


def _header_text(package: Package, part: str, definitions: Definitions) -> str:
    collector = Collector()
    package.read(part, Story(collector, definitions, fields=False))
    return collapse(flatten(collector.passages))[:_MOST_FURNITURE]
