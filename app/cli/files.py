"""Which files an upload means, and what each is called in the workspace."""

import glob
import mimetypes
import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.cli.errors import UsageError

OCTETS = "application/octet-stream"
_DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
# The service decides by content; this only keeps pictures and programs of a folder from being sent.
_MEDIA_TYPES = {
    ".pdf": "application/pdf",
    ".txt": "text/plain",
    ".text": "text/plain",
    ".md": "text/markdown",
    ".markdown": "text/markdown",
    ".docx": _DOCX,
    ".html": "text/html",
    ".htm": "text/html",
    ".csv": "text/csv",
}
_GLOB_SIGNS = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True)
class LocalFile:
    """A file to upload.

    Args:
        path: Where it is.
        name: What the document is called.
    """

    path: Path
    name: str

    @property
    def media_type(self) -> str:
        """What its name says that it is."""
        known = _MEDIA_TYPES.get(self.path.suffix.lower())
        return known or mimetypes.guess_type(self.path.name)[0] or OCTETS


@dataclass(frozen=True, slots=True)
class Collected:
    """What was found.

    Args:
        files: What to upload.
        skipped: Files in folders that the service does not take.
    """

    files: Sequence[LocalFile]
    skipped: Sequence[Path]


def collect(typed: Iterable[str], formats: Collection[str]) -> Collected:
    """Find the files that were named, in folders below them too.

    A file that was named or fits a pattern is always taken. From folders, hidden files are left out, and so are those
    whose name does not fit a format.

    Args:
        typed: Files, folders, and patterns such as `reports/**/*.pdf`.
        formats: Media types that the service takes.

    Raises:
        UsageError: Something does not exist, or two files would get one name.
    """
    files: dict[Path, LocalFile] = {}
    skipped: list[Path] = []
    for word in typed:
        for file, named in _matches(word):
            if named or _MEDIA_TYPES.get(file.path.suffix.lower()) in formats:
                files.setdefault(file.path.resolve(), file)
            else:
                skipped.append(file.path)
    _check_names(files.values())
    return Collected(tuple(files.values()), tuple(skipped))


def _matches(word: str) -> Iterator[tuple[LocalFile, bool]]:
    path = Path(word).expanduser()
    if path.is_dir():
        yield from ((file, False) for file in _walk(path))
    elif path.exists():
        yield LocalFile(path, path.name), True
    elif _GLOB_SIGNS.search(word):
        yield from _pattern(str(path))
    else:
        raise UsageError(f"There is no file or folder '{word}'.")


def _pattern(pattern: str) -> Iterator[tuple[LocalFile, bool]]:
    found = sorted(Path(match) for match in glob.glob(pattern, recursive=True))  # noqa: PTH207 - takes absolute patterns
    if not found:
        raise UsageError(f"Nothing fits the pattern '{pattern}'.")
    root = Path(_GLOB_SIGNS.split(pattern, maxsplit=1)[0] + "x").parent  # the folder that holds no sign
    for path in found:
        if path.is_file():
            yield LocalFile(path, _name(path.relative_to(root))), True


def _walk(folder: Path) -> Iterator[LocalFile]:
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(place, name)
            if not name.startswith(".") and path.is_file():
                yield LocalFile(path, _name(path.relative_to(folder)))


def _name(relative: Path) -> str:
    """Return a name that tells files of the same name in different folders apart; names hold no folders."""
    return " - ".join(relative.parts)


def _check_names(files: Iterable[LocalFile]) -> None:
    seen: dict[str, Path] = {}
    for file in files:
        other = seen.setdefault(file.name, file.path)
        if other != file.path:
            raise UsageError(
                f"'{other}' and '{file.path}' would both be called '{file.name}', and one would replace the other. "
                "Upload them one after the other with --name, or name the folder that holds both."
            )
