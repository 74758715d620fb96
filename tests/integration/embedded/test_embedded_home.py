import os
from pathlib import Path

import pytest

from app.embedded.account import Account, check_reachable
from app.embedded.errors import FolderError
from app.embedded.home import prepare_home
from app.embedded.options import EmbeddedOptions
from app.embedded.passwords import load_passwords, write_private


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_the_folder_and_all_in_it_are_closed_to_others(tmp_path: Path) -> None:
    home = prepare_home(tmp_path / "deep" / "home")
    assert mode(home.root) == 0o700
    assert {mode(folder) for folder in home.folders()} == {0o700}


def test_a_folder_that_cannot_be_made_is_named_with_the_setting(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(FolderError, match=r"file/home cannot be used.*GROUNDEDDOCS_HOME"):
        prepare_home(tmp_path / "file" / "home")


def test_the_account_of_postgres_gets_passage_through_the_folder(tmp_path: Path) -> None:
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == os.geteuid() and folder != Path("/"):
            folder.chmod(mode(folder) | 0o001)
    home = prepare_home(tmp_path / "home", Account("self", os.geteuid(), os.getegid()))
    assert mode(home.root) == 0o711


def test_a_closed_folder_on_the_way_is_named(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    (closed / "inner").mkdir(parents=True)
    closed.chmod(0o700)
    stranger = Account("stranger", os.geteuid() + 12345, os.getegid() + 12345)
    with pytest.raises(FolderError, match=r"runs as the account stranger, and .* is closed to it.*SOME_SETTING"):
        check_reachable(closed / "inner" / "file", stranger, "SOME_SETTING")


def test_passwords_are_made_once_and_closed_to_others(tmp_path: Path) -> None:
    home = prepare_home(tmp_path / "home")
    first = load_passwords(home)
    assert load_passwords(home) == first
    assert len({first.superuser, first.owner, first.app, first.auditor, first.redis_cache, first.redis_limits}) == 6
    assert mode(home.secrets / "passwords.json") == 0o600
    assert first.app not in repr(first)


def test_a_damaged_password_file_is_never_replaced(tmp_path: Path) -> None:
    home = prepare_home(tmp_path / "home")
    (home.secrets / "passwords.json").write_text('{"superuser": "x"')
    with pytest.raises(FolderError, match=r"passwords\.json is damaged"):
        load_passwords(home)
    assert (home.secrets / "passwords.json").read_text() == '{"superuser": "x"'


def test_a_private_file_replaces_an_open_one(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.touch(mode=0o644)
    write_private(path, "text")
    assert (mode(path), path.read_text(), list(tmp_path.iterdir())) == (0o600, "text", [path])


def test_data_folder_of_make_up_is_used_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GROUNDEDDOCS_HOME", raising=False)
    monkeypatch.chdir(tmp_path)
    prepare_home(tmp_path / ".groundeddocs")
    assert EmbeddedOptions().groundeddocs_home == tmp_path / ".groundeddocs"
    monkeypatch.setenv("GROUNDEDDOCS_HOME", str(tmp_path / "other"))
    assert EmbeddedOptions().groundeddocs_home == tmp_path / "other"


def test_folder_that_only_has_the_name_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GROUNDEDDOCS_HOME", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".groundeddocs").mkdir()
    assert EmbeddedOptions().groundeddocs_home != tmp_path / ".groundeddocs"
