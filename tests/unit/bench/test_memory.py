import subprocess
import sys

import pytest

from bench.memory import Peaks, descendants, peak_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the kernel of Linux tells")
MEGABYTE = 1_000_000
HOLD = "import subprocess, sys; data = bytearray(90_000_000); del data; print(1, flush=True); sys.stdin.read()"
FORK = "import os, sys; child = os.fork(); child and print(child, flush=True); sys.stdin.read()"
NEST = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {HOLD!r}])"


def test_peaks_know_the_most_that_a_process_and_the_largest_below_it_held() -> None:
    process = subprocess.Popen([sys.executable, "-c", NEST], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    with process:
        process.stdout.readline()
        peaks = Peaks(process.pid)
        peaks.look()
        process.stdin.close()
    assert 1 * MEGABYTE < peaks.own < 90 * MEGABYTE < peaks.largest_child


def test_a_process_that_has_ended_takes_nothing() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        pass
    assert (peak_of(process.pid), list(descendants(process.pid))) == (0, [])


@pytest.mark.parametrize(("name", "counted"), [("another", False), ("app.ingestion.parsing.nursery", True)])
def test_a_process_that_runs_no_program_of_its_own_is_only_counted_when_it_never_will(
    name: str, *, counted: bool
) -> None:
    process = subprocess.Popen([sys.executable, "-c", FORK, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    with process:
        child = int(process.stdout.readline())
        assert peak_of(child) > 0
        assert list(descendants(process.pid)) == [child] * counted
        process.stdin.close()
