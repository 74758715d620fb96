"""Start, watch and stop everything on one machine. Reading `Supervisor.run` is reading what `up` does."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType

from app.embedded import environment, http, pidfiles, processes, restarts, schema
from app.embedded.account import postgres_account
from app.embedded.demo import DemoError, seed_demo
from app.embedded.errors import PartFailedError, PortTakenError
from app.embedded.home import Home, prepare_home
from app.embedded.idp import IdpAddress, choose_address, idp_part
from app.embedded.lock import Instance, hold_home, publish_instance
from app.embedded.logs import log_end
from app.embedded.options import EmbeddedOptions
from app.embedded.parts import Part, ProcessPart
from app.embedded.passwords import Passwords, load_passwords
from app.embedded.ports import is_free
from app.embedded.postgres import EmbeddedPostgres, PostgresAddress, cluster_major, provision
from app.embedded.processes import Command
from app.embedded.programs import find_node, find_postgres, find_redis, find_redisearch
from app.embedded.redis import EmbeddedRedis, RedisKind
from app.embedded.report import Report

_WATCH_SECONDS = 0.2
_MIGRATE_SECONDS = 300.0
# The first start may convert the embedding model before it is ready.
_API_SECONDS = 180.0
# Together under the 5 seconds that a stop may take, with what force needs.
_PROCESSES_STOP_SECONDS = 1.8
_SERVERS_STOP_SECONDS = 1.8
_MIGRATIONS = Path(__file__).parents[2] / "migrations"
_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def up(options: EmbeddedOptions, report: Report | None = None, program: Sequence[str] = ("-m", "app.cli.main")) -> None:
    """Run the embedded set until it is told to stop by Ctrl-C or SIGTERM.

    Args:
        options: What the operator set.
        report: Where progress is told; standard output when not given.
        program: What Python runs for `migrate`, `worker` and `serve`.

    Raises:
        EmbeddedError: It cannot start, or a part does not stay up; everything has ended by then.
    """
    home = prepare_home(options.groundeddocs_home, postgres_account())
    with hold_home(home), _signals_interrupt():
        Supervisor(options, home, report or Report(), program).run()


class Supervisor:
    """One run of the embedded set on a data folder that the caller holds.

    Args:
        options: What the operator set.
        home: The data folder.
        report: Where progress is told.
        program: What Python runs for `migrate`, `worker` and `serve`.
    """

    def __init__(
        self, options: EmbeddedOptions, home: Home, report: Report, program: Sequence[str] = ("-m", "app.cli.main")
    ) -> None:
        self._program = tuple(program)
        self._options = options
        self._home = home
        self._report = report
        self._begun = time.monotonic()
        self._servers: list[Part] = []
        self._processes: list[Part] = []

    def run(self) -> None:
        """Check, start, prepare, announce, watch: in that order; and stop everything, whatever happens."""
        self._report.starting(self._home.root)
        try:
            self._check_port()
            settings, idp = self._start_servers()
            self._start_processes(settings, idp)
            self._prepare_demo(settings)
            self._announce(settings)
            self._watch()
        except KeyboardInterrupt:
            self._report.stopping()
        finally:
            self._stop()

    def _check_port(self) -> None:
        """Free the address from what an earlier run left, then make sure that nobody else has it."""
        for name in pidfiles.end_left_behind(self._home):
            self._report.note(f"{name} of an earlier run was still there and has been ended")
        if not is_free(self._options.port, self._options.host):
            port = self._options.port
            detail = f"Port {port} is taken by another program. Set PORT to another one, for example: PORT={port + 1}"
            raise PortTakenError(detail)

    def _start_servers(self) -> tuple[dict[str, str], Part]:
        """Start the servers side by side and prepare the database as soon as it answers.

        Returns:
            All settings, and the identity provider, which nothing needs yet and may still be starting.
        """
        passwords = load_passwords(self._home)
        postgres, cache, limits = self._postgres(passwords), *self._redis_pair(passwords)
        address = choose_address(self._home, self._options.idp_port)
        idp = self._idp(address)
        for part in (cache, limits, idp, postgres):
            self._begin(part, self._servers)
        self._ready(postgres)
        provision(postgres.address, _MIGRATIONS / "roles.sql")
        settings = environment.service_settings(
            self._options,
            self._home,
            postgres=postgres.address,
            cache=cache.address,
            limits=limits.address,
            idp=address,
        )
        migration = environment.migration_settings(postgres.address)
        self._bring_schema_up(postgres.address, {**settings, **migration})
        for part in (cache, limits):
            self._ready(part)
        if not cache.has_query_engine:
            self._report.note("no query engine for the cache server here, so the semantic cache is off")
        return {**settings, **migration}, idp

    def _postgres(self, passwords: Passwords) -> EmbeddedPostgres:
        programs = find_postgres(self._options, cluster_major(self._home.postgres))
        log = self._home.logs / "postgres.log"
        return EmbeddedPostgres(programs, self._home.postgres, passwords, log, postgres_account())

    def _redis_pair(self, passwords: Passwords) -> tuple[EmbeddedRedis, EmbeddedRedis]:
        home, program, module = self._home, find_redis(self._options), find_redisearch(self._options)
        cache_log, limits_log = home.logs / "redis-cache.log", home.logs / "redis-limits.log"
        cache_word, limits_word = passwords.redis_cache, passwords.redis_limits
        return (
            EmbeddedRedis(RedisKind.CACHE, program, home.redis_cache, cache_word, cache_log, module=module),
            EmbeddedRedis(RedisKind.LIMITS, program, home.redis_limits, limits_word, limits_log),
        )

    def _idp(self, address: IdpAddress) -> ProcessPart:
        node, origins = find_node(self._options), environment.web_origins(self._options)
        return idp_part(self._options, self._home, node, address, origins)

    def _bring_schema_up(self, address: PostgresAddress, settings: Mapping[str, str]) -> None:
        """Run the migrations, unless these very files were the last that ran: that saves seconds at each start."""
        wanted = schema.fingerprint(_MIGRATIONS)
        if schema.is_current(address, wanted):
            return
        self._migrate(settings)
        schema.note_current(address, wanted)

    def _migrate(self, settings: Mapping[str, str]) -> None:
        begun = time.monotonic()
        command = self._python("migrate", settings)
        process = processes.spawn(command)
        try:
            code = process.wait(_MIGRATE_SECONDS)
        except subprocess.TimeoutExpired:
            detail = f"The migrations took more than {_MIGRATE_SECONDS:.0f} s. {log_end(command.log)}"
            raise PartFailedError(detail) from None
        finally:
            processes.kill_group(process)
        if code != 0:
            raise PartFailedError(f"The database could not be migrated. {log_end(command.log)}")
        self._report.started("migrations", time.monotonic() - begun)

    def _start_processes(self, settings: Mapping[str, str], idp: Part) -> None:
        """Start worker and api, which do not get the role that owns the tables."""
        least = {name: value for name, value in settings.items() if name != "MIGRATIONS_DATABASE_URL"}
        port = self._options.port
        worker = ProcessPart("worker", self._python("worker", least), self._mark("worker"))
        serve = self._python("serve", least)
        api = ProcessPart("api", serve, self._mark("serve"), lambda: http.answers(port, "/readyz"), _API_SECONDS)
        self._begin(worker, self._processes)
        self._begin(api, self._processes)
        self._ready(idp)
        self._ready(api)
        self._report.begun(worker.name)

    def _prepare_demo(self, settings: Mapping[str, str]) -> None:
        """Make the demo workspace; without it the service is as good, so a failure is only told."""
        try:
            seed_demo(environment.api_address(self._options), settings["OIDC_ISSUER"])
        except DemoError as error:
            self._report.note(error.detail)

    def _announce(self, settings: Mapping[str, str]) -> None:
        address, issuer = environment.api_address(self._options), settings["OIDC_ISSUER"]
        instance = Instance(os.getpid(), address, issuer, settings)
        publish_instance(self._home, instance)
        self._report.ready(instance, self._home.root, self._home.logs, time.monotonic() - self._begun)

    def _watch(self) -> None:
        """Start again what ends by itself, until it does so too often."""
        endings: dict[str, list[float]] = defaultdict(list)
        due: dict[str, float] = {}
        gone: dict[str, float] = {}
        while True:
            now = time.monotonic()
            for part in (*self._servers, *self._processes):
                if part.process is None or part.process.poll() is None:
                    if part.name in gone and part.is_up():
                        self._report.back(part.name, time.monotonic() - gone.pop(part.name))
                    continue
                if part.name not in due:
                    endings[part.name].append(now)
                    gone.setdefault(part.name, now)
                    due[part.name] = now + self._delay(part, endings[part.name], now)
                elif now >= due[part.name]:
                    del due[part.name]
                    part.begin()
                    pidfiles.note(self._home, part)
            time.sleep(_WATCH_SECONDS)

    def _delay(self, part: Part, endings: Sequence[float], now: float) -> float:
        delay = restarts.next_delay(endings, now)
        code = part.process.returncode if part.process else 0
        if delay is None:
            detail = (
                f"{part.name} ended {restarts.MOST_RESTARTS + 1} times within {restarts.WINDOW_SECONDS:.0f} s, "
                f"the last time with code {code}, so everything is stopped. {log_end(part.log)}"
            )
            raise PartFailedError(detail)
        self._report.ended(part.name, code, log_end(part.log), delay)
        return delay

    def _begin(self, part: Part, group: list[Part]) -> None:
        group.append(part)
        part.begin()
        pidfiles.note(self._home, part)

    def _ready(self, part: Part) -> None:
        part.wait_ready()
        pidfiles.note(self._home, part)
        self._report.started(part.name, time.monotonic() - self._begun)

    def _python(self, subcommand: str, settings: Mapping[str, str]) -> Command:
        argv = [sys.executable, *self._mark_option(), *self._program, subcommand]
        log = self._home.logs / f"{'api' if subcommand == 'serve' else subcommand}.log"
        return Command(argv, log, environment.process_environment(settings), Path(__file__).parents[2])

    def _mark_option(self) -> tuple[str, str]:
        """An option that Python ignores; it tells later whose process this is."""
        return "-X", f"groundeddocs_home={self._home.root}"

    def _mark(self, subcommand: str) -> str:
        return " ".join((self._mark_option()[1], *self._program, subcommand))

    def _stop(self) -> None:
        """Stop what uses the servers first, then the servers; no signal can interrupt it."""
        begun = time.monotonic()
        for number in _STOP_SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        processes.stop(_endings(self._processes), _PROCESSES_STOP_SECONDS)
        processes.stop(_endings(self._servers), _SERVERS_STOP_SECONDS)
        pidfiles.forget(self._home)
        self._report.stopped(time.monotonic() - begun)


def _endings(parts: Sequence[Part]) -> list[processes.Ending]:
    return [part.ending(part.process) for part in parts if part.process]


@contextlib.contextmanager
def _signals_interrupt() -> Iterator[None]:
    """Make every signal that asks us to end look like Ctrl-C."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in _STOP_SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
