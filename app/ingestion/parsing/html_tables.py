"""Tells the tables of a web page that hold data from those that only place what is on it."""

from selectolax.lexbor import LexborHTMLParser, LexborNode

from app.ingestion.parsing.html_source import children

_LAYOUT_ROLES = frozenset({"presentation", "none"})
_BLOCKS = "table, h1, h2, h3, h4, h5, h6, form, article, section, main"


def data_tables(tree: LexborHTMLParser) -> frozenset[int]:
    """Return the ids of tables with rows of two cells or more, and without blocks that belong on a page."""
    layout: set[int | None] = set()
    for node in tree.css(", ".join(f"table {name}" for name in _BLOCKS.split(", "))):
        layout.add(_table_around(node))
    wide = {_table_around(row) for row in tree.css("tr") if _is_wide(row)}
    roles = {table.mem_id for table in tree.css("table[role]") if table.attributes.get("role") in _LAYOUT_ROLES}
    return frozenset(table for table in wide - layout - roles if table is not None)


def _is_wide(row: LexborNode) -> bool:
    return sum(child.tag in {"td", "th"} for child in children(row)) > 1


def _table_around(node: LexborNode) -> int | None:
    parent = node.parent
    while parent is not None and parent.tag != "table":
        parent = parent.parent
    return parent.mem_id if parent is not None else None
