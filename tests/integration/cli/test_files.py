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


def test_hidden_files_and_folders_are_counted_and_not_looked_into(folder: Path) -> None:
    assert sorted(path.name for path in collect([str(folder)], FORMATS).hidden) == [".git", ".hidden.md"]


def test_file_that_was_named_besides_its_folder_is_not_left_out(folder: Path) -> None:
    found = collect([str(folder), str(folder / "photo.jpg"), str(folder / ".hidden.md")], FORMATS)
    assert found.skipped == ()
    assert [path.name for path in found.hidden] == [".git"]


@pytest.mark.parametrize("typed", [".", "**/*.pdf", "sub/*.pdf", "sub/a.pdf", "./sub/../sub/a.pdf", "{here}/sub/a.pdf"])
def test_file_has_one_name_however_it_is_typed_in_a_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch, typed: str
) -> None:
    monkeypatch.chdir(folder)
    names = {file.name for file in collect([typed.format(here=folder)], FORMATS).files}
    assert "sub - a.pdf" in names
    monkeypatch.chdir(folder.parent)
    assert names <= {file.name for file in collect(["reports"], FORMATS).files}


def test_files_of_one_name_in_two_folders_do_not_replace_each_other(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    assert [file.name for file in collect(["a.pdf", "sub/a.pdf"], FORMATS).files] == ["a.pdf", "sub - a.pdf"]


def test_table_with_tabs_is_taken_from_a_folder(folder: Path) -> None:
    (folder / "t.tsv").write_text("a\tb")
    assert "t.tsv" in {file.name for file in collect([str(folder)], [*FORMATS, "text/csv"]).files}


def test_all_that_is_missing_is_told_together(folder: Path) -> None:
    with pytest.raises(UsageError) as caught:
        collect(["missing.pdf", str(folder), "notthere/", f"{folder}/*.docx"], FORMATS)
    assert [line.split("'")[1] for line in caught.value.detail.splitlines()] == [
        "missing.pdf",
        "notthere/",
        f"{folder}/*.docx",
    ]
