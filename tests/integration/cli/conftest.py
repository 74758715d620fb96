"""The command in this process, against a stand-in service, with a configuration folder of its own."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from app.cli.credentials import CredentialStore
from app.cli.main import run
from tests.integration.cli.standin import WORKSPACE_ID, StandIn, reply


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a command ended."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)


class Shell:
    """Runs commands as a user would type them."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str) -> Outcome:
        self._capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            run(arguments)
        captured = self._capsys.readouterr()
        return Outcome(int(ended.value.code or 0), captured.out, captured.err)


@pytest.fixture
def service() -> Iterator[StandIn]:
    """A service that one signed-in user with one workspace sees, and its identity provider."""
    stand_in = StandIn()
    workspace = {"id": WORKSPACE_ID, "name": "Field service", "role": "owner", "created_at": "2026-01-01T00:00:00Z"}
    user = {"id": "66666666-6666-6666-6666-666666666666", "email": None, "display_name": "Alice Example"}
    stand_in.on("GET", "/v1/me", reply({"user": user, "workspaces": [workspace]}))
    stand_in.on(
        "GET",
        "/v1/config",
        lambda _: reply(
            {
                "issuer": stand_in.url,
                "client_id": "web",
                "cli_client_id": "cli",
                "audience": "urn:groundeddocs:api",
                "api_scope": "",
                "limits": {"max_upload_bytes": 5_000, "max_pages": 10, "max_question_characters": 100},
                "formats": ["application/pdf", "text/plain", "text/markdown"],
                "features": [],
            }
        ),
    )
    stand_in.on(
        "GET",
        "/.well-known/openid-configuration",
        lambda _: reply(
            {
                "issuer": stand_in.url,
                "token_endpoint": f"{stand_in.url}/token",
                "device_authorization_endpoint": f"{stand_in.url}/device/auth",
                "revocation_endpoint": f"{stand_in.url}/revoke",
                "scopes_supported": ["openid", "offline_access", "ask"],
            }
        ),
    )
    stand_in.start()
    yield stand_in
    stand_in.stop()


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CredentialStore:
    """An empty configuration folder that the command uses too."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("HOME", str(tmp_path))
    return CredentialStore()


@pytest.fixture
def shell(
    service: StandIn, store: CredentialStore, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Shell:
    """A shell of a user who is signed in by a token in the environment."""
    monkeypatch.setenv("GROUNDEDDOCS_URL", service.url)
    monkeypatch.setenv("GROUNDEDDOCS_TOKEN", "environment-token")
    monkeypatch.delenv("GROUNDEDDOCS_WORKSPACE", raising=False)
    return Shell(capsys)


@pytest.fixture
def stranger(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """A shell of a user who is not signed in."""
    monkeypatch.delenv("GROUNDEDDOCS_TOKEN")
    return shell
