from pathlib import Path

import pytest
from rich.console import Console

from app.embedded.lock import Instance
from app.embedded.report import Report


def summary_at(address: str, capsys: pytest.CaptureFixture[str]) -> str:
    report = Report(Console(highlight=False, soft_wrap=True, no_color=True))
    report.ready(Instance(1, address, "http://127.0.0.1:9180", {}), Path("/data"), Path("/data/logs"), 1.0)
    return capsys.readouterr().out


def test_another_address_is_exported_before_the_commands_that_need_it(capsys: pytest.CaptureFixture[str]) -> None:
    told = summary_at("http://127.0.0.1:8090", capsys)
    export = told.index("  export GROUNDEDDOCS_URL=http://127.0.0.1:8090\n")
    assert export < told.index("  groundeddocs token alice --save")


def test_default_address_needs_no_export(capsys: pytest.CaptureFixture[str]) -> None:
    assert "export" not in summary_at("http://127.0.0.1:8080", capsys)
