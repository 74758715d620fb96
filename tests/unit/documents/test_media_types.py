import codecs

import pytest

from app.documents.media_types import MediaType, UnsupportedMediaTypeError, sniff


@pytest.mark.parametrize(
    ("head", "name", "expected"),
    [
        (b"%PDF-1.7\n", "a.txt", MediaType.PDF),
        (b"junk before\n%PDF-1.4", "a", MediaType.PDF),
        (b"# Title\n", "a.md", MediaType.MARKDOWN),
        (b"# Title\n", "A.MARKDOWN", MediaType.MARKDOWN),
        (b"<html> in a readme", "a.md", MediaType.MARKDOWN),
        (b"plain", "a.exe", MediaType.TEXT),
        ("na\u00efve".encode("latin-1"), "a.txt", MediaType.TEXT),
        ("na\u00efve \u4f60".encode()[:-1], "cut.txt", MediaType.TEXT),
        (codecs.BOM_UTF16_LE + "text".encode("utf-16-le"), "a.txt", MediaType.TEXT),
        (b"one stray \x00 among much ordinary text", "a.txt", MediaType.TEXT),
    ],
)
def test_content_tells_the_type(head: bytes, name: str, expected: MediaType) -> None:
    assert sniff(head, name) is expected


@pytest.mark.parametrize(
    "head",
    [
        b"PK\x03\x04\x14\x00\x00\x00\x08\x00" * 5,
        b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR",
        b"\xff\xd8\xff\xe0\x00\x10JFIF\x00",
        b"<!DOCTYPE html><p>x",
        b"  <HTML>",
        b"{\\rtf1\\ansi",
        b"\x7fELF\x02\x01\x01\x00\x00\x00",
        bytes(range(256)),
        b"\x00\x01\x02\x03",
    ],
)
def test_other_types_are_refused_with_what_is_supported(head: bytes) -> None:
    with pytest.raises(UnsupportedMediaTypeError, match="Supported are PDF") as caught:
        sniff(head, "claimed.pdf")
    assert caught.value.status == 415
