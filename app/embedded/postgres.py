"""The embedded Postgres server: made, started, recovered and stopped."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
from psycopg import sql

from app.embedded import processes
from app.embedded.account import Account, check_reachable
from app.embedded.errors import FolderError, PartFailedError
from app.embedded.logs import log_end
from app.embedded.passwords import Passwords, write_private
from app.embedded.ports import LOOPBACK, free_ports
from app.embedded.processes import Command, Ending
from app.embedded.programs import PostgresPrograms

DATABASE = "groundeddocs"
SUPERUSER = "postgres"
OWNER = "groundeddocs_owner"
APP = "groundeddocs_app"
AUDITOR = "groundeddocs_auditor"

READY_SECONDS = 60.0
STOP_SECONDS = 2.5
_POLL_SECONDS = 0.05
# What the server says, in the language that the cluster is made with; the driver gives no code at sign-in.
_REFUSED_SIGN_IN = "password authentication failed"
_INITDB_SECONDS = 120
_STILL_SHARED = "pre-existing shared memory block"

# Small enough for a laptop: 32 MiB (PSS) when idle with api and worker connected, measured on Linux/x86-64.
_SETTINGS: Mapping[str, str] = {
    "listen_addresses": LOOPBACK,
    "unix_socket_directories": "",
    "max_connections": "60",
    "max_wal_size": "512MB",
    "jit": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "password_encryption": "scram-sha-256",
}
_NOT_DURABLE: Mapping[str, str] = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


@dataclass(frozen=True, slots=True)
class PostgresAddress:
    """Where the server listens, and who may connect."""

    port: int
    passwords: Passwords = field(repr=False)

    def url(self, role: str = SUPERUSER, database: str = DATABASE) -> str:
        """Return the address for one of the four roles, with its password."""
        words = self.passwords
        password = {SUPERUSER: words.superuser, OWNER: words.owner, APP: words.app, AUDITOR: words.auditor}[role]
        return f"postgresql://{role}:{password}@{LOOPBACK}:{self.port}/{database}"


class EmbeddedPostgres:
    """One Postgres server over one cluster folder.

    Args:
        programs: The programs to run.
        folder: Holds the cluster in `data`; made at the first start.
        passwords: Passwords of the roles; the superuser's is fixed when the cluster is made.
        log: Log file of the server.
        account: Who runs it when the caller is root.
        durable: Off only for tests: a crash of the machine then loses the cluster.
        shared_buffers: Memory for pages, as Postgres writes it; a quarter of a machine that serves large workspaces.
    """

    name = "postgres"

    def __init__(
        self,
        programs: PostgresPrograms,
        folder: Path,
        passwords: Passwords,
        log: Path,
        account: Account | None = None,
        *,
        durable: bool = True,
        shared_buffers: str = "128MB",
    ) -> None:
        self._programs = programs
        self._folder = folder.resolve()
        self._passwords = passwords
        self.log = log
        self._account = account
        self._durable = durable
        self._shared_buffers = shared_buffers
        self._process: subprocess.Popen[bytes] | None = None
        self.address = PostgresAddress(free_ports(1)[0], passwords)

    @property
    def data(self) -> Path:
        """The cluster."""
        return self._folder / "data"

    @property
    def mark(self) -> str:
        """What the command line of the server holds, and no other's."""
        return str(self.data)

    @property
    def process(self) -> subprocess.Popen[bytes] | None:
        """The server process, once begun."""
        return self._process

    def start(self) -> PostgresAddress:
        """Start the server, wait until it answers, and make the database when it is missing.

        Raises:
            PartFailedError: It does not come up; the end of its log is in the text.
        """
        self.begin()
        self.wait_ready()
        return self.address

    def begin(self) -> None:
        """Make the cluster if there is none, end a server that an earlier run left, and start."""
        if self._account:
            check_reachable(self._programs.folder / "postgres", self._account, "GROUNDEDDOCS_PG_BIN")
        if not self.data.exists():
            self._make_cluster()
        self._clear_stale()
        self._spawn()

    def wait_ready(self, seconds: float = READY_SECONDS) -> None:
        """Wait until the server answers queries, and make the database when it is missing."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if self._process is None or self._process.poll() is not None:
                self._spawn_again_or_fail()
            try:
                _make_database(self.address)
            except psycopg.OperationalError as error:
                if _REFUSED_SIGN_IN in str(error):
                    self.stop()
                    raise FolderError(self._lost_passwords()) from None
                time.sleep(_POLL_SECONDS)
            else:
                return
        self.stop()
        raise PartFailedError(f"Postgres did not answer within {seconds:.0f} s. {log_end(self.log)}")

    def is_up(self) -> bool:
        """Tell, without waiting, whether the server answers queries."""
        try:
            _make_database(self.address)
        except psycopg.OperationalError:
            return False
        return True

    def stop(self) -> None:
        """Stop the server after it has written everything down; at once when that takes too long."""
        if self._process is not None:
            processes.stop([self.ending(self._process)], STOP_SECONDS)
            self._process = None

    def ending(self, process: subprocess.Popen[bytes]) -> Ending:
        """Tell how the server is ended: a fast shutdown, then an immediate one."""
        return Ending(process, signal.SIGINT, signal.SIGQUIT)

    def _make_cluster(self) -> None:
        """Make the cluster beside its place and move it there, so that half of one is never used."""
        draft, password_file = self._folder / "data.new", self._folder / "initdb.password"
        shutil.rmtree(draft, ignore_errors=True)
        write_private(password_file, self._passwords.superuser)
        if self._account:
            os.chown(password_file, self._account.uid, self._account.gid)
        argv: list[str | Path] = [
            self._programs.folder / "initdb",
            f"--pgdata={draft}",
            f"--username={SUPERUSER}",
            f"--pwfile={password_file}",
            "--auth=scram-sha-256",
            "--encoding=UTF8",
            "--locale-provider=builtin",
            "--builtin-locale=C.UTF-8",
            "--locale=C",
            *([] if self._durable else ["--no-sync"]),
        ]
        initdb = processes.spawn(Command(argv, self.log, _environment(), self._folder, self._account))
        try:
            code = initdb.wait(_INITDB_SECONDS)
        finally:
            processes.kill_group(initdb)
            password_file.unlink()
        if code != 0:
            raise PartFailedError(f"The Postgres cluster could not be made. {log_end(self.log)}")
        draft.rename(self.data)

    def _spawn(self) -> None:
        settings = {**_SETTINGS, "shared_buffers": self._shared_buffers, "port": str(self.address.port)}
        settings |= {} if self._durable else _NOT_DURABLE
        flags = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        argv: list[str | Path] = [self._programs.folder / "postgres", "-D", self.data, *flags]
        # SIGINT is Postgres' fast shutdown: it ends cleanly also when the supervisor is killed.
        command = Command(argv, self.log, _environment(), self.data, self._account, dies_with_us=signal.SIGINT)
        self._process = processes.spawn(command)

    def _spawn_again_or_fail(self) -> None:
        """After kill -9 the old server's children hold its memory for a moment; wait for them."""
        if _STILL_SHARED not in processes.tail(self.log, 4):
            self._process = None
            raise PartFailedError(f"Postgres ended while it was starting. {log_end(self.log)}")
        time.sleep(_POLL_SECONDS * 4)
        self._spawn()

    def _clear_stale(self) -> None:
        """End a server that still runs on this cluster, and drop a pid file that points nowhere."""
        pid_file = self.data / "postmaster.pid"
        if not pid_file.exists():
            return
        first = pid_file.read_text("utf-8").partition("\n")[0]
        pid = int(first) if first.isdigit() else 0
        if pid and processes.end_stale(pid, self.mark, (signal.SIGINT, signal.SIGQUIT), 5.0):
            return
        if pid and self.mark in processes.command_line(pid):
            raise PartFailedError(f"A Postgres of an earlier run (process {pid}) does not end. End it and start again.")
        pid_file.unlink(missing_ok=True)

    def _lost_passwords(self) -> str:
        return (
            f"The Postgres data in {self.data} was made with other passwords than those of this data folder. "
            "Restore its file secrets/passwords.json from a backup, or start with another data folder."
        )


