"""Which files of a folder are meant."""

from pathlib import Path

import pytest

from app.cli.errors import UsageError
from app.cli.files import collect

FORMATS = ("application/pdf", "text/plain", "text/markdown")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a.pdf", "B.TXT", "photo.jpg", ".hidden.md", "sub/a.pdf", "sub/deep/notes.md", ".git/config.txt"):
        path = tmp_path / "reports" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return tmp_path / "reports"


def test_folder_is_walked_and_names_tell_equal_file_names_apart(folder: Path) -> None:
    found = collect([str(folder)], FORMATS)
    assert sorted(file.name for file in found.files) == ["B.TXT", "a.pdf", "sub - a.pdf", "sub - deep - notes.md"]
    assert [path.name for path in found.skipped] == ["photo.jpg"]


def test_named_file_is_taken_whatever_its_type(folder: Path) -> None:
    assert [file.name for file in collect([str(folder / "photo.jpg")], FORMATS).files] == ["photo.jpg"]


def test_pattern_in_quotes_is_expanded(folder: Path) -> None:
    found = collect([f"{folder}/**/*.pdf"], FORMATS)
    assert sorted(file.name for file in found.files) == ["a.pdf", "sub - a.pdf"]


def test_name_with_pattern_signs_is_a_file_when_it_exists(folder: Path) -> None:
    odd = folder / "report [final].pdf"
    odd.write_text("x")
    assert [file.name for file in collect([str(odd)], FORMATS).files] == ["report [final].pdf"]


def test_file_that_is_named_twice_is_taken_once(folder: Path) -> None:
    assert len(collect([str(folder / "a.pdf"), str(folder / "sub" / ".." / "a.pdf")], FORMATS).files) == 1


def test_two_files_that_would_replace_each_other_are_refused(folder: Path) -> None:
    with pytest.raises(UsageError, match=r"would both be called 'a\.pdf'"):
        collect([str(folder / "a.pdf"), str(folder / "sub" / "a.pdf")], FORMATS)


def test_pattern_that_fits_nothing_is_refused(folder: Path) -> None:
    with pytest.raises(UsageError, match="Nothing fits"):
        collect([f"{folder}/*.docx"], FORMATS)


def test_loop_of_links_ends(folder: Path) -> None:
    (folder / "loop").symlink_to(folder, target_is_directory=True)
    assert len(collect([str(folder)], FORMATS).files) == 4
