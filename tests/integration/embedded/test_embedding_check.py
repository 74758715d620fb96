"""What `doctor` says of an embedding model that runs elsewhere."""

from pathlib import Path

import pytest

from app.core.config import Settings
from app.embedded.doctor import Check, Health, examine
from app.embedded.embedding import EmbeddingOptions
from app.embedded.options import EmbeddedOptions
from tests.support.embedding_server import KEY, MODEL, OWN_DIMENSION, EmbeddingServer

NAMES = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "EMBEDDING_MODEL", "EMBEDDING_DIMENSION")


def finding(monkeypatch: pytest.MonkeyPatch, home: Path, **environment: str) -> Check:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    (found,) = (
        check for check in examine(EmbeddedOptions(groundeddocs_home=home)) if check.name == "embedding service"
    )
    return found


def test_the_local_model_needs_no_service(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    check = finding(monkeypatch, tmp_path)
    assert (check.health, check.remedy) == (Health.OK, "")


def test_a_model_that_answers_is_told_with_its_length(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with EmbeddingServer() as server:
        check = finding(monkeypatch, tmp_path, OPENAI_API_KEY=KEY, OPENAI_BASE_URL=server.url, EMBEDDING_MODEL=MODEL)
    assert (check.health, check.detail) == (Health.OK, f"{MODEL} answers with vectors of {OWN_DIMENSION} numbers")


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({"OPENAI_API_KEY": "sk-another"}, "OPENAI_API_KEY"),
        ({"EMBEDDING_MODEL": "another"}, "EMBEDDING_MODEL"),
        ({"EMBEDDING_DIMENSION": "16"}, "set it to 48 or to 0"),
        ({"EMBEDDING_DIMENSION": "many"}, "Set it right"),
        ({"OPENAI_API_KEY": "", "OPENAI_BASE_URL": ""}, "Set OPENAI_API_KEY"),
    ],
)
def test_a_model_that_cannot_be_used_fails_with_what_to_set(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, environment: dict[str, str], words: str
) -> None:
    with EmbeddingServer(shortens=None) as server:
        right = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": server.url, "EMBEDDING_MODEL": MODEL}
        check = finding(monkeypatch, tmp_path, **(right | environment))
    assert check.health is Health.FAIL
    assert words in check.remedy
    assert "sk-" not in check.detail + check.remedy


def test_a_model_that_is_away_is_a_warning(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    check = finding(monkeypatch, tmp_path, OPENAI_BASE_URL="http://127.0.0.1:9/v1", EMBEDDING_MODEL=MODEL)
    assert check.health is Health.WARN
    assert "out of reach" in check.detail
    assert check.remedy


def test_its_options_are_settings_of_the_services() -> None:
    for name, info in EmbeddingOptions.model_fields.items():
        field = Settings.model_fields[name]
        assert (field.annotation, field.default, field.metadata) == (info.annotation, info.default, info.metadata)
