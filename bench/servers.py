"""What a measurement runs on: servers of its own in a scratch folder, and api and worker as processes of their own."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from app.db.migrate import upgrade
from app.embedded import processes
from app.embedded.account import postgres_account
from app.embedded.home import Home, prepare_home
from app.embedded.options import EmbeddedOptions
from app.embedded.passwords import Passwords, load_passwords
from app.embedded.ports import LOOPBACK, free_ports
from app.embedded.postgres import APP, OWNER, SUPERUSER, EmbeddedPostgres, PostgresAddress, provision
from app.embedded.processes import Command, Ending
from app.embedded.programs import find_postgres, find_redis, find_redisearch
from app.embedded.redis import EmbeddedRedis, RedisKind
from bench.issuer import Issuer, running_issuer

ROOT = Path(__file__).resolve().parent.parent
WORKER = ("-m", "app.cli.main", "worker")
_API = ("-m", "app.cli.main", "serve")
_READY_SECONDS = 180.0
_STOP_SECONDS = 6.0
_POLL_SECONDS = 0.02
_LOG_LINES = 60
# Nothing else of the caller's environment reaches the service: a key set there would change what is measured.
_KEPT = ("PATH", "HOME", "LANG", "TMPDIR", "LD_LIBRARY_PATH")


class ProcessEndedError(Exception):
    """A process of the service ended, or did not come up; the end of its log is in the text."""


@dataclass(frozen=True, slots=True)
class Servers:
    """Running servers.

    Attributes:
        home: The scratch folder, with everybody's logs.
        superuser_url: The database for looking on, as a role that no row-level security binds.
        settings: What api and worker get, by the names of their environment variables.
        issuer: Whose tokens the api accepts.
    """

    home: Home
    superuser_url: str = field(repr=False)
    settings: Mapping[str, str] = field(repr=False)
    issuer: Issuer


@contextlib.contextmanager
def running_servers() -> Iterator[Servers]:
    """Start Postgres, as durable as in earnest, two Redis and an identity provider; stop and remove all afterwards."""
    with contextlib.ExitStack() as stack:
        home = stack.enter_context(_home())
        passwords = load_passwords(home)
        postgres = _postgres(stack, home, passwords)
        issuer = stack.enter_context(running_issuer())
        cache = _redis(stack, home, RedisKind.CACHE, home.redis_cache, passwords.redis_cache)
        limits = _redis(stack, home, RedisKind.LIMITS, home.redis_limits, passwords.redis_limits)
        settings = {
            "DATABASE_URL": postgres.url(APP),
            "REDIS_CACHE_URL": cache,
            "REDIS_LIMITS_URL": limits,
            "OIDC_ISSUER": issuer.address,
            "OIDC_JWKS_URL": issuer.jwks_url,
            "BLOB_PATH": str(home.blobs),
            "MODEL_PATH": str(EmbeddedOptions().groundeddocs_home / "models"),
            "EMBEDDING_THREADS": str(cores()),
        }
        yield Servers(home, postgres.url(SUPERUSER), settings, issuer)


@contextlib.contextmanager
def running_postgres() -> Iterator[PostgresAddress]:
    """Start Postgres alone, for what is read more than it is written: it does not wait for the disk.

    Its buffers are a quarter of the machine's memory, as the manual of Postgres says, and 4 GB at most.
    """
    with contextlib.ExitStack() as stack:
        home = stack.enter_context(_home())
        megabytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 4 // 2**20
        yield _postgres(stack, home, load_passwords(home), durable=False, shared_buffers=f"{min(megabytes, 4_096)}MB")


@contextlib.contextmanager
def _home() -> Iterator[Home]:
    folder = Path(tempfile.mkdtemp(prefix="groundeddocs-bench-"))
    folder.chmod(0o711)
    try:
        yield prepare_home(folder / "home", postgres_account())
    finally:
        shutil.rmtree(folder)


def _postgres(stack: contextlib.ExitStack, home: Home, passwords: Passwords, **settings: Any) -> PostgresAddress:
    programs, log = find_postgres(EmbeddedOptions()), home.logs / "postgres.log"
    server = EmbeddedPostgres(programs, home.postgres, passwords, log, postgres_account(), **settings)
    stack.callback(server.stop)
    address = server.start()
    provision(address, ROOT / "migrations" / "roles.sql")
    upgrade(sqlalchemy_url(address.url(OWNER)))
    return address


def sqlalchemy_url(url: str) -> str:
    """Return an address with the driver named, as SQLAlchemy wants it."""
    return url.replace("postgresql://", "postgresql+psycopg://", 1)


def _redis(stack: contextlib.ExitStack, home: Home, kind: RedisKind, folder: Path, password: str) -> str:
    options, log = EmbeddedOptions(), home.logs / f"{kind.value}.log"
    module = find_redisearch(options) if kind is RedisKind.CACHE else None
    server = EmbeddedRedis(kind, find_redis(options), folder, password, log, module=module)
    stack.callback(server.stop)
    return server.start().url


class Worker:
    """One worker process.

    Args:
        process: The process, which leads a session of its own.
        log: File that its log goes to, and nobody else's.
    """

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self.process = process
        self._log = log

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self.process.poll() is None

    def log(self) -> str:
        """Return what it has logged so far."""
        return self._log.read_text("utf-8", "replace")

    def wait_ready(self) -> None:
        """Wait until it fetches jobs; raise `ProcessEndedError` when it does not come to that."""
        deadline = time.monotonic() + _READY_SECONDS
        while "worker.ready" not in self.log():
            self.require_alive()
            if time.monotonic() > deadline:
                raise ProcessEndedError(f"The worker was not ready within {_READY_SECONDS:.0f} s. {self._end()}")
            time.sleep(_POLL_SECONDS)

    def require_alive(self) -> None:
        """Raise `ProcessEndedError` when it has ended."""
        if not self.alive:
            raise ProcessEndedError(f"The worker ended with {self.process.returncode}. {self._end()}")

    def pause(self) -> None:
        """Let it do nothing for a moment."""
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on."""
        self.process.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        """Tell it to stop, and end it by force when it does not."""
        if self.alive:
            self.resume()
        processes.stop([Ending(self.process)], _STOP_SECONDS)

    def _end(self) -> str:
        return f"The end of its log:\n{processes.tail(self._log, _LOG_LINES)}"


