from pathlib import Path

import pytest

from bench.__main__ import _arguments, _chosen, main
from bench.catalogue import MEASUREMENTS
from bench.runs import Options

NAMES = [measurement.name for measurement in MEASUREMENTS]


def test_without_names_everything_is_measured_that_needs_no_folder_or_has_one(tmp_path: Path) -> None:
    without = [each.name for each in _chosen([], Options(quick=True))]
    assert "files" not in without
    assert [each.name for each in _chosen([], Options(quick=True, data=tmp_path))] == NAMES
    assert [each.name for each in _chosen(["files", "ask"], Options(quick=True))] == ["ask", "files"]


@pytest.mark.parametrize("wrong", [["speed"], ["ask", "--data", "/no/such/folder"]])
def test_what_cannot_be_measured_is_refused_before_anything_starts(
    wrong: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["bench", *wrong])
    with pytest.raises(SystemExit) as ended:
        _arguments()
    assert ended.value.code == 2
    assert "there is no speed" in (told := capsys.readouterr().err) or "is no folder" in told


def test_a_measurement_that_lacks_its_folder_fails_the_run_with_its_reason(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["bench", "files"])
    assert main() == 1
    assert "BROKE: name a folder" in capsys.readouterr().out
