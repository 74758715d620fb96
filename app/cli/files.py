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
    ".tsv": "text/csv",
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
        skipped: Files in folders whose names are not those of documents.
        hidden: Hidden files and folders in folders; what is in such a folder was not looked at.
    """

    files: Sequence[LocalFile]
    skipped: Sequence[Path]
    hidden: Sequence[Path] = ()


def collect(typed: Iterable[str], formats: Collection[str]) -> Collected:
    """Find the files that were named, in folders below them too.

    A file that was named or fits a pattern is always taken. From folders, hidden files are left out, and so are those
    whose name does not fit a format.

    One rule names them: by the path below the folder that was named, else below the folder where the command runs. So
    `upload docs` gives the same names as `upload .`, `upload '**/*'` or `upload a/b.pdf` in that folder. A file that
    is named and lies elsewhere has its own name, and what fits a pattern elsewhere the path below the pattern's folder.

    Args:
        typed: Files, folders, and patterns such as `reports/**/*.pdf`.
        formats: Media types that the service takes.

    Raises:
        UsageError: Something does not exist, or two files would get one name.
    """
    files: dict[Path, LocalFile] = {}
    skipped: dict[Path, Path] = {}
    hidden: dict[Path, Path] = {}
    for found in _matches(list(typed)):
        whole = found.file.path.resolve()
        if found.named or (not found.hidden and _MEDIA_TYPES.get(found.file.path.suffix.lower()) in formats):
            files.setdefault(whole, found.file)
        else:
            (hidden if found.hidden else skipped).setdefault(whole, found.file.path)
    _check_names(files.values())
    left_out = (tuple(path for whole, path in each.items() if whole not in files) for each in (skipped, hidden))
    return Collected(tuple(files.values()), *left_out)


@dataclass(frozen=True, slots=True)
class _Found:
    """A file that was come upon.

    Args:
        file: The file, or a hidden folder.
        named: Whether it was named or fits a pattern, so that it is meant whatever its type.
        hidden: Whether it was come upon in a folder and is hidden.
    """

    file: LocalFile
    named: bool
    hidden: bool = False


def _matches(typed: Sequence[str]) -> Iterator[_Found]:
    """Yield what each word means; what means nothing is told together, so that it takes one correction."""
    missing: list[str] = []
    for word in typed:
        path = Path(word).expanduser()
        if path.is_dir():
            yield from _walk(path)
        elif path.exists():
            yield _Found(LocalFile(path, _name(_below(path, Path.cwd()) or Path(path.name))), named=True)
        elif not _GLOB_SIGNS.search(word):
            missing.append(f"There is no file or folder '{word}'.")
        elif not (found := _pattern(str(path))):
            missing.append(f"Nothing fits the pattern '{word}'.")
        else:
            yield from (_Found(file, named=True) for file in found)
    if missing:
        raise UsageError("\n".join(missing))


def _pattern(pattern: str) -> Sequence[LocalFile]:
    found = sorted(Path(match) for match in glob.glob(pattern, recursive=True))  # noqa: PTH207 - takes absolute patterns
    root = Path(_GLOB_SIGNS.split(pattern, maxsplit=1)[0] + "x").parent  # the folder that holds no sign
    files = (path for path in found if path.is_file())
    return [LocalFile(path, _name(_below(path, Path.cwd()) or path.relative_to(root))) for path in files]


def _walk(folder: Path) -> Iterator[_Found]:
    for place, folders, names in os.walk(folder):
        hidden = sorted(name for name in (*folders, *names) if name.startswith("."))
        yield from (_Found(LocalFile(Path(place, name), name), named=False, hidden=True) for name in hidden)
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(place, name)
            if not name.startswith(".") and path.is_file():
                yield _Found(LocalFile(path, _name(path.relative_to(folder))), named=False)


def _below(path: Path, folder: Path) -> Path | None:
    """Return a path as it is from a folder that holds it, links unfollowed; None when it lies elsewhere."""
    whole = Path(os.path.abspath(path))  # noqa: PTH100 - takes `..` out without following links
    return whole.relative_to(folder) if whole.is_relative_to(folder) else None


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
