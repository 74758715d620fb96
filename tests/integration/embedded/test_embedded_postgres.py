import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from app.embedded.account import postgres_account
from app.embedded.errors import FolderError, MissingProgramError, PartFailedError
from app.embedded.home import Home
from app.embedded.options import EmbeddedOptions
from app.embedded.passwords import load_passwords
from app.embedded.postgres import APP, AUDITOR, OWNER, EmbeddedPostgres, cluster_major, provision
from app.embedded.programs import find_postgres

ROLES = """
DO $$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'groundeddocs_app') THEN
    CREATE ROLE groundeddocs_owner; CREATE ROLE groundeddocs_app; CREATE ROLE groundeddocs_auditor;
  END IF;
END $$;
CREATE EXTENSION IF NOT EXISTS vector;
"""


def make_server(home: Home, *, durable: bool = False) -> EmbeddedPostgres:
    log, passwords = home.logs / "postgres.log", load_passwords(home)
    programs = find_postgres(EmbeddedOptions())
    return EmbeddedPostgres(programs, home.postgres, passwords, log, postgres_account(), durable=durable)


@pytest.fixture
def server(fresh_home: Home) -> Iterator[EmbeddedPostgres]:
    server = make_server(fresh_home)
    yield server
    server.stop()


def write_one_row(url: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 42 AS value")


def read_rows(url: str) -> list[tuple[int]]:
    with psycopg.connect(url) as connection:
        return connection.execute("SELECT value FROM kept").fetchall()


def test_second_start_finds_the_data_of_the_first(server: EmbeddedPostgres, fresh_home: Home) -> None:
    write_one_row(server.start().url())
    server.stop()
    again = make_server(fresh_home)
    try:
        assert read_rows(again.start().url()) == [(42,)]
    finally:
        again.stop()


def test_start_recovers_after_the_server_was_killed(fresh_home: Home) -> None:
    server = make_server(fresh_home, durable=True)
    write_one_row(server.start().url())
    assert server.process is not None
    server.process.send_signal(signal.SIGKILL)
    server.process.wait()
    assert (server.data / "postmaster.pid").exists()
    try:
        assert read_rows(server.start().url()) == [(42,)]
    finally:
        server.stop()


def test_start_ignores_a_pid_file_that_names_another_program(server: EmbeddedPostgres) -> None:
    server.start()
    server.stop()
    stale = server.data / "postmaster.pid"
    stale.write_text(f"{os.getppid()}\n{server.data}\n")
    assert read_rows_after_start(server) == 1


def read_rows_after_start(server: EmbeddedPostgres) -> int:
    with psycopg.connect(server.start().url()) as connection:
        row = connection.execute("SELECT 1").fetchone()
    assert row is not None
    return int(row[0])


def test_start_takes_over_from_a_server_of_an_earlier_run(server: EmbeddedPostgres, fresh_home: Home) -> None:
    write_one_row(server.start().url())
    left_behind = server.process
    assert left_behind is not None
    again = make_server(fresh_home)
    try:
        assert read_rows(again.start().url()) == [(42,)]
        assert left_behind.wait(5) == 0
    finally:
        again.stop()


def test_lost_passwords_are_named_at_once(server: EmbeddedPostgres, fresh_home: Home) -> None:
    server.start()
    server.stop()
    (fresh_home.secrets / "passwords.json").unlink()
    begun = time.monotonic()
    with pytest.raises(FolderError, match=r"passwords\.json"):
        make_server(fresh_home).start()
    assert time.monotonic() - begun < 20


def test_start_fails_with_the_end_of_the_log_when_the_cluster_is_damaged(server: EmbeddedPostgres) -> None:
    server.start()
    server.stop()
    (server.data / "PG_VERSION").write_text("9\n")
    with pytest.raises(PartFailedError, match="incompatible"):
        server.start()


def test_each_role_signs_in_with_its_own_password_only(server: EmbeddedPostgres, tmp_path: Path) -> None:
    address = server.start()
    roles = tmp_path / "roles.sql"
    roles.write_text(ROLES)
    provision(address, roles)
    provision(address, roles)
    for role in (OWNER, APP, AUDITOR):
        with psycopg.connect(address.url(role)) as connection:
            assert connection.execute("SELECT current_user").fetchone() == (role,)
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(address.url(APP).replace(address.passwords.app, address.passwords.owner))


def test_passwords_stay_out_of_the_log_and_the_command_line(server: EmbeddedPostgres, fresh_home: Home) -> None:
    address = server.start()
    assert server.process is not None
    command = Path(f"/proc/{server.process.pid}/cmdline")
    text = command.read_text() if command.exists() else ""
    assert address.passwords.superuser not in text + (fresh_home.logs / "postgres.log").read_text()
    assert address.passwords.superuser not in repr(address)


def test_a_cluster_is_opened_by_programs_of_its_own_version_only(server: EmbeddedPostgres) -> None:
    server.start()
    assert cluster_major(server.data.parent) == 18
    with pytest.raises(MissingProgramError, match="no Postgres 17"):
        find_postgres(EmbeddedOptions(), cluster_major=17)
