import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from app.embedded.home import Home
from app.embedded.lock import Instance, read_instance
from app.embedded.ports import free_ports
from app.embedded.processes import command_line

RUN_UP = Path(__file__).with_name("run_up.py")
IDP = """
import http from "node:http";
http.createServer((_, answer) => answer.end("{}")).listen(Number(process.env.IDP_PORT), "127.0.0.1");
"""


class Running:
    """One `up` on a data folder, with what it prints."""

    def __init__(self, home: Home, idp: Path, port: int) -> None:
        self.home = home
        self.output = home.root.parent / "output.txt"
        environment = {
            **os.environ,
            "GROUNDEDDOCS_HOME": str(home.root),
            "GROUNDEDDOCS_DEV_IDP": str(idp),
            "PORT": str(port),
            "PYTHONPATH": str(Path(__file__).parents[3]),
        }
        with self.output.open("w") as output:
            self.process = subprocess.Popen(
                [sys.executable, str(RUN_UP)], stdout=output, stderr=output, env=environment
            )

    def wait_ready(self) -> Instance:
        wait_until(lambda: read_instance(self.home) is not None or self.process.poll() is not None, 60)
        instance = read_instance(self.home)
        assert instance is not None, self.output.read_text()
        return instance

    def pids(self) -> dict[str, int]:
        notes = {path.stem: json.loads(path.read_text()) for path in self.home.run.glob("*.pid")}
        return {name: note["pid"] for name, note in notes.items()}

    def stop(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(20)


def wait_until(condition: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "the condition did not come true in time"
        time.sleep(0.05)


@pytest.fixture
def port() -> int:
    return free_ports(1)[0]


@pytest.fixture
def start(fresh_home: Home, port: int, tmp_path: Path) -> Iterator[Callable[[], Running]]:
    (tmp_path / "node_modules" / "oidc-provider").mkdir(parents=True)
    (tmp_path / "src").mkdir()
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "src" / "main.js").write_text(IDP)
    started: list[Running] = []

    def start_one() -> Running:
        running = Running(fresh_home, tmp_path, port)
        started.append(running)
        return running

    yield start_one
    for running in started:
        running.stop()


def saw_owner_role(running: Running) -> dict[str, str]:
    """Which subcommands got the address of the role that owns the tables: only migrations may."""
    return {path.name.removeprefix("saw-owner-"): path.read_text() for path in running.home.run.glob("saw-owner-*")}


PARTS = {"postgres", "redis-cache", "redis-limits", "idp", "worker", "api"}


def test_everything_starts_and_ctrl_c_leaves_nothing_running(start: Callable[[], Running]) -> None:
    running = start()
    running.wait_ready()
    pids = running.pids()
    assert set(pids) == PARTS
    assert saw_owner_role(running) == {"migrate": "True", "worker": "False", "serve": "False"}
    begun = time.monotonic()
    running.process.send_signal(signal.SIGINT)
    assert running.process.wait(10) == 0
    assert time.monotonic() - begun < 5
    assert [name for name, pid in pids.items() if command_line(pid)] == []
    assert "groundeddocs upload" in running.output.read_text()
    assert "  worker         started\n" in running.output.read_text()


def test_second_start_keeps_data_and_issuer(start: Callable[[], Running]) -> None:
    first = start()
    instance = first.wait_ready()
    with psycopg.connect(instance.environment["MIGRATIONS_DATABASE_URL"]) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 42 AS value")
    first.stop()
    (first.home.run / "saw-owner-migrate").unlink()
    again = start().wait_ready()
    assert again.issuer == instance.issuer
    assert "migrate" not in saw_owner_role(first), "the same migrations need not run again"
    with psycopg.connect(again.environment["MIGRATIONS_DATABASE_URL"]) as connection:
        assert connection.execute("SELECT value FROM kept").fetchone() == (42,)


@pytest.mark.parametrize("name", ["worker", "postgres"])
def test_a_part_that_dies_is_named_and_started_again(start: Callable[[], Running], name: str) -> None:
    running = start()
    running.wait_ready()
    before = running.pids()[name]
    os.kill(before, signal.SIGKILL)
    wait_until(lambda: running.pids()[name] != before, 20)
    assert f"{name} ended with code -9" in running.output.read_text()
    wait_until(lambda: f"{name} is back after " in running.output.read_text(), 20)
    assert running.stop() == 0


def test_a_part_that_keeps_dying_ends_everything_with_its_log(start: Callable[[], Running]) -> None:
    running = start()
    running.wait_ready()
    pids = running.pids()
    (running.home.run / "fail-worker").touch()
    os.kill(pids["worker"], signal.SIGKILL)
    assert running.process.wait(30) == 1
    assert "worker ended 4 times within 60 s" in running.output.read_text()
    assert "worker was told to fail" in running.output.read_text()
    assert [name for name, pid in pids.items() if command_line(pid)] == []


def test_failed_migrations_end_the_start_with_their_log(start: Callable[[], Running], fresh_home: Home) -> None:
    (fresh_home.run / "fail-migrate").touch()
    running = start()
    assert running.process.wait(60) == 1
    assert "The database could not be migrated" in running.output.read_text()
    assert "migrate was told to fail" in running.output.read_text()


def test_second_up_on_the_same_folder_names_the_first(start: Callable[[], Running]) -> None:
    first = start()
    first.wait_ready()
    output = first.output.read_text()
    second = start()
    assert second.process.wait(20) == 1
    assert f"already runs on {first.home.root}: process {first.process.pid}" in second.output.read_text()
    assert output
    assert first.process.poll() is None


def test_a_taken_port_is_named_with_the_way_out(start: Callable[[], Running], port: int) -> None:
    with socket.create_server(("127.0.0.1", port)):
        running = start()
        assert running.process.wait(20) == 1
    assert f"Port {port} is taken by another program. Set PORT" in running.output.read_text()


def test_parts_that_do_not_listen_are_ended_by_force_in_time(start: Callable[[], Running], fresh_home: Home) -> None:
    (fresh_home.run / "deaf-worker").touch()
    running = start()
    running.wait_ready()
    worker = running.pids()["worker"]
    begun = time.monotonic()
    assert running.stop() == 0
    assert time.monotonic() - begun < 5
    assert not command_line(worker)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells children that their parent was killed")
def test_a_killed_supervisor_takes_its_parts_along(start: Callable[[], Running]) -> None:
    running = start()
    running.wait_ready()
    pids = running.pids()
    running.process.kill()
    running.process.wait()
    wait_until(lambda: not any(command_line(pid) for pid in pids.values()), 5)
    assert start().wait_ready().pid != running.process.pid