def start_worker(servers: Servers, program: Sequence[str] = WORKER, **settings: str) -> Worker:
    """Start a worker; whoever starts it stops it. It does not outlive this process.

    Args:
        servers: What it works with.
        program: What Python runs.
        settings: Environment variables beside those of the servers.
    """
    log = _fresh_log(servers, "worker")
    return Worker(processes.spawn(_command(servers, program, log, settings)), log)


@contextlib.contextmanager
def running_worker(servers: Servers, program: Sequence[str] = WORKER, **settings: str) -> Iterator[Worker]:
    """Run a worker until the block ends; it is ready when the block begins."""
    worker = start_worker(servers, program, **settings)
    try:
        worker.wait_ready()
        yield worker
    finally:
        worker.stop()


@contextlib.contextmanager
def running_api(servers: Servers, **settings: str) -> Iterator[str]:
    """Serve the api on a free loopback port until the block ends, and give its address."""
    port, log = free_ports(1)[0], _fresh_log(servers, "api")
    process = processes.spawn(_command(servers, _API, log, {"HOST": LOOPBACK, "PORT": str(port), **settings}))
    address = f"http://{LOOPBACK}:{port}"
    try:
        _wait_for_api(process, f"{address}/readyz", log)
        yield address
    finally:
        processes.stop([Ending(process)], _STOP_SECONDS)


def _wait_for_api(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    deadline = time.monotonic() + _READY_SECONDS
    while not _answers(url):
        if process.poll() is not None or time.monotonic() > deadline:
            raise ProcessEndedError(f"The api did not come up. The end of its log:\n{processes.tail(log, _LOG_LINES)}")
        time.sleep(_POLL_SECONDS)


def _answers(url: str) -> bool:
    try:
        return httpx.get(url, timeout=5, trust_env=False).status_code == httpx.codes.OK
    except httpx.HTTPError:
        return False


def _command(servers: Servers, program: Sequence[str], log: Path, settings: Mapping[str, str]) -> Command:
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    env = {**kept, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1", **servers.settings, **settings}
    return Command([sys.executable, *program], log, env, ROOT)


def _fresh_log(servers: Servers, name: str) -> Path:
    count = len(list(servers.home.logs.glob(f"{name}-*.log")))
    return servers.home.logs / f"{name}-{count}.log"


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
