import httpx
import pytest
from fastapi import FastAPI
from structlog.testing import capture_logs

from app.api.readiness import ReadinessProbe, service_checks
from app.bootstrap import Services
from app.db.engine import create_engine
from app.llm.embedders import Embedders
from app.redis.client import connect
from tests.support.api import Caller
from tests.support.databases import DatabaseUrls
from tests.support.embedder import HashEmbedder
from tests.support.issuer import AUDIENCE, ISSUER


async def test_the_service_says_what_it_is_and_what_to_do_next(client: httpx.AsyncClient) -> None:
    response = await client.get("/")
    assert response.headers["content-type"].startswith("text/plain")
    assert "groundeddocs login" in response.text


async def test_a_prepared_service_is_alive_and_ready(client: httpx.AsyncClient) -> None:
    assert (await client.get("/healthz")).status_code == 200
    response = await client.get("/readyz")
    expected = dict.fromkeys(("database_role", "schema_version", "redis_cache", "redis_limits", "embedding"), "ok")
    assert (response.status_code, response.json()) == (200, {"status": "ready", "checks": expected})


async def test_each_part_that_is_not_as_it_must_be_is_named(services: Services, database_urls: DatabaseUrls) -> None:
    settings = services.settings
    cache, limits = settings.redis_cache_url.get_secret_value(), settings.redis_limits_url.get_secret_value()
    swapped = connect(limits, cache)
    engine = create_engine(database_urls.superuser, pool_size=1)
    try:
        found = await ReadinessProbe(service_checks(engine, swapped, services.embedders)).readiness()
    finally:
        await engine.dispose()
        await swapped.aclose()
    assert not found.ready
    assert "not bound by row-level security" in found.checks["database_role"]
    assert "allkeys-lru" in found.checks["redis_cache"]
    assert "noeviction" in found.checks["redis_limits"]
    assert found.checks["schema_version"] == "ok"


async def test_parts_out_of_reach_are_named_soon() -> None:
    redis = connect("redis://127.0.0.1:1/0", "redis://127.0.0.1:1/0")
    engine = create_engine("postgresql+psycopg://nobody:x@127.0.0.1:1/none", pool_size=1)
    found = await ReadinessProbe(service_checks(engine, redis, Embedders(HashEmbedder()))).readiness()
    await engine.dispose()
    assert set(found.checks.values()) == {"The database is out of reach.", "Redis is out of reach.", "ok"}


async def test_the_public_configuration_says_where_to_sign_in(client: httpx.AsyncClient) -> None:
    config = (await client.get("/v1/config")).json()
    assert (config["issuer"], config["audience"], config["client_id"]) == (ISSUER, AUDIENCE, "groundeddocs-web")
    assert "application/pdf" in config["formats"]
    assert config["limits"]["max_upload_bytes"] == 4 * 1024 * 1024


async def test_the_openapi_document_knows_our_errors_and_stable_names(client: httpx.AsyncClient) -> None:
    document = (await client.get("/v1/openapi.json")).json()
    operations = [operation for path in document["paths"].values() for operation in path.values()]
    names = [operation["operationId"] for operation in operations]
    assert len(set(names)) == len(names)
    assert {"get_me", "create_workspace", "accept_invitation", "list_members"} <= set(names)
    assert "HTTPValidationError" not in str(document)
    assert "Problem" in document["components"]["schemas"]


async def test_every_versioned_route_but_the_public_ones_needs_a_token(api: FastAPI, client: httpx.AsyncClient) -> None:
    document = api.openapi()
    checked = 0
    for path, operations in document["paths"].items():
        if not path.startswith("/v1/") or path == "/v1/config":
            continue
        for method in operations:
            filled = path.replace("{number}", "1").replace("{", "").replace("}", "")
            response = await client.request(method, filled)
            assert response.status_code == 401, (method, path)
            checked += 1
    assert checked >= 15


@pytest.mark.parametrize("path", ["/docs", "/redoc", "/openapi.json"])
async def test_no_page_of_the_framework_is_served(client: httpx.AsyncClient, path: str) -> None:
    assert (await client.get(path)).status_code == 404


async def test_the_log_line_of_a_request_has_its_route_and_neither_query_nor_id(caller: Caller) -> None:
    owner = await caller.found()
    with capture_logs() as logs:
        response = await owner.call(
            "DELETE", "/v1/workspaces/current/members/8b7b7a0e-6f0e-4d0f-9c0b-3f1c4a7f2b61?question=private"
        )
    (line,) = [entry for entry in logs if entry["event"] == "request.done"]
    assert (line["route"], line["status"]) == ("/v1/workspaces/current/members/{user_id}", response.status_code)
    assert "private" not in str(line)
    assert "8b7b7a0e" not in str(line)
