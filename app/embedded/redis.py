"""The two embedded Redis servers: `cache`, which may lose everything, and `limits`, which may not."""

import contextlib
import shutil
import signal
import socket
import subprocess
import time
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from app.embedded import processes
from app.embedded.errors import PartFailedError
from app.embedded.logs import log_end
from app.embedded.passwords import write_private
from app.embedded.ports import LOOPBACK, free_ports
from app.embedded.processes import Command, Ending

READY_SECONDS = 15.0
STOP_SECONDS = 2.0
_POLL_SECONDS = 0.05
_REPLY_BYTES = 64

_COMMON = """\
bind {host}
port {port}
protected-mode yes
requirepass {password}
dir "{folder}"
daemonize no
set-proc-title no
save ""
"""
_CACHE = """\
maxmemory 256mb
maxmemory-policy allkeys-lru
appendonly no
"""
_LIMITS = """\
maxmemory-policy noeviction
appendonly yes
appendfsync everysec
"""


class RedisKind(StrEnum):
    """The two servers."""

    CACHE = "redis-cache"
    LIMITS = "redis-limits"


@dataclass(frozen=True, slots=True)
class RedisAddress:
    """Where a server listens, and its password."""

    port: int
    password: str = field(repr=False)

    @property
    def url(self) -> str:
        """The address with its password."""
        return f"redis://:{self.password}@{LOOPBACK}:{self.port}/0"


class EmbeddedRedis:
    """One Redis server.

    Args:
        kind: Which of the two; decides on eviction and persistence.
        program: The redis-server program.
        folder: Its working folder; holds its settings and, for limits, its data.
        password: Password of the only user.
        log: Log file of the server.
        module: The query engine to load; the server comes up without it when it does not fit.
    """

    def __init__(
        self, kind: RedisKind, program: Path, folder: Path, password: str, log: Path, *, module: Path | None = None
    ) -> None:
        self.name = kind.value
        self._kind = kind
        self._program = program
        self._folder = folder.resolve()
        self.log = log
        self._module = module
        self._process: subprocess.Popen[bytes] | None = None
        self.address = RedisAddress(free_ports(1)[0], password)

    @property
    def process(self) -> subprocess.Popen[bytes] | None:
        """The server process, once begun."""
        return self._process

    @property
    def mark(self) -> str:
        """What the command line of the server holds, and no other's."""
        return str(self._settings)

    @property
    def has_query_engine(self) -> bool:
        """Whether the server runs with the query engine; known once it is ready."""
        return self._module is not None

    def start(self) -> RedisAddress:
        """Start the server and wait until it answers.

        Raises:
            PartFailedError: It does not come up; the end of its log is in the text.
        """
        self.begin()
        self.wait_ready()
        return self.address

    def begin(self) -> None:
        """Write the settings and start."""
        write_private(self._settings, self._configuration())
        argv = [self._program, self._settings]
        command = Command(argv, self.log, cwd=self._folder, dies_with_us=signal.SIGTERM)
        self._process = processes.spawn(command)

    def wait_ready(self, seconds: float = READY_SECONDS) -> None:
        """Wait until the server answers; without the query engine when it cannot be loaded."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if self._process is None or self._process.poll() is not None:
                self._begin_without_module_or_fail()
            if _answers(self.address):
                return
            time.sleep(_POLL_SECONDS)
        self.stop()
        raise PartFailedError(f"{self.name} did not answer within {seconds:.0f} s. {log_end(self.log)}")

    def is_up(self) -> bool:
        """Tell, without waiting, whether the server answers."""
        return _answers(self.address)

    def stop(self) -> None:
        """Stop the server; limits writes its file first."""
        if self._process is not None:
            processes.stop([self.ending(self._process)], STOP_SECONDS)
            self._process = None

    def ending(self, process: subprocess.Popen[bytes]) -> Ending:
        """Tell how the server is ended."""
        return Ending(process)

    @property
    def _settings(self) -> Path:
        return self._folder / "redis.conf"

    def _configuration(self) -> str:
        address = self.address
        common = _COMMON.format(host=LOOPBACK, port=address.port, password=address.password, folder=self._folder)
        if self._kind is RedisKind.LIMITS:
            return common + _LIMITS
        load = f'loadmodule "{_runnable(self._module, self._folder)}"\n' if self._module else ""
        return common + _CACHE + load

    def _begin_without_module_or_fail(self) -> None:
        if self._module is None:
            self._process = None
            raise PartFailedError(f"{self.name} ended while it was starting. {log_end(self.log)}")
        self._module = None
        self.begin()


def _runnable(module: Path, folder: Path) -> Path:
    """Return the module with the execute permission that Redis asks for; a copy when the original lacks it."""
    if module.stat().st_mode & 0o100:
        return module
    copy = folder / module.name
    if not copy.exists() or copy.stat().st_size != module.stat().st_size:
        shutil.copyfile(module, copy)
        copy.chmod(0o700)
    return copy


def _answers(address: RedisAddress) -> bool:
    """Tell whether the server takes the password and has loaded its data."""
    request = f"AUTH {address.password}\r\nPING\r\n".encode()
    with contextlib.suppress(OSError), socket.create_connection((LOOPBACK, address.port), timeout=1) as connection:
        connection.sendall(request)
        reply = b""
        while reply.count(b"\r\n") < 2 and (part := connection.recv(_REPLY_BYTES)):  # noqa: PLR2004 - two commands
            reply += part
        return reply == b"+OK\r\n+PONG\r\n"
    return False
