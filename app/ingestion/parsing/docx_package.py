"""Opens the ZIP file that a DOCX is, and reads its parts within what it may unpack to."""

import io
import posixpath
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol
from xml.etree import ElementTree as ET

from app.documents.containers import OLE_SIGNATURE
from app.ingestion.parsing.types import ParseFailure, ParseReason

_PART_BYTES = 1024 * 1024
"""At once: older releases of expat read a token that is not whole yet from its beginning for each piece."""
_ENCRYPTED_FLAG = 1
_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
# What the standard library raises on damaged files.
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    OSError,
    ValueError,
    LookupError,
    NotImplementedError,
)
_MAIN = "/officeDocument"


class XmlTarget(Protocol):
    """Takes the parts of an XML document as they are read."""

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Take an element's beginning."""

    def end(self, tag: str) -> None:
        """Take its end."""

    def data(self, text: str) -> None:
        """Take text within it."""

    def doctype(self, name: str, public: str | None, system: str | None) -> None:
        """Take a document type declaration."""


class NoDoctype:
    """A target that refuses document types, which no DOCX has: they declare entities that grow or reach out."""

    def doctype(self, name: str, public: str | None, system: str | None) -> None:  # noqa: ARG002 (the parser calls it)
        """Refuse the file, before any entity of it is declared."""
        raise ParseFailure(ParseReason.CORRUPT)


class _Tree(NoDoctype, ET.TreeBuilder):
    """Builds a tree of a small part."""


@dataclass(frozen=True, slots=True)
class Relationship:
    """What a part refers to."""

    kind: str
    target: str


class Package:
    """An open file. What all its parts unpack to is counted as they are read: a ZIP file's own figures may lie."""

    def __init__(self, data: bytes, max_unpacked_bytes: int) -> None:
        """Open a file.

        Raises:
            ParseFailure: It is encrypted or damaged.
        """
        if data.startswith(OLE_SIGNATURE):
            raise ParseFailure(ParseReason.ENCRYPTED)
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
        except _DAMAGE as error:
            raise ParseFailure(ParseReason.CORRUPT) from error
        self._entries = {_plain(entry.filename): entry for entry in self._zip.infolist()}
        self._left = max_unpacked_bytes

    def main_part(self) -> str:
        """Return the name of the document's main part.

        Raises:
            ParseFailure: It has none.
        """
        for relationship in self.relationships("").values():
            if relationship.kind.endswith(_MAIN) and _plain(relationship.target) in self._entries:
                return relationship.target
        if "word/document.xml" in self._entries:
            return "word/document.xml"
        raise ParseFailure(ParseReason.CORRUPT)

    def relationships(self, part: str) -> dict[str, Relationship]:
        """Return what a part refers to inside the file, by id."""
        folder, name = posixpath.split(part)
        root = self.tree(posixpath.join(folder, "_rels", f"{name}.rels"))
        found = {}
        for element in root if root is not None else ():
            target, kind = element.get("Target", ""), element.get("Type", "")
            if element.get("TargetMode") != "External":
                path = posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")
                found[element.get("Id", "")] = Relationship(kind, path)
        return found

    def tree(self, part: str) -> ET.Element | None:
        """Return a small part as a tree; None when the file does not have it."""
        if _plain(part) not in self._entries:
            return None
        root = self._feed(part, _Tree())
        return root if isinstance(root, ET.Element) else None

    def read(self, part: str, target: XmlTarget) -> None:
        """Give a part to a target, piece by piece; a part that the file does not have is empty."""
        if _plain(part) in self._entries:
            self._feed(part, target)

    def _feed(self, part: str, target: XmlTarget | ET.TreeBuilder) -> object:
        parser = ET.XMLParser(target=target)  # noqa: S314 (the targets refuse document types)
        try:
            for piece in self._pieces(part):
                parser.feed(piece)
            return parser.close()
        except (ET.ParseError, *_DAMAGE) as error:
            raise ParseFailure(ParseReason.CORRUPT) from error

    def _pieces(self, part: str) -> Iterator[bytes]:
        entry = self._entries[_plain(part)]
        if entry.flag_bits & _ENCRYPTED_FLAG:
            raise ParseFailure(ParseReason.ENCRYPTED)
        if entry.compress_type not in _METHODS:
            raise ParseFailure(ParseReason.CORRUPT)
        with self._zip.open(entry) as stream:
            while piece := stream.read(_PART_BYTES):
                self._left -= len(piece)
                if self._left < 0:
                    raise ParseFailure(ParseReason.UNPACKED_TOO_LARGE)
                yield piece


def _plain(name: str) -> str:
    """Return a part's name as it is compared: some programs write backslashes or other letters' cases."""
    return name.replace("\\", "/").lstrip("/").lower()
