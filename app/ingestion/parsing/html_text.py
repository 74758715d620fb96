"""Reads web pages: what a reader sees, block by block. Nothing is fetched and nothing is run."""

import re
from dataclasses import replace

from selectolax.lexbor import LexborNode

from app.ingestion.parsing.composing import Composer, Passage, collapse, row
from app.ingestion.parsing.grid import Cell, Grid
from app.ingestion.parsing.html_source import read_tree
from app.ingestion.parsing.html_tables import data_tables
from app.ingestion.parsing.types import MarkKind, ParsedDocument, ParseFailure, ParseLimits, ParseReason

_UNSEEN = frozenset(
    [
        "head",
        "script",
        "style",
        "template",
        "noscript",
        "nav",
        "svg",
        "canvas",
        "iframe",
        "object",
        "embed",
        "video",
        "audio",
        "select",
        "option",
        "datalist",
        "textarea",
        "input",
        "button",
        "annotation",
        "annotation-xml",
        "rp",
    ]
)
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_APART = frozenset(
    [
        "p",
        "pre",
        "table",
        "ul",
        "ol",
        "dl",
        "blockquote",
        "section",
        "article",
        "main",
        "figure",
        "details",
        "fieldset",
        "hr",
    ]
)
_CLOSE_IN_LISTS = frozenset({"p", "ul", "ol"})
_BLOCKS = _APART | frozenset(
    [
        "html",
        "body",
        "div",
        "li",
        "dt",
        "dd",
        "tr",
        "td",
        "th",
        "thead",
        "tbody",
        "tfoot",
        "caption",
        "header",
        "footer",
        "aside",
        "address",
        "form",
        "figcaption",
        "summary",
        "legend",
        "center",
        "dialog",
        "hgroup",
        "menu",
        "search",
        "optgroup",
        "title",
    ]
)
_LISTS = frozenset({"ul", "ol", "menu"})
_CELLS = frozenset({"td", "th"})
_HIDING_STYLE = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)\b", re.IGNORECASE)
_MOST_ROWS = 65_534
"""Rows that a cell can reach over (HTML standard, 4.9.11)."""


def parse_html(data: bytes, limits: ParseLimits) -> ParsedDocument:
    """Return what a page says; it is cut into pages at its topmost headings, or by size.

    Raises:
        ParseFailure: It has no text, or exceeds a limit.
    """
    tree = read_tree(data)
    if tree.root is None:
        raise ParseFailure(ParseReason.NO_TEXT)
    composer = Composer(limits)
    title = tree.css_first("head > title")
    if title is not None and tree.css_first("h1") is None:
        composer.add(Passage(collapse(title.text()), MarkKind.HEADING, 1))
    _Reader(composer, data_tables(tree)).read(tree.root)
    return composer.finish(at_headings=True, all_headings_marked=composer.headings)


class _List:
    """An open list and the number of its next item; bullets have none."""

    def __init__(self, node: LexborNode) -> None:
        self._number = _integer(node, "start", 1) if node.tag == "ol" else None

    def marker(self, item: LexborNode) -> str:
        if self._number is None:
            return "- "
        number = _integer(item, "value", self._number)
        self._number = number + 1
        return f"{number}. "


class _Table:
    """An open table that holds data."""

    def __init__(self, node: LexborNode) -> None:
        self.id = node.mem_id
        self._grid = Grid()
        self._cells: list[Cell] = []
        self._only_names = True
        self._in_head = False
        self._heads_over = False

    def begin_row(self, node: LexborNode) -> None:
        self._cells, self._only_names = [], True
        self._in_head = node.parent is not None and node.parent.tag == "thead"

    def end_cell(self, node: LexborNode, text: str) -> None:
        self._only_names &= node.tag == "th"
        self._cells.append(Cell(text, _integer(node, "colspan", 1), min(_integer(node, "rowspan", 1), _MOST_ROWS)))

    def end_row(self) -> Passage:
        header = bool(self._cells) and (self._in_head or self._only_names) and not self._heads_over
        self._heads_over |= not header
        line = row(self._grid.place(self._cells))
        return Passage(line, MarkKind.HEADER_ROW if header else MarkKind.ROW, apart=False)


