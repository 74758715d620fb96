import codecs
import io

import pytest
from hypothesis import given, strategies as st

from app.documents.media_types import MediaType, UnsupportedMediaTypeError, kind_of_text, sniff
from tests.support.office import docx, paragraph, zipped

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def _sniff(data: bytes, name: str) -> MediaType:
    return sniff(io.BytesIO(data), name)


def _ole(stream: str) -> bytes:
    return (
        OLE
        + bytes(504)
        + "Root Entry".encode("utf-16-le").ljust(128, b"\0")
        + stream.encode("utf-16-le").ljust(128, b"\0")
    )


@pytest.mark.parametrize(
    ("data", "name", "expected"),
    [
        (b"%PDF-1.7\n", "a.txt", MediaType.PDF),
        (b"%PDF-1.7\n", "a.docx", MediaType.PDF),
        (b"junk before\n%PDF-1.4\n1 0 obj", "a", MediaType.PDF),
        (b"Content-Type: x\n\n%PDF-1.4\n" + b" " * 99_000 + b"startxref\n0\n%%EOF", "a", MediaType.PDF),
        (b"A PDF file begins with %PDF-1.7 and a line end.", "a.txt", MediaType.TEXT),
        (docx(paragraph("x")), "a.pdf", MediaType.DOCX),
        (b"PK\x03\x04 cut off", "a.docx", MediaType.DOCX),
        (_ole("EncryptedPackage"), "a.docx", MediaType.DOCX),
        (b"# Title\n", "a.md", MediaType.MARKDOWN),
        (b"# Title\n", "A.MARKDOWN", MediaType.MARKDOWN),
        (b"<html> in a readme", "a.md", MediaType.MARKDOWN),
        (b"<!-- note -->\n<h1 align=center>Tool</h1>\n\nText.", "README.md", MediaType.MARKDOWN),
        (b"<!DOCTYPE html><p>x", "a.md", MediaType.HTML),
        (b"<!DOCTYPE html><p>x", "a.txt", MediaType.HTML),
        (b"  <HTML lang=en>", "a", MediaType.HTML),
        (b"<!-- made by x -->\n<!-- - -->\n<html>", "a", MediaType.HTML),
        (b'<?xml version="1.0"?>\n<html xmlns="http://www.w3.org/1999/xhtml">', "a", MediaType.HTML),
        (codecs.BOM_UTF8 + b"<!doctype html>", "a", MediaType.HTML),
        (codecs.BOM_UTF16_LE + "<!doctype html>".encode("utf-16-le"), "a", MediaType.HTML),
        ("<!doctype html><p>text".encode("utf-16-be"), "a", MediaType.HTML),
        (b"<p>a part of a page", "a.html", MediaType.HTML),
        (b"plain text", "a.html", MediaType.TEXT),
        (b"<p>tags</p> in a text", "a.txt", MediaType.TEXT),
        (b"Use <html> and <body> at the top.", "a.txt", MediaType.TEXT),
        (b"<heading>xml</heading>", "a.xml", MediaType.TEXT),
        (b'<?xml version="1.0"?><note><to>x</to></note>', "a.xml", MediaType.TEXT),
        (b"a,b\n1,2\n", "a.csv", MediaType.CSV),
        (b"a,b\n1,2\n", "A.CSV", MediaType.CSV),
        (b"name\nAda\nGrace\n", "a.csv", MediaType.CSV),
        (b"a;b\n1,5;2\n", "a.csv", MediaType.CSV),
        (b"id\tname\n1\tAda\n2\tGrace\n", "export", MediaType.CSV),
        (b"id,name,age\n1,Ada,36\n2,Grace,85\n", "export.txt", MediaType.CSV),
        (b"id|name\n1|Ada\n2|Grace\n", "export.dat", MediaType.CSV),
        (b"id,name,age\n1,Ada,36\n2,Grace,85\n", "a.log", MediaType.TEXT),
        (
            b"First, some prose, as it is.\nThen more, of it, here.\nAnd, at last, the end. And so on.\n",
            "a.txt",
            MediaType.TEXT,
        ),
        (b"Dear all, this is prose. It is no table, whatever its name.", "a.csv", MediaType.TEXT),
        (b'{"a": 1, "b": 2}\n{"a": 3, "b": 4}\n{"a": 5, "b": 6}\n', "a", MediaType.TEXT),
        (b"| a | b |\n|---|---|\n| 1 | 2 |\n", "a.md", MediaType.MARKDOWN),
        (b"plain", "a.exe", MediaType.TEXT),
        (b"MZ is how a text may begin", "a.txt", MediaType.TEXT),
        ("na\u00efve".encode("latin-1"), "a.txt", MediaType.TEXT),
        ("na\u00efve \u4f60".encode()[:-1], "cut.txt", MediaType.TEXT),
        (codecs.BOM_UTF16_LE + "text".encode("utf-16-le"), "a.txt", MediaType.TEXT),
        ("some text".encode("utf-16-le"), "a.txt", MediaType.TEXT),
        ("some text".encode("utf-32-be"), "a.txt", MediaType.TEXT),
        (b"one stray \x00 among much ordinary text", "a.txt", MediaType.TEXT),
    ],
)
def test_content_tells_the_type(data: bytes, name: str, expected: MediaType) -> None:
    assert _sniff(data, name) is expected


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (zipped({"[Content_Types].xml": "x", "xl/workbook.xml": "x"}), "an Excel workbook"),
        (zipped({"[Content_Types].xml": "x", "ppt/presentation.xml": "x"}), "a PowerPoint presentation"),
        (zipped({"META-INF/MANIFEST.MF": "x"}), "a Java archive"),
        (zipped({"a.txt": "x"}), "a ZIP archive"),
        (b"PK\x03\x04\x14\x00\x00\x00\x08\x00" * 5, "a ZIP archive"),
        (b"PK\x05\x06" + bytes(18), "a ZIP archive"),
        (b"PK\x03\x04" + bytes(26) + b"mimetypeapplication/vnd.oasis.opendocument.text", "an OpenDocument text"),
        (b"PK\x03\x04" + bytes(26) + b"mimetypeapplication/epub+zip", "an electronic book"),
        (_ole("WordDocument"), "a Word document of the old kind"),
        (_ole("Workbook"), "an Excel workbook"),
        (_ole("Something"), "an old Office file"),
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "an image"),
        (b"\xff\xd8\xff\xe0\x00\x10JFIF\x00", "an image"),
        (b"GIF89a\x01\x00\x01\x00\x80\x00\x00", "an image"),
        (b"{\\rtf1\\ansi", "a Rich Text document"),
        (b"%!PS-Adobe-3.0", "a PostScript file"),
        (b"\x7fELF\x02\x01\x01\x00\x00\x00", "a program"),
        (b"MZ\x90\x00\x03\x00\x00\x00\x04\x00\x00\x00\xff\xff", "a program"),
        (b"\x1f\x8b\x08\x00\x00\x00\x00\x00", "an archive"),
        (b"SQLite format 3\x00" + bytes(90), "a database"),
        (bytes(range(256)), "of a kind that is not known"),
        (b"\x00\x01\x02\x03", "of a kind that is not known"),
    ],
)
def test_other_types_are_refused_with_what_they_are_and_what_to_do(data: bytes, what: str) -> None:
    with pytest.raises(
        UnsupportedMediaTypeError, match=rf"The file is {what}[^.]*(\.doc\))?\. [A-Z][^.]+\. Supported are PDF"
    ) as caught:
        _sniff(data, "claimed.pdf")
    assert caught.value.status == 415


