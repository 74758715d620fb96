"""One supervisor for each data folder, and what others may know about the one that runs."""

import contextlib
import dataclasses
import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from app.embedded.errors import AlreadyRunningError, FolderError
from app.embedded.home import Home
from app.embedded.passwords import write_private


@dataclass(frozen=True, slots=True)
class Instance:
    """The running embedded set of a data folder.

    Args:
        pid: Process of the supervisor.
        address: Where the api answers, for example `http://127.0.0.1:8080`.
        issuer: The identity provider.
        environment: Settings that let another process join, such as a second worker; holds passwords.
    """

    pid: int
    address: str
    issuer: str
    environment: Mapping[str, str] = field(repr=False)


@contextlib.contextmanager
def hold_home(home: Home) -> Iterator[None]:
    """Keep others from starting on the same data folder.

    The lock belongs to the process, so the operating system frees it after a crash or a power cut.

    Raises:
        AlreadyRunningError: Another process holds it; its number and address are in the text.
        FolderError: The lock file cannot be opened.
    """
    path = home.run / "lock"
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise FolderError(f"The lock file {path} cannot be opened: {error.strerror}.") from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise AlreadyRunningError(_who_runs(home)) from None
        _instance_path(home).unlink(missing_ok=True)
        yield
        _instance_path(home).unlink(missing_ok=True)
    finally:
        os.close(handle)


def publish_instance(home: Home, instance: Instance) -> None:
    """Note the running set, for `read_instance`."""
    write_private(_instance_path(home), json.dumps(dataclasses.asdict(instance), indent=2))


def read_instance(home: Home) -> Instance | None:
    """Return the set that runs on a data folder now, or None."""
    if not is_held(home):
        return None
    try:
        return Instance(**json.loads(_instance_path(home).read_text("utf-8")))
    except FileNotFoundError:
        return None


def is_held(home: Home) -> bool:
    """Tell whether a supervisor runs on a data folder, ready or still starting."""
    try:
        handle = os.open(home.run / "lock", os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def _who_runs(home: Home) -> str:
    instance = read_instance(home)
    if instance is None:
        return f"GroundedDocs is already starting on {home.root} in another process. Wait for it, or stop it first."
    return (
        f"GroundedDocs already runs on {home.root}: process {instance.pid}, address {instance.address}. "
        "Stop it first, or set GROUNDEDDOCS_HOME and PORT for a second one."
    )


def _instance_path(home: Home) -> Path:
    return home.run / "instance.json"
