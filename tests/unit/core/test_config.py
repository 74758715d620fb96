from typing import Any

import pytest
from pydantic import SecretStr, ValidationError

from app.core.config import Settings

REQUIRED = {
    "database_url": "postgresql://app@127.0.0.1/none",
    "redis_cache_url": "redis://127.0.0.1:1",
    "redis_limits_url": "redis://127.0.0.1:2",
    "oidc_issuer": "https://issuer.test",
}


@pytest.fixture(autouse=True)
def empty_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in Settings.model_fields:
        monkeypatch.delenv(name.upper(), raising=False)


def settings(**given: Any) -> Settings:
    return Settings.model_validate(REQUIRED | given)


def wrong(**given: Any) -> list[tuple[str, str]]:
    with pytest.raises(ValidationError) as caught:
        settings(**given)
    return [(str(each["loc"][0]), each["msg"]) for each in caught.value.errors()]


def test_there_is_no_reranker_unless_one_is_set() -> None:
    assert settings().rerank_url == ""
    assert settings(rerank_url=" ", rerank_model="", rerank_api_key="").rerank_url == ""


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ("https://api.jina.ai/v1/rerank", "https://api.jina.ai/v1/rerank"),
        (" http://127.0.0.1:8080/rerank\n", "http://127.0.0.1:8080/rerank"),
        ("http://[::1]:8080/rerank", "http://[::1]:8080/rerank"),
        ("https://host/rerank?api-version=1", "https://host/rerank?api-version=1"),
    ],
)
def test_a_reranker_has_an_http_address(given: str, used: str) -> None:
    assert settings(rerank_url=given).rerank_url == used


@pytest.mark.parametrize("given", ["ftp://host/rerank", "host/rerank", "/rerank", "https://", "http://host:99999/"])
def test_another_address_of_a_reranker_is_refused(given: str) -> None:
    assert wrong(rerank_url=given) == [
        ("rerank_url", "Value error, must be an address that starts with http:// or https://")
    ]


@pytest.mark.parametrize(
    "given", ["https://user@host/", "https://user:word@host/", "https://:word@host/", "http://h/#a"]
)
def test_an_address_with_a_secret_in_it_is_refused(given: str) -> None:
    assert wrong(rerank_url=given, rerank_model="m") == [
        ("rerank_url", "Value error, must hold no user, no password and no #")
    ]


def test_a_key_is_kept_secret_and_may_end_with_its_line() -> None:
    found = settings(rerank_url="https://host/rerank", rerank_api_key="rk-1\n").rerank_api_key
    assert found == SecretStr("rk-1")
    assert "rk-1" not in repr(found)


@pytest.mark.parametrize("given", ["two words", "r\u00e9", "a\nb", "a\x00", "\u200b"])
def test_a_key_that_no_header_can_hold_is_refused(given: str) -> None:
    assert wrong(rerank_url="https://host/rerank", rerank_api_key=given) == [
        ("rerank_api_key", "Value error, must be one word of printable ASCII characters")
    ]


@pytest.mark.parametrize("name", ["rerank_model", "rerank_api_key"])
def test_what_belongs_to_a_reranker_needs_its_address(name: str) -> None:
    assert wrong(**{name: "given"}) == [(name, "Value error, needs RERANK_URL too")]


@pytest.mark.parametrize("seconds", ["0", "-1", "61", "nan", "inf", "soon"])
def test_the_wait_for_a_reranker_is_bounded(seconds: str) -> None:
    assert [name for name, _ in wrong(rerank_timeout_seconds=seconds)] == ["rerank_timeout_seconds"]
