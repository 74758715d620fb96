import pytest
from pydantic import ValidationError

from app.cli.faults import describe
from app.core.config import Settings


def error_of(**given: object) -> ValidationError:
    with pytest.raises(ValidationError) as caught:
        Settings.model_validate(given)
    return caught.value


@pytest.fixture(autouse=True)
def empty_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in Settings.model_fields:
        monkeypatch.delenv(name.upper(), raising=False)


def test_each_missing_variable_is_named_with_its_purpose() -> None:
    told = describe(error_of(), Settings)
    for name in ("database_url", "redis_cache_url", "redis_limits_url", "oidc_issuer"):
        assert f"{name.upper()}: {Settings.model_fields[name].description}" in told


def test_wrong_value_is_named_and_never_shown() -> None:
    told = describe(error_of(database_url="mysql://user:hunter2@host", max_pages="hunter2"), Settings)
    assert "DATABASE_URL" in told
    assert "must start with postgresql://." in told
    assert "MAX_PAGES" in told
    assert "hunter2" not in told
