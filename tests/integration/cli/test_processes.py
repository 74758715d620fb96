"""The command as a process of its own: exit codes, signals, and the refusal of a role that RLS does not bind."""

import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from app.core.config import Settings
from tests.integration.cli.standin import DOCUMENT_ID, WORKSPACE_ID, StandIn, document, events, reply

COMMAND = (sys.executable, "-m", "app.cli.main")
ROOT = Path(__file__).parents[3]


def environment(**given: str) -> dict[str, str]:
    """Return an environment without any setting of the service but those given."""
    names = {name.upper() for name in Settings.model_fields} | {"MIGRATIONS_DATABASE_URL", "GROUNDEDDOCS_TOKEN"}
    return {**{name: value for name, value in os.environ.items() if name not in names}, **given}


def run(*arguments: str, **given: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments],
        env=environment(**given),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )


@pytest.mark.parametrize("command", ["serve", "worker"])
def test_process_without_settings_names_each_and_ends(command: str) -> None:
    ended = run(command)
    assert ended.returncode == 1
    assert "Traceback" not in ended.stderr
    for name in ("DATABASE_URL", "REDIS_CACHE_URL", "REDIS_LIMITS_URL", "OIDC_ISSUER"):
        assert f"  {name}: " in ended.stderr


def test_migrate_without_its_role_says_which_variable() -> None:
    ended = run("migrate")
    assert ended.returncode == 1
    assert "MIGRATIONS_DATABASE_URL" in ended.stderr


def test_migrate_prints_the_revision(owner_url: str) -> None:
    ended = run("migrate", MIGRATIONS_DATABASE_URL=owner_url)
    assert (ended.returncode, ended.stdout.startswith("The database is at revision ")) == (0, True), ended.stderr


def test_migrate_without_database_hides_the_password() -> None:
    ended = run("migrate", MIGRATIONS_DATABASE_URL="postgresql://owner:hunter2@127.0.0.1:1/none")
    assert ended.returncode == 1
    assert "does not answer" in ended.stderr
    assert "hunter2" not in ended.stderr + ended.stdout


def service_settings(settings: Settings, database_url: str, model_path: Path) -> Mapping[str, str]:
    return {
        "DATABASE_URL": database_url,
        "REDIS_CACHE_URL": settings.redis_cache_url.get_secret_value(),
        "REDIS_LIMITS_URL": settings.redis_limits_url.get_secret_value(),
        "OIDC_ISSUER": settings.oidc_issuer,
        "BLOB_PATH": str(settings.blob_path),
        "MODEL_PATH": str(model_path),
    }


@pytest.mark.parametrize("role", ["superuser", "owner"])
def test_api_refuses_to_start_with_a_role_that_rls_does_not_bind(
    role: str, settings: Settings, superuser_url: str, owner_url: str, tmp_path: Path
) -> None:
    url = superuser_url if role == "superuser" else owner_url
    ended = run("serve", "--port", "1024", **service_settings(settings, url, tmp_path))
    assert ended.returncode == 1
    assert "not bound by row-level security" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_openapi_is_the_same_document_each_time_and_needs_no_settings() -> None:
    first, second = run("openapi"), run("openapi")
    assert first.returncode == 0, first.stderr
    assert first.stdout == second.stdout
    assert "/v1/documents" in json.loads(first.stdout)["paths"]


def test_ctrl_c_ends_a_waiting_command_with_130(service: StandIn, tmp_path: Path) -> None:
    accepted = {"document_id": DOCUMENT_ID, "outcome": "created", "status": "queued", "warnings": []}
    service.on("POST", "/v1/documents", reply(accepted, 202))
    service.on("GET", f"/v1/documents/{DOCUMENT_ID}/events", reply({"detail": "no events here"}, 500))
    service.on("GET", f"/v1/documents/{DOCUMENT_ID}", reply(document("parsing")))
    file = tmp_path / "manual.txt"
    file.write_text("x")
    given = environment(GROUNDEDDOCS_TOKEN="t", GROUNDEDDOCS_URL=service.url, GROUNDEDDOCS_WORKSPACE=WORKSPACE_ID)
    command = [*COMMAND, "upload", str(file)]
    with subprocess.Popen(
        command, env=given, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as it:
        deadline = time.monotonic() + 60
        while not service.calls("GET", f"/v1/documents/{DOCUMENT_ID}") and time.monotonic() < deadline:
            time.sleep(0.05)
        it.send_signal(signal.SIGINT)
        out, err = it.communicate(timeout=10)
    assert it.returncode == 130, out + err
    assert "Traceback" not in err


def test_terminal_shows_bars_and_obeys_no_name(service: StandIn, tmp_path: Path) -> None:
    accepted = {"document_id": DOCUMENT_ID, "outcome": "created", "status": "queued", "warnings": []}
    service.on("POST", "/v1/documents", reply(accepted, 202))
    service.on("GET", f"/v1/documents/{DOCUMENT_ID}/events", events(("status", document("ready"))))
    file = tmp_path / "a\x1b]0;owned\x07.txt"
    file.write_text("x")
    given = environment(
        GROUNDEDDOCS_TOKEN="t", GROUNDEDDOCS_URL=service.url, GROUNDEDDOCS_WORKSPACE=WORKSPACE_ID, TERM="xterm"
    )
    ours, theirs = pty.openpty()
    ended = subprocess.run(
        [*COMMAND, "upload", str(file)], env=given, cwd=ROOT, stdout=theirs, stderr=theirs, timeout=60, check=False
    )
    os.close(theirs)
    shown = os.read(ours, 100_000).decode()
    os.close(ours)
    assert ended.returncode == 0, shown
    assert "All files" in shown
    assert "new document, 1 page, 2 passages" in shown
    assert "\x1b]0;" not in shown
    assert "\x07" not in shown


def test_ctrl_c_while_the_command_loads_is_no_traceback() -> None:
    script = "import sys; from app.cli import main; sys.modules['app.cli.program'] = Slow(); main.run(['--help'])"
    slow = "class Slow:\n    def __getattr__(self, name): raise KeyboardInterrupt\n"
    ended = subprocess.run([sys.executable, "-c", slow + script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (130, "")


def test_what_ctrl_c_guards_is_all_that_loads_slowly() -> None:
    script = "import sys; import app.cli.main; print([name for name in ('typer', 'httpx') if name in sys.modules])"
    ended = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ended.stdout == "[]\n"


def test_version_is_printed() -> None:
    ended = run("--version")
    assert (ended.returncode, ended.stdout.split()[0]) == (0, "groundeddocs")
    assert ended.stdout.split()[1][0].isdigit()


def test_help_of_upload_says_how_its_json_is_laid_out() -> None:
    assert "one JSON document per line" in " ".join(run("upload", "--help", COLUMNS="200").stdout.split())
