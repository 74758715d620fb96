"""PDF files for tests: written with fpdf2, or object by object where a file must be odd."""

import io
import zlib
from collections.abc import Sequence

from fpdf import FPDF


def drawn(size: float = 10) -> FPDF:
    """Return a document with one empty page, without breaks of its own."""
    document = FPDF()
    document.set_auto_page_break(auto=False)
    document.set_font("Helvetica", size=size)
    document.add_page()
    return document


def saved(document: FPDF) -> bytes:
    """Return the file."""
    return bytes(document.output())


def put(document: FPDF, x: float, y: float, text: str, *, size: float = 10, style: str = "") -> None:
    """Write a line with its left end at a place, in millimetres from the top left corner."""
    document.set_font(style=style, size=size)
    document.set_xy(x, y)
    document.cell(0, 5, text)


def raw_pdf(contents: Sequence[bytes], *, page: bytes = b"", catalog: bytes = b"", more: Sequence[bytes] = ()) -> bytes:
    """Return a file of pages of 600 by 800 points, with Helvetica as /F1.

    Args:
        contents: The content stream of each page. The first page is object 4, the next 6, and so on.
        page: More entries of each page, which win over a /MediaBox given before them.
        catalog: More entries of the catalogue.
        more: More objects, numbered after the pages.
    """
    kids = b" ".join(b"%d 0 R" % (4 + 2 * index) for index in range(len(contents)))
    objects = [
        b"<</Type/Catalog/Pages 2 0 R" + catalog + b">>",
        b"<</Type/Pages/Count %d/Kids[%s]>>" % (len(contents), kids),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    for index, content in enumerate(contents):
        objects.append(
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Resources<</Font<</F1 3 0 R>>>>/Contents %d 0 R"
            % (5 + 2 * index)
            + page
            + b">>"
        )
        packed = zlib.compress(content)
        objects.append(b"<</Length %d/Filter/FlateDecode>>\nstream\n%s\nendstream" % (len(packed), packed))
    return _file([*objects, *more])


def _file(objects: Sequence[bytes]) -> bytes:
    target = io.BytesIO()
    target.write(b"%PDF-1.7\n")
    offsets = []
    for number, content in enumerate(objects, start=1):
        offsets.append(target.tell())
        target.write(b"%d 0 obj\n%s\nendobj\n" % (number, content))
    table = target.tell()
    target.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
    target.writelines(b"%010d 00000 n \n" % offset for offset in offsets)
    target.write(b"trailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, table))
    return target.getvalue()


def shown(text: str, x: float, y: float, size: float = 10) -> bytes:
    """Return the operators that show a text at a place, in points from the bottom left corner."""
    return f"BT /F1 {size} Tf 1 0 0 1 {x} {y} Tm ({text}) Tj ET\n".encode()
