import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bench.figures import Figure, at_least
from bench.report import print_result, print_summary, write_json
from bench.runs import Measured, Options, Result

GOOD = Result("speed", 3.0, 0.5, 1.5, Measured((Figure("pages", (9.0,), "pages/s", at_least(8)),), ("a note",)))
BAD = Result("slow", 3.0, 0.5, 1.5, Measured((Figure("pages", (7.0,), "pages/s", at_least(8)),)))
BROKEN = Result("odd", 1.0, 0.5, 0.5, None, "no such folder")
PLAIN = Result("plain", 1.0, 0.5, 0.5, Measured((Figure("pages", (1.0,)),)))


def test_a_result_holds_when_it_ended_and_no_bar_is_missed() -> None:
    assert [result.holds for result in (GOOD, BAD, BROKEN, PLAIN)] == [True, False, False, True]


def test_a_printed_result_tells_load_cores_figures_and_why_it_broke(capsys: pytest.CaptureFixture[str]) -> None:
    for result in (GOOD, BROKEN):
        print_result(result)
    print_summary([GOOD, BAD, BROKEN])
    printed = capsys.readouterr().out
    assert "speed: 3 s, load 0.50 to 1.50 on " in printed
    assert "pages: 9 pages/s [bar >= 8: holds]" in printed
    assert "a note" in printed
    assert "BROKE: no such folder" in printed
    assert "Not held: slow, odd" in printed


def test_the_json_report_has_the_machine_and_every_sample(tmp_path: Path) -> None:
    path = tmp_path / "bench.json"
    empty = Result("none", 1.0, 0.5, 0.5, Measured((Figure("pages", (), bar=at_least(1)),)))
    write_json(path, [GOOD, BROKEN, empty], Options(quick=True), datetime(2026, 1, 1, tzinfo=UTC))
    document = json.loads(path.read_text())
    assert (document["quick"], document["holds"], document["machine"]["cores"] > 0) == (True, False, True)
    good, broken, none = document["measurements"]
    assert good["figures"][0]["samples"] == [9.0]
    assert good["figures"][0]["bar"] == {"sense": ">=", "limit": 8}
    assert broken["error"] == "no such folder"
    assert (none["figures"][0]["median"], none["figures"][0]["holds"]) == (None, False)
