"""Real servers for integration tests: one Postgres and two Redis for each test process."""

import contextlib
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from uuid import uuid4

import httpx
import pytest
from fastapi import FastAPI
from pydantic import SecretStr

from app.api.main import create_app
from app.auth.jwks import JwksCache
from app.bootstrap import Services, compose_services
from app.core.config import Settings
from app.db.engine import create_engine
from app.db.migrate import upgrade
from app.db.session import Database
from app.embedded.account import postgres_account
from app.embedded.home import Home, prepare_home
from app.embedded.options import EmbeddedOptions
from app.embedded.passwords import Passwords, load_passwords
from app.embedded.postgres import APP, AUDITOR, OWNER, SUPERUSER, EmbeddedPostgres, PostgresAddress, provision
from app.embedded.programs import find_postgres, find_redis, find_redisearch
from app.embedded.redis import EmbeddedRedis, RedisKind
from app.ingestion.parsing.isolation import IsolatedParser
from app.llm.embedders import Embedders
from app.redis.client import connect
from tests.support.api import Caller
from tests.support.databases import DatabaseUrls, sqlalchemy_url
from tests.support.embedder import HashEmbedder
from tests.support.issuer import ISSUER, Issuer
from tests.support.tenants import Tenants


def quick_place() -> Path | None:
    """Return a folder in memory where there is a large one, since servers that start and stop wait for the disk."""
    memory = Path("/dev/shm")  # noqa: S108 - only for throw-away data, in a folder with a random name
    return memory if memory.is_dir() and shutil.disk_usage(memory).free > 2 * 1024**3 else None


@contextlib.contextmanager
def empty_home() -> Iterator[Home]:
    """Make a data folder; not below pytest's own, which is closed to the account that runs Postgres."""
    folder = Path(tempfile.mkdtemp(prefix="groundeddocs-test-", dir=quick_place()))
    folder.chmod(0o711)
    try:
        yield prepare_home(folder / "home", postgres_account())
    finally:
        shutil.rmtree(folder)


@pytest.fixture(scope="session")
def embedded_home() -> Iterator[Home]:
    """The data folder that the servers of a test process share."""
    with empty_home() as home:
        yield home


@pytest.fixture(scope="session")
def cluster_template(embedded_home: Home, embedded_passwords: Passwords) -> Path:
    """A stopped cluster to copy, since making one takes ten times as long."""
    folder = embedded_home.postgres / "template"
    folder.mkdir()
    if account := postgres_account():
        shutil.chown(folder, account.uid, account.gid)
    log = embedded_home.logs / "template.log"
    server = EmbeddedPostgres(
        find_postgres(EmbeddedOptions()), folder, embedded_passwords, log, postgres_account(), durable=False
    )
    server.start()
    server.stop()
    return server.data


@pytest.fixture
def fresh_home(embedded_home: Home, cluster_template: Path) -> Iterator[Home]:
    """A data folder for one test that stops and breaks its servers; it holds an empty cluster."""
    with empty_home() as home:
        subprocess.run(["/bin/cp", "-a", cluster_template, home.postgres / "data"], check=True)
        shutil.copytree(embedded_home.secrets, home.secrets, dirs_exist_ok=True)
        yield home


@pytest.fixture(scope="session")
def embedded_passwords(embedded_home: Home) -> Passwords:
    return load_passwords(embedded_home)


@pytest.fixture(scope="session")
def postgres_server(embedded_home: Home, embedded_passwords: Passwords) -> Iterator[PostgresAddress]:
    """A running Postgres with the empty database `groundeddocs`; it forgets everything on a crash."""
    programs, log = find_postgres(EmbeddedOptions()), embedded_home.logs / "postgres.log"
    folder, account = embedded_home.postgres, postgres_account()
    server = EmbeddedPostgres(programs, folder, embedded_passwords, log, account, durable=False)
    try:
        yield server.start()
    finally:
        server.stop()


@pytest.fixture(scope="session")
def superuser_url(postgres_server: PostgresAddress) -> str:
    return postgres_server.url()


