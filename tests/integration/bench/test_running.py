import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.servers import ROOT

PATIENCE = 240


@pytest.fixture
def scratch() -> Iterator[Path]:
    """A folder for the run's own scratch folder, open to the account that Postgres runs as."""
    folder = Path(tempfile.mkdtemp(prefix="groundeddocs-bench-test-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def processes_of(scratch: Path) -> list[str]:
    """Return the command lines of running processes that name the folder."""
    listed = subprocess.run(["/bin/ps", "-A", "-ww", "-o", "command="], capture_output=True, text=True, check=True)
    return [line for line in listed.stdout.splitlines() if str(scratch) in line]


def start(scratch: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "bench", *arguments],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(scratch)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def test_a_quick_measurement_reports_its_figures_and_leaves_nothing_behind(scratch: Path, tmp_path: Path) -> None:
    report = tmp_path / "bench.json"
    process = start(scratch, "uploads", "--quick", "--json", str(report))
    output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, output
    (measured,) = json.loads(report.read_text())["measurements"]
    figures = {figure["name"]: figure for figure in measured["figures"]}
    assert (measured["name"], measured["holds"], measured["error"]) == ("uploads", True, "")
    assert figures["claims of the content"]["median"] == 1
    assert "claims of the content: 1 [bar = 1: holds]" in output
    assert list(scratch.glob("groundeddocs-*")) == []
    assert processes_of(scratch) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_stops_everything_that_it_started(scratch: Path, number: signal.Signals) -> None:
    process = start(scratch, "uploads", "--quick")
    deadline = time.monotonic() + PATIENCE
    while not list(scratch.glob("*/home/logs/worker-0.log")) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert processes_of(scratch) != []
    process.send_signal(number)
    output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, output
    assert list(scratch.glob("groundeddocs-*")) == []
    assert processes_of(scratch) == []
