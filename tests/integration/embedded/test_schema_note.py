from collections.abc import Callable
from pathlib import Path

import pytest

from app.embedded.postgres import PostgresAddress
from app.embedded.schema import fingerprint, is_current, note_current


def test_a_noted_fingerprint_is_current_and_no_other(postgres_server: PostgresAddress) -> None:
    assert not is_current(postgres_server, "one")
    note_current(postgres_server, "one")
    assert is_current(postgres_server, "one")
    assert not is_current(postgres_server, "two")


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "versions" / "0001_first.py").write_text("changed"),
        lambda folder: (folder / "versions" / "0001_first.py").rename(folder / "versions" / "0002_first.py"),
        lambda folder: (folder / "versions" / "0002_second.sql").touch(),
    ],
)
def test_any_change_of_the_migrations_changes_the_fingerprint(tmp_path: Path, change: Callable[[Path], object]) -> None:
    (tmp_path / "versions").mkdir()
    (tmp_path / "versions" / "0001_first.py").write_text("first")
    before = fingerprint(tmp_path)
    assert fingerprint(tmp_path) == before
    change(tmp_path)
    assert fingerprint(tmp_path) != before
