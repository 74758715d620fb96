import http.server
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from app.embedded.doctor import Check, Health, examine, is_healthy
from app.embedded.options import EmbeddedOptions
from app.embedded.ports import free_ports


def examine_by_name(options: EmbeddedOptions) -> dict[str, Check]:
    return {check.name: check for check in examine(options)}


def test_every_finding_that_is_not_well_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    missing = tmp_path / "missing"
    options = EmbeddedOptions(
        groundeddocs_home=tmp_path / "home",
        groundeddocs_pg_bin=missing,
        groundeddocs_redis_server=missing,
        groundeddocs_redisearch=missing,
        groundeddocs_dev_idp=missing,
    )
    checks = examine_by_name(options)
    failed = {name for name, check in checks.items() if check.health is Health.FAIL}
    assert failed >= {"node", "postgres", "redis", "redis query engine", "identity provider"}
    assert [check for check in checks.values() if check.health is not Health.OK and not check.remedy] == []
    assert not is_healthy(list(checks.values()))


def test_nothing_is_created(tmp_path: Path) -> None:
    examine(EmbeddedOptions(groundeddocs_home=tmp_path / "home"))
    assert list(tmp_path.iterdir()) == []


def test_a_taken_port_fails_with_the_way_out(tmp_path: Path) -> None:
    port = free_ports(1)[0]
    options = EmbeddedOptions(groundeddocs_home=tmp_path / "home", port=port)
    assert examine_by_name(options)["port"].health is Health.OK
    with socket.create_server(("127.0.0.1", port)):
        check = examine_by_name(options)["port"]
    assert check.health is Health.FAIL
    assert f"PORT={port + 1}" in check.remedy


@contextmanager
def answering(content: object) -> Iterator[int]:
    """A server that answers every path with some JSON."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(content).encode())

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the library's
            """Keep the terminal free."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("content", "health"),
    [
        ({"issuer": "http://idp", "cli_client_id": "cli"}, Health.OK),
        ({"status": "fine"}, Health.FAIL),
        ([], Health.FAIL),
    ],
)
def test_a_port_on_which_groundeddocs_answers_is_well(tmp_path: Path, content: object, health: Health) -> None:
    with answering(content) as port:
        check = examine_by_name(EmbeddedOptions(groundeddocs_home=tmp_path / "home", port=port))["port"]
    assert check.health is health
    assert (f"GroundedDocs answers at http://127.0.0.1:{port}" in check.detail) is (health is Health.OK)


def test_a_warning_is_not_a_failure() -> None:
    assert is_healthy([Check("a", Health.OK, ""), Check("b", Health.WARN, "", "c")])
    assert not is_healthy([Check("a", Health.FAIL, "", "b")])
