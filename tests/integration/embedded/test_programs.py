from pathlib import Path

import pytest

from app.embedded.errors import MissingProgramError
from app.embedded.options import EmbeddedOptions
from app.embedded.programs import EXTENSIONS, find_node, find_postgres, find_redis, find_redisearch


def program(path: Path, answer: str) -> Path:
    """Write a program that prints its version and nothing else."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{answer}'\n")
    path.chmod(0o755)
    return path


def postgres_folder(root: Path, version: str, extensions: tuple[str, ...] = EXTENSIONS) -> Path:
    (root / "share" / "extension").mkdir(parents=True)
    for name in extensions:
        (root / "share" / "extension" / f"{name}.control").touch()
    program(root / "bin" / "pg_config", str(root / "share"))
    return program(root / "bin" / "postgres", f"postgres (PostgreSQL) {version}").parent


def test_named_postgres_is_used(tmp_path: Path) -> None:
    folder = postgres_folder(tmp_path, "19.1 (Debian 19.1-1)")
    found = find_postgres(EmbeddedOptions(groundeddocs_pg_bin=folder))
    assert (found.folder, found.major) == (folder, 19)


@pytest.mark.parametrize(
    ("version", "extensions", "cluster", "message"),
    [
        ("17.5", EXTENSIONS, None, "no Postgres 18 or newer"),
        ("18.6", EXTENSIONS[1:], None, "no extension vector"),
        ("19.1", EXTENSIONS, 18, "made by Postgres 18, and GROUNDEDDOCS_PG_BIN names Postgres 19"),
    ],
)
def test_named_postgres_that_does_not_fit_is_refused(
    tmp_path: Path, version: str, extensions: tuple[str, ...], cluster: int | None, message: str
) -> None:
    options = EmbeddedOptions(groundeddocs_pg_bin=postgres_folder(tmp_path, version, extensions))
    with pytest.raises(MissingProgramError, match=message):
        find_postgres(options, cluster)


def test_postgres_on_the_path_is_preferred_to_the_wheel_when_it_fits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = postgres_folder(tmp_path, "18.9")
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    assert find_postgres(EmbeddedOptions()).folder == folder


def test_postgres_on_the_path_that_is_too_old_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = postgres_folder(tmp_path, "15.1")
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    assert find_postgres(EmbeddedOptions()).folder != folder


def test_named_redis_must_be_new_enough(tmp_path: Path) -> None:
    new = program(tmp_path / "new", "Redis server v=8.2.3 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=1")
    old = program(tmp_path / "old", "Redis server v=7.2.4 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=1")
    assert find_redis(EmbeddedOptions(groundeddocs_redis_server=new)) == new
    with pytest.raises(MissingProgramError, match="not a Redis 8 or newer"):
        find_redis(EmbeddedOptions(groundeddocs_redis_server=old))


def test_named_query_engine_must_exist(tmp_path: Path) -> None:
    with pytest.raises(MissingProgramError, match="GROUNDEDDOCS_REDISEARCH"):
        find_redisearch(EmbeddedOptions(groundeddocs_redisearch=tmp_path / "redisearch.so"))


@pytest.mark.parametrize(("version", "fits"), [("v20.20.2", True), ("v24.1.0", True), ("v18.19.0", False)])
def test_node_must_be_new_enough(tmp_path: Path, version: str, *, fits: bool) -> None:
    options = EmbeddedOptions(groundeddocs_node=str(program(tmp_path / "node", version)))
    if fits:
        assert find_node(options) == tmp_path / "node"
        return
    with pytest.raises(MissingProgramError, match="Node 20 or newer"):
        find_node(options)
