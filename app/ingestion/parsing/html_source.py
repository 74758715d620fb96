"""From the bytes of a web page to a tree, so that neither its encoding nor its depth harms."""

import re
from collections.abc import Iterator

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from app.documents.encodings import decode, find_encoding
from app.ingestion.parsing.types import ParseFailure, ParseReason

MOST_DEPTH = 250
"""Elements within each other. Beyond it tags are dropped, never text: building the tree takes time with the product
of its depth and its size."""

_PRESCAN = 4 * 1024
_LABEL = re.compile(
    rb"""<(?:meta|\?xml)\b[^>]*?\b(?:charset|encoding)\s*=\s*["']?\s*([A-Za-z0-9_:.-]{2,40})""", re.IGNORECASE
)
# Labels of web pages (WHATWG Encoding) whose names differ from those of Python's codecs, which are often narrower.
_CODECS = {
    "iso-8859-1": "cp1252",
    "latin1": "cp1252",
    "us-ascii": "cp1252",
    "ascii": "cp1252",
    "iso-8859-9": "cp1254",
    "iso-8859-11": "cp874",
    "tis-620": "cp874",
    "windows-874": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "gb_2312-80": "gb18030",
    "gb18030": "gb18030",
    "big5": "big5hkscs",
    "big5-hkscs": "big5hkscs",
    "shift_jis": "cp932",
    "shift-jis": "cp932",
    "sjis": "cp932",
    "x-sjis": "cp932",
    "windows-31j": "cp932",
    "euc-jp": "euc_jp",
    "iso-2022-jp": "iso2022_jp",
    "euc-kr": "cp949",
    "ks_c_5601-1987": "cp949",
    "koi8-r": "koi8_r",
    "koi8-u": "koi8_u",
    "ibm866": "cp866",
    "macintosh": "mac_roman",
}
_SAME_NAME = re.compile(r"(?:windows-125[0-8]|iso-8859-(?:[2-8]|10|1[3-6]))")
_TAG = re.compile(r"""<(/?)([a-zA-Z][^\s/>]{0,40})((?:[^"'<>]|"[^"]*"|'[^']*')*+)>""")
_LONGEST_ATTRIBUTES = 8 * 1024
"""Characters: the parser compares each attribute of a tag with all before it. Embedded pictures are longer too."""
# No end tag is needed, so that many of them are no depth.
_OPEN_ENDED = frozenset(
    [
        "area",
        "base",
        "br",
        "col",
        "embed",
        "hr",
        "img",
        "input",
        "link",
        "meta",
        "source",
        "track",
        "wbr",
        "p",
        "li",
        "dt",
        "dd",
        "tr",
        "td",
        "th",
        "thead",
        "tbody",
        "tfoot",
        "option",
        "optgroup",
        "rt",
        "rp",
        "colgroup",
    ]
)


def read_tree(data: bytes) -> LexborHTMLParser:
    """Return the tree of a page.

    Raises:
        ParseFailure: There is no memory for it.
    """
    try:
        return LexborHTMLParser(_shallow(_text(data)))
    except SelectolaxError as error:
        raise ParseFailure(ParseReason.PARSE_MEMORY) from error


def children(node: LexborNode) -> Iterator[LexborNode]:
    """Yield the nodes directly within a node."""
    child = node.first_child
    while child is not None:
        yield child
        child = child.next


def _text(data: bytes) -> str:
    """Return a page's text: what its bytes prove comes first, then what it says of itself, then how it reads."""
    label = _LABEL.search(data[:_PRESCAN])
    codec = _codec(label[1].decode("ascii").lower()) if label else None
    proven = data.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"))
    if codec is None or proven:
        return decode(data).text
    guessed = find_encoding(data)
    if guessed and guessed.startswith("utf") and codec != "iso2022_jp":
        return decode(data).text
    return data.decode(codec, "replace")


def _codec(label: str) -> str | None:
    return _CODECS.get(label) or (label if _SAME_NAME.fullmatch(label) else None)


def _shallow(text: str) -> str:
    """Return a page whose elements are not nested too deeply and have no endless attributes.

    What is there for readers without scripts becomes a template, which shows nothing either; where it stands in
    the head, its text would else be taken for the body's.
    """
    depth = 0

    def kept(match: re.Match[str]) -> str:
        nonlocal depth
        closing, name, attributes = match.groups()
        within = True
        if name.lower() not in _OPEN_ENDED and not attributes.endswith("/"):
            within = depth <= MOST_DEPTH if closing else depth < MOST_DEPTH
            depth = max(0, depth - 1) if closing else depth + 1
        if not within:
            return ""
        if name.lower() == "noscript":
            return f"<{closing}template>"
        return match[0] if len(attributes) <= _LONGEST_ATTRIBUTES else f"<{closing}{name}>"

    return _TAG.sub(kept, text)
