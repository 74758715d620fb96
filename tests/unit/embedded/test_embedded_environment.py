from pathlib import Path

import pytest

from app.core.config import Settings
from app.embedded.environment import api_address, migration_settings, process_environment, service_settings, web_origins
from app.embedded.home import Home
from app.embedded.idp import IdpAddress
from app.embedded.options import EmbeddedOptions
from app.embedded.passwords import Passwords
from app.embedded.postgres import PostgresAddress
from app.embedded.redis import RedisAddress

POSTGRES = PostgresAddress(5432, Passwords())


def settings() -> dict[str, str]:
    return service_settings(
        EmbeddedOptions(),
        Home(Path("/data")),
        postgres=POSTGRES,
        cache=RedisAddress(1, "cache"),
        limits=RedisAddress(2, "limits"),
        idp=IdpAddress(9180),
    )


def test_the_service_accepts_the_settings_and_uses_the_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MODEL_PATH", raising=False)
    for name, value in settings().items():
        monkeypatch.setenv(name, value)
    accepted = Settings()
    assert "groundeddocs_app:" in accepted.database_url.get_secret_value()
    assert accepted.oidc_issuer == "http://127.0.0.1:9180"
    assert (accepted.blob_path, accepted.model_path) == (Path("/data/blobs"), Path("/data/models"))


def test_the_service_does_not_get_the_owner_or_the_superuser() -> None:
    words = POSTGRES.passwords
    assert not {words.owner, words.superuser} & set(
        " ".join(settings().values()).replace(":", " ").replace("@", " ").split()
    )
    assert words.owner in migration_settings(POSTGRES)["MIGRATIONS_DATABASE_URL"]


def test_keys_of_the_operator_go_along_and_other_databases_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "kept")
    monkeypatch.setenv("PGPASSWORD", "dropped")
    monkeypatch.setenv("DATABASE_URL", "postgresql://elsewhere")
    given = process_environment(settings())
    assert given["OPENAI_API_KEY"] == "kept"
    assert "PGPASSWORD" not in given
    assert given["DATABASE_URL"] == settings()["DATABASE_URL"]


@pytest.mark.parametrize(
    ("host", "address"),
    [("127.0.0.1", "http://127.0.0.1:8080"), ("::", "http://127.0.0.1:8080"), ("::1", "http://[::1]:8080")],
)
def test_the_address_is_one_that_a_browser_on_this_machine_opens(host: str, address: str) -> None:
    assert api_address(EmbeddedOptions(host=host)) == address


def test_the_web_app_may_be_opened_by_name_and_by_number() -> None:
    assert web_origins(EmbeddedOptions(port=81)) == ["http://127.0.0.1:81", "http://localhost:81"]
