"""Generated passwords, made at the first start and kept in one file of the data folder."""

import dataclasses
import json
import os
import secrets
from dataclasses import dataclass, field
from pathlib import Path

from app.embedded.errors import FolderError
from app.embedded.home import Home

_FILE = "passwords.json"


def _password() -> str:
    return secrets.token_hex(24)


@dataclass(frozen=True, slots=True)
class Passwords:
    """One password for each database role and Redis server; hexadecimal, so safe inside addresses."""

    superuser: str = field(default_factory=_password, repr=False)
    owner: str = field(default_factory=_password, repr=False)
    app: str = field(default_factory=_password, repr=False)
    auditor: str = field(default_factory=_password, repr=False)
    redis_cache: str = field(default_factory=_password, repr=False)
    redis_limits: str = field(default_factory=_password, repr=False)


def load_passwords(home: Home) -> Passwords:
    """Read the passwords of this data folder; make them when there are none yet.

    Raises:
        FolderError: The file is damaged.
    """
    path = home.secrets / _FILE
    if not path.exists():
        passwords = Passwords()
        write_private(path, json.dumps(dataclasses.asdict(passwords), indent=2))
        return passwords
    try:
        return Passwords(**json.loads(path.read_text("utf-8")))
    except (ValueError, TypeError) as error:
        detail = f"The password file {path} is damaged. Restore it from a backup, or start with another data folder."
        raise FolderError(detail) from error


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner may read; a power cut leaves the old or the new one, never half of one."""
    draft = path.with_name(f"{path.name}.{os.getpid()}.new")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
