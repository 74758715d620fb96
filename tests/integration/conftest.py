"""Real servers for integration tests: one Postgres and two Redis for each test process."""

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.embedded.account import postgres_account
from app.embedded.home import Home, prepare_home
from app.embedded.options import EmbeddedOptions
from app.embedded.passwords import Passwords, load_passwords
from app.embedded.postgres import EmbeddedPostgres, PostgresAddress
from app.embedded.programs import find_postgres, find_redis, find_redisearch
from app.embedded.redis import EmbeddedRedis, RedisKind


@contextlib.contextmanager
def empty_home() -> Iterator[Home]:
    """Make a data folder; not below pytest's own, which is closed to the account that runs Postgres."""
    folder = Path(tempfile.mkdtemp(prefix="groundeddocs-test-"))
    folder.chmod(0o711)
    try:
        yield prepare_home(folder / "home", postgres_account())
    finally:
        shutil.rmtree(folder)


@pytest.fixture(scope="session")
def embedded_home() -> Iterator[Home]:
    """The data folder that the servers of a test process share."""
    with empty_home() as home:
        yield home


@pytest.fixture
def fresh_home() -> Iterator[Home]:
    """A data folder for one test that stops and breaks its servers."""
    with empty_home() as home:
        yield home


@pytest.fixture(scope="session")
def embedded_passwords(embedded_home: Home) -> Passwords:
    return load_passwords(embedded_home)


@pytest.fixture(scope="session")
def postgres_server(embedded_home: Home, embedded_passwords: Passwords) -> Iterator[PostgresAddress]:
    """A running Postgres with the empty database `groundeddocs`; it forgets everything on a crash."""
    programs, log = find_postgres(EmbeddedOptions()), embedded_home.logs / "postgres.log"
    folder, account = embedded_home.postgres, postgres_account()
    server = EmbeddedPostgres(programs, folder, embedded_passwords, log, account, durable=False)
    try:
        yield server.start()
    finally:
        server.stop()


@pytest.fixture(scope="session")
def superuser_url(postgres_server: PostgresAddress) -> str:
    return postgres_server.url()


@pytest.fixture(scope="session")
def redis_cache_url(embedded_home: Home, embedded_passwords: Passwords) -> Iterator[str]:
    """A running Redis that evicts, with the query engine where this platform has it."""
    options, log = EmbeddedOptions(), embedded_home.logs / "redis-cache.log"
    folder, password, module = embedded_home.redis_cache, embedded_passwords.redis_cache, find_redisearch(options)
    server = EmbeddedRedis(RedisKind.CACHE, find_redis(options), folder, password, log, module=module)
    try:
        yield server.start().url
    finally:
        server.stop()


@pytest.fixture(scope="session")
def redis_limits_url(embedded_home: Home, embedded_passwords: Passwords) -> Iterator[str]:
    """A running Redis that never evicts."""
    log, password = embedded_home.logs / "redis-limits.log", embedded_passwords.redis_limits
    program = find_redis(EmbeddedOptions())
    server = EmbeddedRedis(RedisKind.LIMITS, program, embedded_home.redis_limits, password, log)
    try:
        yield server.start().url
    finally:
        server.stop()
