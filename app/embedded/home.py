"""The one folder that holds the data, logs and passwords of the embedded set."""

import os
from dataclasses import dataclass
from pathlib import Path

from app.embedded.account import Account, check_reachable
from app.embedded.errors import FolderError

_PRIVATE = 0o700
_PASSABLE = 0o711


@dataclass(frozen=True, slots=True)
class Home:
    """Names of everything in the data folder.

    Args:
        root: The data folder itself, absolute.
    """

    root: Path

    @property
    def postgres(self) -> Path:
        """The Postgres cluster."""
        return self.root / "postgres"

    @property
    def redis_cache(self) -> Path:
        """Working folder of the cache server."""
        return self.root / "redis-cache"

    @property
    def redis_limits(self) -> Path:
        """Append-only file of the limits server."""
        return self.root / "redis-limits"

    @property
    def idp(self) -> Path:
        """Keys and grants of the local identity provider."""
        return self.root / "idp"

    @property
    def logs(self) -> Path:
        """One log file for each part."""
        return self.root / "logs"

    @property
    def blobs(self) -> Path:
        """Original bytes of documents."""
        return self.root / "blobs"

    @property
    def models(self) -> Path:
        """The converted embedding model."""
        return self.root / "models"

    @property
    def run(self) -> Path:
        """Lock, pid files and the record of the running instance."""
        return self.root / "run"

    @property
    def secrets(self) -> Path:
        """Generated passwords."""
        return self.root / "secrets"

    def folders(self) -> tuple[Path, ...]:
        """Return every folder inside the data folder."""
        own = (self.postgres, self.redis_cache, self.redis_limits, self.idp, self.logs)
        return (*own, self.blobs, self.models, self.run, self.secrets)


def prepare_home(root: Path, account: Account | None = None) -> Home:
    """Create the data folder, readable by its owner only.

    Args:
        root: Where the data folder is or shall be.
        account: Who runs Postgres if not the caller; it gets its folder, and passage to it.

    Raises:
        FolderError: The folder cannot be created, or the account cannot get to it.
    """
    home = Home(root.expanduser().resolve())
    try:
        home.root.mkdir(parents=True, exist_ok=True)
        home.root.chmod(_PASSABLE if account else _PRIVATE)
        for folder in home.folders():
            folder.mkdir(mode=_PRIVATE, exist_ok=True)
        if account:
            os.chown(home.postgres, account.uid, account.gid)
    except OSError as error:
        detail = f"The data folder {home.root} cannot be used: {error.strerror}. Set GROUNDEDDOCS_HOME to another one."
        raise FolderError(detail) from error
    if account:
        check_reachable(home.postgres, account, "GROUNDEDDOCS_HOME")
    return home
