"""Tells the encoding of text: by its mark, by its form, and only then by how its letters read."""

import codecs
import re
from dataclasses import dataclass

from app.documents.plausibility import is_plausible, share_of_odd

# UTF-32 first: its little-endian mark begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SAMPLE = 64 * 1024
_DAMAGE_SAMPLE = 1024 * 1024
_LEAD = 1024
_WIDE_SAMPLE = 4 * 1024
_WIDE_CONTROLS = 0.2
"""Share of control bytes that speaks for UTF-16 even where the bytes are valid UTF-8: Latin letters give a half."""
_SHARED = re.compile("[\t\n\r -~\u3000-\u3002\uff01-\uff5e]")
_HIGH = re.compile(rb"[\x80-\xff]")
_ESCAPES = (b"\x1b$", b"\x1b(")
_CONTROLS = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_WIDE_NAMES = ("utf-16", "utf-32")
_MOST_CONTROLS = 0.05
_MOST_DAMAGE = 0.05
_MOST_ODD = 0.15
# Encodings as they are declared, and as programs really write them.
_WIDER = {
    "ascii": "utf-8",
    "iso8859-1": "cp1252",
    "shift_jis": "cp932",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "euc_kr": "cp949",
    "big5": "big5hkscs",
}


@dataclass(frozen=True, slots=True)
class Decoded:
    """The text of bytes.

    Attributes:
        text: What they give; what cannot be read is U+FFFD.
        encoding: The encoding that it was read by.
    """

    text: str
    encoding: str

    @property
    def readable(self) -> bool:
        """Whether it is text for the most part: UTF-8 proves itself by its form, what is guessed must look so."""
        return share_of_odd(self.text) <= _MOST_ODD if self.encoding == "utf-8" else is_plausible(self.text)


def decode(data: bytes) -> Decoded:
    """Return the text of bytes, in UTF-8 when they read as nothing."""
    return _by_mark(data) or _by(find_encoding(data) or "utf-8", data)


def _by_mark(data: bytes) -> Decoded | None:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _by(encoding, data[len(mark) :])
    return None


def _by(encoding: str, data: bytes) -> Decoded:
    return Decoded(data.decode(encoding, "replace"), encoding)


def find_encoding(data: bytes) -> str | None:
    """Return the name of the encoding that text without a mark is read by; None when it reads as none.

    Args:
        data: The whole text, or its beginning, which may end within a character.
    """
    if wide := _wide(data):
        return wide
    if _is_utf8(data):
        return "utf-8" if not any(escape in data for escape in _ESCAPES) else _guess(data) or "utf-8"
    return "utf-8" if _is_damaged_utf8(data) else _guess(data)


def read_head(head: bytes) -> str | None:
    """Return the text of a file's beginning, which may end within a character; None when it is binary."""
    decoded = _by_mark(head)
    if decoded is None:
        found = find_encoding(head)
        if found is None or not (found.startswith(_WIDE_NAMES) or _few_controls(head, found)):
            return None
        decoded = Decoded(codecs.getincrementaldecoder(found)("replace").decode(head), found)
    return decoded.text if decoded.readable else None


def _few_controls(head: bytes, encoding: str) -> bool:
    """Stray controls in UTF-8 are removed later; a file full of them, or with any in old encodings, is no text."""
    most = len(head) * _MOST_CONTROLS if encoding == "utf-8" else 0
    return len(_CONTROLS.findall(head.rstrip(b"\x1a"))) <= most


def _is_utf8(data: bytes) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data)
    except UnicodeDecodeError:
        return False
    return True


def _is_damaged_utf8(data: bytes) -> bool:
    """Whether many characters are good UTF-8 and only a few are not."""
    text = data[:_DAMAGE_SAMPLE].decode("utf-8", "replace")
    bad = text.count("\ufffd")
    good = len(text.encode("utf-8")) - len(text) - 2 * bad  # bytes beyond the first of each character
    return bad <= good * _MOST_DAMAGE


def _wide(data: bytes) -> str | None:
    """Return UTF-16 or UTF-32 where NUL bytes speak for it, and the text that they give."""
    sample = data[:_WIDE_SAMPLE]
    if 0 not in sample or (len(sample) % 2 and len(sample) < _WIDE_SAMPLE):
        return None
    if _is_utf8(sample) and len(_CONTROLS.findall(sample)) < len(sample) * _WIDE_CONTROLS:
        return None
    for encodings in (("utf-32-le", "utf-32-be"), ("utf-16-le", "utf-16-be")):
        familiar, encoding = max((_familiar(sample, encoding), encoding) for encoding in encodings)
        if familiar:
            return encoding
    return None


def _familiar(sample: bytes, encoding: str) -> int:
    """Return how many signs stand in the text that all scripts share; 0 when it is no text.

    Read in the wrong order of bytes a space becomes another kind of space, and a line end no character at all.
    """
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(sample)
    except UnicodeDecodeError:
        return 0
    return len(_SHARED.findall(text)) if is_plausible(text) else 0


def _guess(data: bytes) -> str | None:
    """Return the encoding that the first text beyond ASCII reads best in."""
    found = _HIGH.search(data)
    start = max(0, found.start() - _LEAD) if found else 0
    sample = data[start : start + _SAMPLE]
    if len(sample) == _SAMPLE:
        sample = sample[: sample.rfind(b"\n") + 1] or sample
    import chardet  # noqa: PLC0415 (takes as long to load as reading ten pages; only odd bytes need it)

    eras = chardet.EncodingEra.ALL & ~chardet.EncodingEra.MAINFRAME
    encoding = chardet.detect(sample, encoding_era=eras)["encoding"]
    try:
        name = codecs.lookup(encoding).name if encoding else None
    except LookupError:
        return None
    return None if name is None or name.startswith(_WIDE_NAMES) else _WIDER.get(name, name)