def cluster_major(folder: Path) -> int | None:
    """Return the main version of Postgres that made the cluster in a folder, or None when there is none."""
    try:
        return int((folder / "data" / "PG_VERSION").read_text("ascii"))
    except (FileNotFoundError, ValueError):
        return None


def provision(address: PostgresAddress, roles_sql: Path) -> None:
    """Create the roles with their rights, and give them this data folder's passwords; may run again at any time.

    Args:
        address: A server that is ready.
        roles_sql: Idempotent statements, run by the superuser in the database.
    """
    words = address.passwords
    with psycopg.connect(address.url()) as connection:
        connection.execute(roles_sql.read_bytes())
        for role, password in ((OWNER, words.owner), (APP, words.app), (AUDITOR, words.auditor)):
            hashed = connection.pgconn.encrypt_password(password.encode(), role.encode(), b"scram-sha-256")
            statement = sql.SQL("ALTER ROLE {} LOGIN PASSWORD {}")
            connection.execute(statement.format(sql.Identifier(role), sql.Literal(hashed.decode())))


def _make_database(address: PostgresAddress) -> None:
    with psycopg.connect(address.url(database="postgres"), autocommit=True, connect_timeout=2) as connection:
        found = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (DATABASE,)).fetchone()
        if not found:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(DATABASE)))


def _environment() -> dict[str, str]:
    """Return our environment without the variables that steer Postgres programs."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    return {**kept, "LC_ALL": "C", "TZ": "UTC"}
