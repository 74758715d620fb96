import io
import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from typing import Any

import structlog

from app.telemetry.logging import configure_logging

SECRET = "text of a document"


@contextmanager
def logged() -> Iterator[list[dict[str, Any]]]:
    """Collect the lines that a process would write; everything is as before afterwards."""
    lines: list[dict[str, Any]] = []
    handlers, level = logging.root.handlers[:], logging.root.level
    written = io.StringIO()
    with redirect_stderr(written):
        configure_logging("info")
    try:
        yield lines
    finally:
        logging.root.handlers[:] = handlers
        logging.root.setLevel(level)
        structlog.reset_defaults()
    lines += [json.loads(line) for line in written.getvalue().splitlines()]


def fail() -> None:
    known: dict[str, str] = {}
    try:
        known[SECRET]
    except KeyError as error:
        raise ValueError(f"cannot store {SECRET}") from error


def test_an_exception_is_logged_by_type_and_place_without_its_message() -> None:
    with logged() as lines:
        try:
            fail()
        except ValueError:
            structlog.get_logger("ours").exception("work.failed", attempt=1)
            logging.getLogger("theirs").exception("it failed")
    assert [line["event"] for line in lines] == ["work.failed", "it failed"]
    for line in lines:
        assert [link["type"] for link in line["error"]] == ["builtins.ValueError", "builtins.KeyError"]
        assert "test_logging.py" in line["error"][0]["at"][-1]
        assert SECRET not in json.dumps(line)


def test_libraries_that_log_addresses_are_quiet() -> None:
    with logged() as lines:
        logging.getLogger("httpx").info("GET https://idp.example/?code=secret")
        structlog.get_logger("ours").info("seen")
    assert [line["event"] for line in lines] == ["seen"]
