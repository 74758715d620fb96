"""Whether the database already has the schema of this code, so that a second start need not ask the migrations."""

import hashlib
from pathlib import Path

import psycopg
from psycopg import sql

from app.embedded.postgres import DATABASE, PostgresAddress

_PREFIX = "migrated:"
_KINDS = {".py", ".sql"}


def fingerprint(folder: Path) -> str:
    """Return a hash of all migrations: any change of a file, its name or their number changes it."""
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.suffix in _KINDS):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(folder)}:{len(content)}:".encode() + content)
    return digest.hexdigest()


def is_current(address: PostgresAddress, expected: str) -> bool:
    """Tell whether the migrations with this fingerprint were the last to run to their end."""
    statement = "SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = %s"
    with psycopg.connect(address.url()) as connection:
        row = connection.execute(statement, (DATABASE,)).fetchone()
    return row is not None and row[0] == _PREFIX + expected


def note_current(address: PostgresAddress, done: str) -> None:
    """Note, inside the database, that the migrations with this fingerprint have run."""
    statement = sql.SQL("COMMENT ON DATABASE {} IS {}").format(sql.Identifier(DATABASE), sql.Literal(_PREFIX + done))
    with psycopg.connect(address.url()) as connection:
        connection.execute(statement)
