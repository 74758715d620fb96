import io
from pathlib import Path

import pytest
from rich.console import Console

from app.cli import output
from app.cli.files import LocalFile
from app.cli.overview import Overview
from app.cli.progress import BarProgress, LineProgress, all_words, upload_progress

FILES = [LocalFile(Path(f"{n}.txt"), f"{n}.txt") for n in range(20)]


def document(status: str, done: int = 0, total: int = 0, estimate: int | None = None) -> dict[str, object]:
    return {"status": status, "done": done, "total": total, "estimate_seconds": estimate}


def overview(count: int = len(FILES)) -> Overview:
    return Overview({file.name: 100 for file in FILES[:count]}, 0.0)


def test_lines_tell_each_stage_and_only_now_and_then_what_is_done_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    now = [0.0]
    progress = LineProgress(overview(3), lambda: now[0])
    progress.sending(FILES[0])
    for done in range(100):
        now[0] += 0.5
        progress.status(FILES[0], document("embedding", done, 100))
    progress.status(FILES[0], document("ready"))
    progress.status(FILES[1], document("failed"))
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "0.txt: sending"
    assert lines[1] == "0.txt: making it searchable 0/100"
    assert lines[2] == "0.txt: making it searchable 20/100"
    singly = [line for line in lines if not line.startswith("All files")]
    assert len(singly) == 6  # the end is a result, and is printed once
    assert not [line for line in lines if "ready" in line or "failed" in line]


def test_of_many_files_only_all_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    now = [0.0]
    progress = LineProgress(overview(), lambda: now[0])
    for file in FILES:
        progress.sending(file)
        progress.accepted(file)
        for status in ("queued", "parsing", "embedding"):
            progress.status(file, document(status))
    assert capsys.readouterr().err == ""
    now[0] = 40
    progress.status(FILES[0], document("embedding", 1, 2))
    assert capsys.readouterr().err.startswith("All files: 0 of 20")


def test_a_program_is_shown_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with upload_progress(overview(2), live=False, silent=True) as progress:
        for tell in (progress.sending, progress.unsent, progress.accepted, progress.following, progress.left):
            tell(FILES[0])
        progress.status(FILES[0], document("parsing"))
        progress.finished(FILES[0], failed=True, at_once=False)
        progress.say("something")
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")


def test_lines_tell_now_and_then_how_far_all_are(capsys: pytest.CaptureFixture[str]) -> None:
    now = [0.0]
    progress = LineProgress(overview(), lambda: now[0])
    for file in FILES:
        now[0] += 20
        progress.finished(file, failed=file is FILES[0], at_once=False)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "All files: 2 of 20, 1 failed, about 6 minutes left"
    assert len(lines) == 9


def test_bars_show_a_handful_and_count_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = io.StringIO()
    monkeypatch.setattr(output, "err", lambda: Console(file=drawn, force_terminal=True, width=120, height=50))
    progress = BarProgress(overview())
    with progress:
        for file in FILES[:15]:
            progress.sending(file)
            progress.accepted(file)
            progress.following(file)
        progress.status(FILES[0], document("embedding", 10, 100, estimate=200))
        progress.status(FILES[14], document("embedding", 10, 100))
        assert len(progress._bars.tasks) == 7
        assert progress._bars.tasks[0].fields["words"].endswith("; 9 more under way")
        assert progress._bars.tasks[1].fields["words"] == "making it searchable 10/100, about 3 minutes left"
        for file in FILES[:15]:
            progress.left(file)
            progress.finished(file, failed=False, at_once=False)
        assert len(progress._bars.tasks) == 1
        assert progress._bars.tasks[0].completed == 15


def test_the_end_promises_no_time() -> None:
    done = Overview({"a": 1}, 0.0)
    done.finish("a", failed=False, at_once=False)
    assert all_words(done, 60.0) == "1 of 1"
