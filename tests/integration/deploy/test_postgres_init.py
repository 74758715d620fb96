"""The script that the Postgres image runs at its first start, run on a real server."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from app.db.migrate import upgrade
from app.embedded.account import postgres_account
from app.embedded.home import Home
from app.embedded.options import EmbeddedOptions
from app.embedded.passwords import load_passwords
from app.embedded.postgres import EmbeddedPostgres
from app.embedded.programs import find_postgres

ROOT = Path(__file__).parents[3]
PASSWORDS = {
    "OWNER_DATABASE_PASSWORD": "owner's",
    "APP_DATABASE_PASSWORD": "app's",
    "AUDITOR_DATABASE_PASSWORD": "auditor's",
    "KEYCLOAK_DATABASE_PASSWORD": "keycloak's",
}


@pytest.fixture
def port(fresh_home: Home) -> Iterator[int]:
    """A server of its own, prepared by the script."""
    programs, passwords = find_postgres(EmbeddedOptions()), load_passwords(fresh_home)
    log = fresh_home.logs / "postgres.log"
    server = EmbeddedPostgres(programs, fresh_home.postgres, passwords, log, postgres_account(), durable=False)
    try:
        address = server.start()
        script = (ROOT / "deploy/postgres/init.sh").read_text("utf-8")
        script = script.replace("/groundeddocs/roles.sql", str(ROOT / "migrations/roles.sql"))
        environment = {
            **PASSWORDS,
            "PATH": f"{programs.folder}:{os.environ['PATH']}",
            "POSTGRES_USER": "postgres",
            "POSTGRES_DB": "groundeddocs",
            "PGHOST": "127.0.0.1",
            "PGPORT": str(address.port),
            "PGPASSWORD": passwords.superuser,
        }
        subprocess.run(["/bin/sh", "-c", script], env=environment, check=True, capture_output=True)
        yield address.port
    finally:
        server.stop()


def sign_in(port: int, role: str, database: str, password: str) -> str:
    with psycopg.connect(host="127.0.0.1", port=port, user=role, dbname=database, password=password) as connection:
        return connection.info.user


def test_each_role_enters_its_own_database_and_the_owner_can_migrate(port: int) -> None:
    for role, password in (("owner", "owner's"), ("app", "app's"), ("auditor", "auditor's")):
        assert sign_in(port, f"groundeddocs_{role}", "groundeddocs", password) == f"groundeddocs_{role}"
    assert sign_in(port, "keycloak", "keycloak", "keycloak's") == "keycloak"
    for role, database, password in (
        ("keycloak", "groundeddocs", "keycloak's"),
        ("groundeddocs_app", "keycloak", "app's"),
        ("groundeddocs_app", "groundeddocs", "owner's"),
    ):
        with pytest.raises(psycopg.OperationalError):
            sign_in(port, role, database, password)
    assert upgrade(f"postgresql+psycopg://groundeddocs_owner:owner%27s@127.0.0.1:{port}/groundeddocs")