def test_an_encrypted_workbook_is_refused() -> None:
    with pytest.raises(UnsupportedMediaTypeError, match="an encrypted workbook"):
        _sniff(_ole("EncryptedPackage"), "a.xlsx")


def test_a_directory_of_a_hundred_thousand_entries_costs_little() -> None:
    entry = b"PK\x01\x02" + bytes(24) + b"\x01\x00" + bytes(16) + b"x"
    directory = entry * 100_000
    end = b"PK\x05\x06" + bytes(8) + len(directory).to_bytes(4, "little") + bytes(6)
    with pytest.raises(UnsupportedMediaTypeError, match="a ZIP archive"):
        _sniff(b"PK\x03\x04" + directory + end, "a.zip")


@given(st.binary(max_size=500), st.sampled_from(["a", "a.csv", "a.html", "a.docx", "a.md"]))
def test_any_bytes_are_told_or_refused(data: bytes, name: str) -> None:
    for start in (b"", b"PK\x03\x04", OLE):
        try:
            assert _sniff(start + data, name)
        except UnsupportedMediaTypeError as error:
            assert "Supported are" in str(error)  # noqa: PT017 (both ends are right)


@pytest.mark.parametrize(
    ("media_type", "name", "expected"),
    [
        (MediaType.TEXT, "a.md", MediaType.MARKDOWN),
        (MediaType.MARKDOWN, "a.txt", MediaType.TEXT),
        (MediaType.HTML, "a.md", MediaType.HTML),
        (MediaType.CSV, "a.txt", MediaType.CSV),
        (MediaType.DOCX, "a.md", MediaType.DOCX),
    ],
)
def test_a_text_is_called_by_its_name_and_the_rest_by_its_content(
    media_type: MediaType, name: str, expected: MediaType
) -> None:
    assert kind_of_text(media_type, name) is expected