class _Reader:
    """Walks a tree without recursion, and gives its blocks to the composer."""

    def __init__(self, composer: Composer, tables: frozenset[int]) -> None:
        self._composer = composer
        self._data_tables = tables
        self._pieces: list[str] = []
        self._lists: list[_List] = []
        self._table: _Table | None = None
        self._marker = ""
        self._apart = False
        self._heading = 0
        self._lines_kept = 0

    def read(self, root: LexborNode) -> None:
        """Read an element and all within it."""
        opened: list[LexborNode] = [root]
        following: list[LexborNode | None] = [root.first_child]
        while following:
            node = following.pop()
            if node is None:
                self._leave(opened.pop())
                continue
            following.append(node.next)
            if node.is_text_node:
                self._pieces.append(self._inline(node.text_content or ""))
            elif node.is_element_node and self._enter(node):
                opened.append(node)
                following.append(node.first_child)

    def _inline(self, text: str) -> str:
        """Return text whose line ends are spaces, unless its lines are kept."""
        return text if self._lines_kept else text.replace("\n", " ").replace("\r", " ")

    def _enter(self, node: LexborNode) -> bool:
        tag = node.tag
        if tag in _UNSEEN or _is_hidden(node):
            return False
        if tag == "br":
            self._pieces.append(" " if self._table or self._heading else "\n")
        elif tag in _HEADINGS or tag in _BLOCKS:
            self._border(tag)
            self._open(node, tag)
        return True

    def _leave(self, node: LexborNode) -> None:
        tag = node.tag
        if tag not in _HEADINGS and tag not in _BLOCKS:
            return
        if self._table and (tag in _CELLS or tag == "tr" or node.mem_id == self._table.id):
            self._leave_table_part(self._table, node)
        else:
            self._border(tag)
            self._close(tag)
            self._apart |= tag in _LISTS and not self._lists

    def _open(self, node: LexborNode, tag: str | None) -> None:
        match tag:
            case "ul" | "ol" | "menu":
                self._lists.append(_List(node))
            case "li":
                self._marker = self._lists[-1].marker(node) if self._lists else "- "
            case "pre":
                self._lines_kept += 1
            case "table" if node.mem_id in self._data_tables:
                self._table = _Table(node)
            case "tr" if self._table:
                self._table.begin_row(node)
            case _ if tag in _HEADINGS and not self._table:
                self._heading = _HEADINGS[tag]

    def _close(self, tag: str | None) -> None:
        match tag:
            case "ul" | "ol" | "menu":
                self._lists.pop()
            case "li":
                self._marker = ""
            case "pre":
                self._lines_kept -= 1
            case _ if tag in _HEADINGS:
                self._heading = 0

    def _leave_table_part(self, table: _Table, node: LexborNode) -> None:
        if node.tag in _CELLS:
            table.end_cell(node, collapse("".join(self._pieces)))
            self._pieces = []
        elif node.tag == "tr":
            self._composer.add(replace(table.end_row(), apart=self._apart))
            self._apart = False
        else:
            self._table = None
            self._apart = True

    def _border(self, tag: str | None) -> None:
        """End a block, or only a word where blocks stand within one line."""
        if self._table and tag != "caption":
            self._pieces.append(" ")
            return
        if self._heading and tag not in _HEADINGS:
            self._pieces.append(" ")
        else:
            self._flush()
        self._apart |= tag in _HEADINGS or (tag in _APART and not (self._lists and tag in _CLOSE_IN_LISTS))

    def _flush(self) -> None:
        text = "".join(self._pieces)
        self._pieces = []
        if not self._lines_kept:
            text = "\n".join(map(collapse, text.split("\n"))).strip("\n")
        if not text.strip():
            return
        kind = MarkKind.HEADING if self._heading else None
        self._composer.add(Passage(self._marker + text, kind, self._heading, apart=self._apart))
        self._marker, self._apart = "", False


def _is_hidden(node: LexborNode) -> bool:
    attributes = node.attributes
    if not attributes:
        return False
    if "hidden" in attributes and attributes["hidden"] != "until-found":
        return True
    return attributes.get("role") == "navigation" or bool(_HIDING_STYLE.search(attributes.get("style") or ""))


def _integer(node: LexborNode, name: str, default: int) -> int:
    value = (node.attributes.get(name) or "").strip()
    return int(value) if value.isdecimal() and len(value) < 8 else default  # noqa: PLR2004 (a number of seven digits)
