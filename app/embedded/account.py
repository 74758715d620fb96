"""Who runs Postgres: it refuses to be root, so root hands it to an unprivileged account."""

import os
import pwd
from dataclasses import dataclass
from pathlib import Path

from app.embedded.errors import FolderError, MissingProgramError

_NAMES = ("postgres", "nobody")


@dataclass(frozen=True, slots=True)
class Account:
    """An account of the operating system that server processes run as."""

    name: str
    uid: int
    gid: int


def postgres_account() -> Account | None:
    """Return the account that Postgres must run as, or None when it runs as the caller.

    Raises:
        MissingProgramError: The caller is root and there is no unprivileged account.
    """
    if os.geteuid() != 0:
        return None
    for name in _NAMES:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(name, entry.pw_uid, entry.pw_gid)
    raise MissingProgramError("Postgres does not run as root, and there is no account postgres or nobody to run it as.")


def check_reachable(path: Path, account: Account, setting: str) -> None:
    """Make sure that an account can get to a file or folder.

    Args:
        path: What the account must reach.
        account: The account.
        setting: Name of the setting to change when it cannot, for the message.

    Raises:
        FolderError: A folder on the way is closed to the account; its name is in the text.
    """
    for folder in reversed(path.resolve().parents):
        if not _may_enter(folder, account):
            detail = (
                f"You are root, so Postgres runs as the account {account.name}, and {folder} is closed to it. "
                f"Open that folder (chmod o+x {folder}), set {setting} to another place, or start as an ordinary user."
            )
            raise FolderError(detail)


def _may_enter(folder: Path, account: Account) -> bool:
    status = folder.stat()
    if status.st_uid == account.uid:
        return bool(status.st_mode & 0o100)
    if status.st_gid == account.gid:
        return bool(status.st_mode & 0o010)
    return bool(status.st_mode & 0o001)
