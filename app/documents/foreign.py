"""The kinds of files that people upload and that cannot be read, with what to do about each."""

from typing import NamedTuple


class Foreign(NamedTuple):
    """What a file is, and what its owner can do, as a sentence."""

    what: str
    advice: str


_TO_TEXT = "Recognise its text (OCR), save it as PDF and upload that."
_IMAGE = Foreign("an image", _TO_TEXT)
_ARCHIVE = Foreign("an archive", "Unpack it and upload the documents in it.")
_PROGRAM = Foreign("a program", "Only documents can be read.")
_MEDIA = Foreign("a recording of sound or pictures", "Write down what is said in it and upload that.")
_WORKBOOK = Foreign("an Excel workbook", "Save its sheets as CSV, or the whole as PDF, and upload that.")
_SLIDES = Foreign("a PowerPoint presentation", "Save it as PDF and upload that.")
_OLD_WORD = Foreign("a Word document of the old kind (.doc)", "Save it as DOCX or PDF and upload that.")
_OPEN_TEXT = Foreign("an OpenDocument text", "Save it as DOCX or PDF and upload that.")
_OPEN_SHEET = Foreign("an OpenDocument spreadsheet", "Save it as CSV or PDF and upload that.")
_OPEN_SLIDES = Foreign("an OpenDocument presentation", "Save it as PDF and upload that.")
_BOOK = Foreign("an electronic book", "Convert it to PDF or HTML and upload that.")
_MAIL = Foreign("an Outlook message", "Save it as text or PDF and upload that.")
_DATABASE = Foreign("a database", "Export its tables as CSV and upload those.")

EMBEDDED = (
    (b"{\\rtf", Foreign("a Rich Text document (RTF)", "Save it as DOCX or PDF and upload that.")),
    (b"%!PS", Foreign("a PostScript file", "Convert it to PDF and upload that.")),
)
"""Formats that are written as text, by their beginning."""

ZIP_MIME_TYPES = (
    (b"application/epub+zip", _BOOK),
    (b"application/vnd.oasis.opendocument.text", _OPEN_TEXT),
    (b"application/vnd.oasis.opendocument.spreadsheet", _OPEN_SHEET),
    (b"application/vnd.oasis.opendocument.presentation", _OPEN_SLIDES),
    (b"application/vnd.oasis.opendocument", Foreign("an OpenDocument file", "Save it as PDF and upload that.")),
)
"""By the entry `mimetype`, which comes first and is not compressed."""

ZIP_MEMBERS = (
    ("xl/", _WORKBOOK),
    ("ppt/", _SLIDES),
    ("visio/", Foreign("a Visio drawing", "Save it as PDF and upload that.")),
    ("FixedDocSeq", Foreign("an XPS document", "Save it as PDF and upload that.")),
    ("Index/", Foreign("an iWork document", "Save it as DOCX or PDF and upload that.")),
    ("AndroidManifest.xml", _PROGRAM),
    ("META-INF/MANIFEST.MF", Foreign("a Java archive", "Only documents can be read.")),
    ("META-INF/container.xml", _BOOK),
    ("content.xml", _OPEN_TEXT),
)
"""By the name of an entry, or its beginning."""

OLE_STREAMS = (
    ("WordDocument", _OLD_WORD),
    ("Workbook", _WORKBOOK),
    ("Book", _WORKBOOK),
    ("PowerPoint Document", _SLIDES),
    ("__nameid_version1.0", _MAIL),
)

ZIP = Foreign("a ZIP archive", _ARCHIVE.advice)
UNKNOWN = Foreign("of a kind that is not known", "Save it as PDF or as text and upload that.")

BINARY = (
    (0, b"\x89PNG", _IMAGE),
    (0, b"\xff\xd8\xff", _IMAGE),
    (0, b"GIF8", _IMAGE),
    (0, b"BM", _IMAGE),
    (0, b"II*\x00", _IMAGE),
    (0, b"MM\x00*", _IMAGE),
    (0, b"8BPS", _IMAGE),
    (8, b"WEBP", _IMAGE),
    (4, b"ftyphei", _IMAGE),
    (4, b"ftypmif1", _IMAGE),
    (4, b"ftypavif", _IMAGE),
    (0, b"\x00\x00\x01\x00", _IMAGE),
    (0, b"AT&TFORM", Foreign("a DjVu document", "Convert it to PDF and upload that.")),
    (0, b"\xc5\xd0\xd3\xc6", Foreign("a PostScript file", "Convert it to PDF and upload that.")),
    (60, b"BOOKMOBI", _BOOK),
    (0, b"\x7fELF", _PROGRAM),
    (0, b"MZ", _PROGRAM),
    (0, b"\xcf\xfa\xed\xfe", _PROGRAM),
    (0, b"\xca\xfe\xba\xbe", _PROGRAM),
    (0, b"\x00asm", _PROGRAM),
    (0, b"\x1f\x8b", _ARCHIVE),
    (0, b"7z\xbc\xaf\x27\x1c", _ARCHIVE),
    (0, b"Rar!", _ARCHIVE),
    (0, b"\xfd7zXZ", _ARCHIVE),
    (0, b"BZh", _ARCHIVE),
    (0, b"\x28\xb5\x2f\xfd", _ARCHIVE),
    (257, b"ustar", _ARCHIVE),
    (0, b"MSCF", _ARCHIVE),
    (0, b"ID3", _MEDIA),
    (0, b"\xff\xfb", _MEDIA),
    (0, b"OggS", _MEDIA),
    (0, b"fLaC", _MEDIA),
    (0, b"RIFF", _MEDIA),
    (4, b"ftyp", _MEDIA),
    (0, b"\x1a\x45\xdf\xa3", _MEDIA),
    (0, b"SQLite format 3", _DATABASE),
    (0, b"PAR1", _DATABASE),
    (0, b"!BDN", Foreign("an Outlook mailbox", "Save its messages as text or PDF and upload those.")),
)
"""By bytes at an offset, asked only of what is no text."""
