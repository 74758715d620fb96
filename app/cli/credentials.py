"""Logins and default workspaces that the command line keeps for its user, one of each for an address."""

import asyncio
import contextlib
import dataclasses
import fcntl
import json
import os
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from platformdirs import user_config_path

from app.cli.errors import CliError

# A token that ends sooner is renewed first: a request must not lose the race against its expiry.
EXPIRY_MARGIN_SECONDS = 30
_LOCK_SECONDS = 30.0
_POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Login:
    """What the identity provider gave.

    Args:
        access_token: Goes to the service.
        refresh_token: Goes to the provider alone; None when the provider gave none.
        expires_at: End of the access token, in seconds since 1970.
        token_endpoint: Where the refresh token is used.
        client_id: The client that the tokens belong to.
        audience: The API that the tokens are for; empty when a scope named it.
        revocation_endpoint: Where the refresh token is given back; None when the provider takes none back.
        demo_user: Whose tokens the embedded provider gives without a refresh token; None for everybody else.
    """

    access_token: str = field(repr=False)
    refresh_token: str | None = field(repr=False)
    expires_at: float
    token_endpoint: str
    client_id: str
    audience: str
    revocation_endpoint: str | None = None
    demo_user: str | None = None

    @property
    def command(self) -> str:
        """What made it, and makes it anew."""
        return f"groundeddocs token {self.demo_user} --save" if self.demo_user else "groundeddocs login"

    def fresh(self, now: float | None = None) -> bool:
        """Tell whether the access token can still be used."""
        return self.expires_at - EXPIRY_MARGIN_SECONDS > (time.time() if now is None else now)


class CredentialStore:
    """Files in the configuration folder of the user that nobody else may read.

    Args:
        folder: Where they are; created at the first write.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or user_config_path("groundeddocs", appauthor=False)

    def login(self, url: str) -> Login | None:
        """Return the login for an address, or None."""
        entry = self._read("logins.json").get(url)
        try:
            return Login(**entry) if isinstance(entry, dict) else None
        except TypeError:
            return None  # written by another version: signing in again replaces it

    def save_login(self, url: str, login: Login | None) -> None:
        """Replace the login for an address; None removes it."""
        self._change("logins.json", url, dataclasses.asdict(login) if login else None)

    def workspace(self, url: str) -> str | None:
        """Return the id of the workspace that commands use by default, or None."""
        entry = self._read("workspaces.json").get(url)
        return entry if isinstance(entry, str) else None

    def save_workspace(self, url: str, workspace_id: str | None) -> None:
        """Replace the default workspace for an address; None removes it."""
        self._change("workspaces.json", url, workspace_id)

    @contextlib.asynccontextmanager
    async def locked(self) -> AsyncIterator[None]:
        """Keep other processes of this user from using a refresh token meanwhile: it works only once.

        Raises:
            CliError: Another process holds the lock for too long.
        """
        handle = os.open(self._prepared() / "logins.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            await _lock(handle)
            yield
        finally:
            os.close(handle)

    def _read(self, name: str) -> dict[str, object]:
        path = self._folder / name
        try:
            content = json.loads(path.read_text("utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise CliError(f"The file {path} cannot be read. Repair or remove it, then sign in again.") from error
        return content if isinstance(content, dict) else {}

    def _change(self, name: str, url: str, value: Mapping[str, object] | str | None) -> None:
        content = self._read(name)
        if value is None:
            content.pop(url, None)
        else:
            content[url] = value
        _write_private(self._prepared() / name, json.dumps(content, indent=2))

    def _prepared(self) -> Path:
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise CliError(f"The folder {self._folder} cannot be made: {error.strerror}.") from error
        return self._folder


async def _lock(handle: int) -> None:
    deadline = time.monotonic() + _LOCK_SECONDS
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise CliError("Another groundeddocs command is renewing the login and does not end.") from None
            await asyncio.sleep(_POLL_SECONDS)
        else:
            return


def _write_private(path: Path, text: str) -> None:
    """Write a file for its owner alone; whoever reads sees the old or the new one, never half of one."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise CliError(f"The file {path} cannot be written: {error.strerror}.") from error
