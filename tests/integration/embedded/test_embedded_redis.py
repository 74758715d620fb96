import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from redis import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from app.embedded.errors import PartFailedError
from app.embedded.home import Home
from app.embedded.options import EmbeddedOptions
from app.embedded.programs import find_redis, find_redisearch
from app.embedded.redis import EmbeddedRedis, RedisKind


def make_server(home: Home, kind: RedisKind, module: Path | None = None) -> EmbeddedRedis:
    folder = home.redis_cache if kind is RedisKind.CACHE else home.redis_limits
    program = find_redis(EmbeddedOptions())
    return EmbeddedRedis(kind, program, folder, "0123456789abcdef", home.logs / f"{kind}.log", module=module)


@pytest.fixture
def limits(fresh_home: Home) -> Iterator[EmbeddedRedis]:
    server = make_server(fresh_home, RedisKind.LIMITS)
    yield server
    server.stop()


def client(url: str) -> Redis:
    return Redis.from_url(url, decode_responses=True, retry=Retry(NoBackoff(), 0), socket_timeout=2)


def test_limits_never_evicts_and_keeps_its_data_over_a_restart(limits: EmbeddedRedis) -> None:
    with client(limits.start().url) as connection:
        assert connection.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
        assert connection.config_get("appendonly") == {"appendonly": "yes"}
        connection.set("spent", "7")
    limits.stop()
    with client(limits.start().url) as connection:
        assert connection.get("spent") == "7"


def test_limits_keeps_what_was_written_a_second_before_it_was_killed(limits: EmbeddedRedis) -> None:
    with client(limits.start().url) as connection:
        connection.set("spent", "7")
        connection.execute_command("WAITAOF", 1, 0, 2000)
    assert limits.process is not None
    limits.process.send_signal(signal.SIGKILL)
    limits.process.wait()
    with client(limits.start().url) as connection:
        assert connection.get("spent") == "7"


def test_cache_evicts_and_writes_nothing_down(redis_cache_url: str) -> None:
    with client(redis_cache_url) as connection:
        assert connection.config_get("maxmemory-policy") == {"maxmemory-policy": "allkeys-lru"}
        assert connection.config_get("maxmemory") == {"maxmemory": str(256 * 1024 * 1024)}
        assert connection.config_get("save") == {"save": ""}


def test_a_wrong_password_is_refused(redis_limits_url: str) -> None:
    address = redis_limits_url.rpartition("@")[2]
    with client(f"redis://:wrong@{address}") as connection, pytest.raises(redis.AuthenticationError):
        connection.ping()


def test_cache_starts_without_the_query_engine_when_it_does_not_load(fresh_home: Home, tmp_path: Path) -> None:
    module = tmp_path / "redisearch.so"
    module.write_bytes(b"not a module")
    server = make_server(fresh_home, RedisKind.CACHE, module)
    try:
        with client(server.start().url) as connection:
            assert connection.ping()
        assert not server.has_query_engine
    finally:
        server.stop()


def test_query_engine_answers_where_the_module_exists(fresh_home: Home) -> None:
    module = find_redisearch(EmbeddedOptions())
    server = make_server(fresh_home, RedisKind.CACHE, module)
    try:
        with client(server.start().url) as connection:
            names = {entry["name"] for entry in connection.module_list()}
        assert ("search" in names) == server.has_query_engine
    finally:
        server.stop()


def test_start_fails_with_the_end_of_the_log_when_the_settings_are_refused(limits: EmbeddedRedis) -> None:
    limits.start()
    limits.stop()
    damaged = next((limits._folder / "appendonlydir").glob("*.manifest"))
    damaged.write_text("nonsense\n")
    with pytest.raises(PartFailedError, match="redis-limits ended while it was starting"):
        limits.start()


def test_a_program_that_the_system_refuses_to_run_is_named(fresh_home: Home, tmp_path: Path) -> None:
    program = tmp_path / "redis-server"
    program.touch(mode=0o600)
    server = EmbeddedRedis(RedisKind.LIMITS, program, fresh_home.redis_limits, "00", fresh_home.logs / "redis.log")
    with pytest.raises(PartFailedError, match=r"redis-server cannot be started: Permission denied"):
        server.start()
