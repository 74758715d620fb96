from pathlib import Path

from app.embedded.processes import tail


def test_tail_shows_only_what_the_latest_start_wrote(tmp_path: Path) -> None:
    log = tmp_path / "part.log"
    log.write_text("=== started at A ===\nold\n=== started at B ===\nnew one\nnew two\n")
    assert tail(log) == "new one\nnew two"


def test_tail_is_cut_to_the_last_lines(tmp_path: Path) -> None:
    log = tmp_path / "part.log"
    log.write_text("=== started at A ===\n" + "".join(f"line {n}\n" for n in range(50_000)))
    assert tail(log, 2) == "line 49998\nline 49999"


def test_tail_of_a_missing_log_is_empty(tmp_path: Path) -> None:
    assert tail(tmp_path / "none.log") == ""
