"""Word documents made of raw XML, so that a test says exactly what is in the file."""

import io
import zipfile
from xml.sax.saxutils import escape

_W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_NAMESPACES = (
    f'xmlns:w="{_W}" xmlns:r="{_R}" '
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" xmlns:v="urn:schemas-microsoft-com:vml" '
    'xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape" '
    'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
)
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_PARTS = ("styles", "numbering", "footnotes", "endnotes", "header", "footer")
_RELATIONSHIPS = f'<Relationships xmlns="{_PACKAGE}/relationships">{{}}</Relationships>'
CONTENT_TYPES = (
    f'<Types xmlns="{_PACKAGE}/content-types"><Default Extension="xml" ContentType="application/xml"/></Types>'
)
ROOT_RELATIONSHIPS = (
    f'<Relationships xmlns="{_PACKAGE}/relationships">'
    f'<Relationship Id="rId1" Type="{_R}/officeDocument" Target="word/document.xml"/></Relationships>'
)


def part(name: str, content: str) -> str:
    """Return the XML of a part whose root element has this name."""
    return f'<?xml version="1.0" encoding="UTF-8"?><w:{name} {_NAMESPACES}>{content}</w:{name}>'


def paragraph(text: str, properties: str = "") -> str:
    """Return a paragraph with one run."""
    return f'<w:p><w:pPr>{properties}</w:pPr><w:r><w:t xml:space="preserve">{escape(text)}</w:t></w:r></w:p>'


def styled(style: str, text: str) -> str:
    """Return a paragraph of a style."""
    return paragraph(text, f'<w:pStyle w:val="{style}"/>')


def listed(text: str, num_id: int, level: int = 0) -> str:
    """Return a paragraph of a numbering."""
    return paragraph(text, f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{num_id}"/></w:numPr>')


def table(*rows: tuple[str, ...], properties: str = "") -> str:
    """Return a table of plain cells."""
    cells = ["".join(f"<w:tc>{paragraph(cell)}</w:tc>" for cell in row) for row in rows]
    return f"<w:tbl><w:tblPr>{properties}</w:tblPr>{''.join(f'<w:tr>{row}</w:tr>' for row in cells)}</w:tbl>"


def docx(body: str, **parts: str) -> bytes:
    """Return a file with this body.

    Args:
        body: The content of `w:body`.
        parts: The whole XML of `styles`, `numbering`, `footnotes`, `endnotes`, `header` and `footer`.
    """
    return packed({"word/document.xml": part("document", f"<w:body>{body}</w:body>")}, parts)


def packed(documents: dict[str, str], parts: dict[str, str]) -> bytes:
    """Return a file with these parts, the main one first."""
    relationships = "".join(
        f'<Relationship Id="{name}" Type="{_R}/{name}" Target="{name}.xml"/>' for name in _PARTS if name in parts
    )
    entries = {
        "[Content_Types].xml": CONTENT_TYPES,
        "_rels/.rels": ROOT_RELATIONSHIPS,
        **documents,
        "word/_rels/document.xml.rels": _RELATIONSHIPS.format(relationships),
        **{f"word/{name}.xml": content for name, content in parts.items()},
    }
    return zipped(entries)


def zipped(entries: dict[str, str] | dict[str, bytes]) -> bytes:
    """Return a ZIP file with these entries."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in entries.items():
            file.writestr(name, content)
    return target.getvalue()
