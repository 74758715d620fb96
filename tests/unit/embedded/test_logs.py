import json

from app.embedded.logs import telling


def entry(level: str, event: str) -> str:
    return json.dumps({"event": event, "level": level})


def test_lines_that_say_that_all_is_well_are_left_out() -> None:
    warning, error = entry("warning", "slow"), entry("error", "lost")
    assert telling([entry("info", "worker.ready"), warning, entry("debug", "x"), error, ""]) == [warning, error]


def test_lines_that_are_not_json_are_kept() -> None:
    lines = ["Traceback (most recent call last):", "ValueError: no", "5", '{"other": 1}']
    assert telling(lines) == lines


def test_only_the_last_five_lines_are_told() -> None:
    assert telling([f"line {n}" for n in range(9)]) == [f"line {n}" for n in range(4, 9)]