@pytest.fixture(scope="session")
def redis_cache_url(embedded_home: Home, embedded_passwords: Passwords) -> Iterator[str]:
    """A running Redis that evicts, with the query engine where this platform has it."""
    options, log = EmbeddedOptions(), embedded_home.logs / "redis-cache.log"
    folder, password, module = embedded_home.redis_cache, embedded_passwords.redis_cache, find_redisearch(options)
    server = EmbeddedRedis(RedisKind.CACHE, find_redis(options), folder, password, log, module=module)
    try:
        yield server.start().url
    finally:
        server.stop()


@pytest.fixture(scope="session")
def redis_limits_url(embedded_home: Home, embedded_passwords: Passwords) -> Iterator[str]:
    """A running Redis that never evicts."""
    log, password = embedded_home.logs / "redis-limits.log", embedded_passwords.redis_limits
    program = find_redis(EmbeddedOptions())
    server = EmbeddedRedis(RedisKind.LIMITS, program, embedded_home.redis_limits, password, log)
    try:
        yield server.start().url
    finally:
        server.stop()


@pytest.fixture(scope="session")
def database_urls(postgres_server: PostgresAddress) -> DatabaseUrls:
    """A database of this test process: roles made, schema migrated by the owner role."""
    provision(postgres_server, Path(__file__).parents[2] / "migrations" / "roles.sql")
    urls = {role: sqlalchemy_url(postgres_server.url(role)) for role in (SUPERUSER, OWNER, APP, AUDITOR)}
    upgrade(urls[OWNER])
    return DatabaseUrls(superuser=urls[SUPERUSER], owner=urls[OWNER], app=urls[APP], auditor=urls[AUDITOR])


@pytest.fixture(scope="session")
def app_url(database_urls: DatabaseUrls) -> str:
    return database_urls.app


@pytest.fixture(scope="session")
def owner_url(database_urls: DatabaseUrls) -> str:
    return database_urls.owner


@pytest.fixture(scope="session")
async def database(app_url: str) -> AsyncIterator[Database]:
    """The service's own pool, as the role that row-level security binds."""
    engine = create_engine(app_url, pool_size=10)
    yield Database(engine)
    await engine.dispose()


@pytest.fixture(scope="session")
def issuer() -> Issuer:
    return Issuer()


@pytest.fixture(scope="session")
def settings(
    app_url: str, redis_cache_url: str, redis_limits_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Settings:
    return Settings(
        database_url=SecretStr(app_url),
        redis_cache_url=SecretStr(redis_cache_url),
        redis_limits_url=SecretStr(redis_limits_url),
        blob_path=tmp_path_factory.mktemp("blobs"),
        oidc_issuer=ISSUER,
        max_upload_bytes=4 * 1024 * 1024,
    )


@pytest.fixture(scope="session")
async def services(settings: Settings, database: Database, issuer: Issuer) -> AsyncIterator[Services]:
    """The product's own composition, with an identity provider in this process and an embedder without a model."""
    transport = httpx.MockTransport(lambda _: httpx.Response(200, json=issuer.jwk_set()))
    redis = connect(settings.redis_cache_url.get_secret_value(), settings.redis_limits_url.get_secret_value())
    async with httpx.AsyncClient(transport=transport) as http:
        keys = JwksCache(http, issuer=ISSUER, jwks_url=f"{ISSUER}/jwks", algorithms=settings.oidc_algorithms)
        async with contextlib.aclosing(IsolatedParser()) as parser:
            yield compose_services(settings, database, redis, keys, Embedders(HashEmbedder()), parser=parser)
        await keys.aclose()
    await redis.aclose()


@pytest.fixture(scope="session")
def tenants(services: Services) -> Tenants:
    """Makes users and workspaces."""
    return Tenants(services.workspaces)


@pytest.fixture(scope="session")
def api(services: Services) -> FastAPI:
    return create_app(services)


@pytest.fixture(scope="session")
async def client(api: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the application in this process."""
    async with httpx.AsyncClient(transport=httpx.ASGITransport(api), base_url="http://api.test") as client:
        yield client


@pytest.fixture
def caller(client: httpx.AsyncClient, issuer: Issuer) -> Caller:
    """Somebody whom the service has never seen, with a valid token."""
    return Caller(client, issuer, f"user-{uuid4()}")
