"""A hostile name or quote must not drive the terminal of the reader."""

import io
import json
import time

import pytest
from rich.console import Console

from app.cli import output


@pytest.mark.parametrize(
    "hostile",
    [
        "\x1b[2J\x1b[H",  # clears the screen
        "\x1b]0;owned\x07",  # sets the title
        "\x1b]8;;https://evil.example\x1b\\click\x1b]8;;\x1b\\",  # makes a link
        "\x9b31m",  # the same with a C1 control
        "a\rb",  # overwrites the line
        "a\x08\x08b",
        "invoice\u202egpj.exe",  # reads backwards
        "a\u2028b",
        "\U000e0041",
        "\x7f",
        "\ud800",
    ],
)
def test_neutral_leaves_nothing_that_a_terminal_obeys(hostile: str) -> None:
    shown = output.neutral(hostile)
    assert all(char.isprintable() for char in shown)
    assert "\x1b" not in shown


def test_neutral_spells_out_what_it_replaces() -> None:
    assert output.neutral("a\x1b[31m\u202eb") == "a\\x1b[31m\\u202eb"


def test_neutral_keeps_letters_of_every_script_and_joiners() -> None:
    text = "Prüfung 第三章 مرحبا क्‍ष 👩‍🔧"
    assert output.neutral(text) == text


def test_neutral_puts_lines_and_tabs_on_one_line() -> None:
    assert output.neutral("a\nb\tc") == "a b c"


def test_neutral_lines_keeps_line_breaks_only() -> None:
    assert output.neutral_lines("a\r\nb\x1bc") == "a\nb\\x1bc"


def test_printed_text_is_neutral_and_markup_is_text(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_line("[bold]\x1b[2J[/bold] :smile: [link=http://evil.example]x[/link]")
    assert capsys.readouterr().out == "[bold]\\x1b[2J[/bold] :smile: [link=http://evil.example]x[/link]\n"


def test_table_without_a_terminal_is_whole_lines_with_tabs(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_table(("Name", "Id"), [("x" * 200, "1"), ("a\tb\nc", "2")])
    assert capsys.readouterr().out == f"Name\tId\n{'x' * 200}\t1\na b c\t2\n"


def test_table_on_a_terminal_keeps_ids_whole_and_cuts_long_names(monkeypatch: pytest.MonkeyPatch) -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=80, no_color=True)
    monkeypatch.setattr(output, "out", lambda: console)
    identifier = "11111111-1111-1111-1111-111111111111"
    output.print_table(("Name", "Id"), [("x" * 200, identifier)], whole={"Id"}, short={"Name"})
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert identifier in shown
    assert shown.count("x") == 59
    assert "…" in shown


def test_time_is_that_of_the_reader_to_the_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        assert output.local_time("2026-01-08T12:34:56.789012Z") == "2026-01-08 21:34 JST"
    finally:
        monkeypatch.undo()
        time.tzset()
    assert output.local_time("soon\x1b") == "soon\\x1b"


def test_json_is_one_ascii_line(capsys: pytest.CaptureFixture[str]) -> None:
    value = {"name": "\x1b[2J\u202eü\n"}
    output.print_json(value)
    printed = capsys.readouterr().out
    assert printed.isascii()
    assert printed.count("\n") == 1
    assert "\x1b" not in printed
    assert json.loads(printed) == value


def test_messages_go_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    output.say("one moment")
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "one moment\n")


@pytest.mark.parametrize(
    ("count", "words"), [(0, "0 B"), (999, "999 B"), (1_000, "1.0 kB"), (1_449_999, "1.4 MB"), (52_428_800, "52.4 MB")]
)
def test_size_is_told_in_words(count: int, words: str) -> None:
    assert output.size(count) == words


def test_plural_adds_an_s_except_for_one() -> None:
    assert [output.plural(n, "page") for n in (0, 1, 1_200)] == ["0 pages", "1 page", "1,200 pages"]
