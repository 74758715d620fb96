"""What a run attacks: real servers in a folder that is thrown away, and the service's own API on a loopback port."""

import asyncio
import contextlib
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import uvicorn
from pydantic import SecretStr

from adversarial.issuer import ISSUER, JWKS_URL, Issuer
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
from app.embedded.passwords import load_passwords
from app.embedded.postgres import APP, OWNER, SUPERUSER, EmbeddedPostgres, PostgresAddress, provision
from app.embedded.programs import find_postgres, find_redis
from app.embedded.redis import EmbeddedRedis, RedisKind
from app.ingestion.parsing.isolation import IsolatedParser
from app.llm.embedders import Embedders
from app.llm.embeddings import LocalEmbedder
from app.redis.client import connect

UPLOAD_LIMIT = 2 * 1024 * 1024
_ROLES = Path(__file__).resolve().parent.parent / "migrations" / "roles.sql"


@dataclass(frozen=True, slots=True)
class Servers:
    """Running servers, and the model.

    Attributes:
        app_url: The database as the role that row-level security binds.
        superuser_url: The database as a role that nothing binds: to look after an attack, and to break the service.
    """

    app_url: str
    superuser_url: str
    redis_cache_url: str
    redis_limits_url: str
    files: Path
    embedders: Embedders


@contextlib.contextmanager
def running_servers() -> Iterator[Servers]:
    """Start Postgres and two Redis, load the model; stop and remove everything afterwards."""
    with contextlib.ExitStack() as stack:
        home = stack.enter_context(_home())
        options, passwords = EmbeddedOptions(), load_passwords(home)
        log, account = home.logs / "postgres.log", postgres_account()
        postgres = EmbeddedPostgres(find_postgres(options), home.postgres, passwords, log, account, durable=False)
        stack.callback(postgres.stop)
        address = postgres.start()
        provision(address, _ROLES)
        upgrade(_url(address, OWNER))
        cache = _redis(stack, home, RedisKind.CACHE, home.redis_cache, passwords.redis_cache)
        limits = _redis(stack, home, RedisKind.LIMITS, home.redis_limits, passwords.redis_limits)
        embedder = LocalEmbedder.load(options.groundeddocs_home / "models", 1)
        stack.callback(embedder.close)
        yield Servers(_url(address, APP), _url(address, SUPERUSER), cache, limits, home.blobs, Embedders(embedder))


@dataclass(frozen=True, slots=True)
class Service:
    """A running API with the services behind it."""

    services: Services
    issuer: Issuer
    host: str
    port: int


@contextlib.asynccontextmanager
async def running_service(servers: Servers, *, unbound: bool = False) -> AsyncIterator[Service]:
    """Serve the API on a free loopback port.

    Args:
        servers: What it works with.
        unbound: Whether it connects as a superuser, which start-up would refuse: only to prove that cases notice.
    """
    settings = Settings(
        database_url=SecretStr(servers.superuser_url if unbound else servers.app_url),
        redis_cache_url=SecretStr(servers.redis_cache_url),
        redis_limits_url=SecretStr(servers.redis_limits_url),
        blob_path=servers.files,
        oidc_issuer=ISSUER,
        max_upload_bytes=UPLOAD_LIMIT,
        parse_seconds=20,
    )
    async with contextlib.AsyncExitStack() as stack:
        issuer = Issuer()
        engine = create_engine(settings.database_url.get_secret_value(), pool_size=5)
        stack.push_async_callback(engine.dispose)
        redis = connect(servers.redis_cache_url, servers.redis_limits_url)
        stack.push_async_callback(redis.aclose)
        transport = httpx.MockTransport(issuer.answer)
        http = await stack.enter_async_context(httpx.AsyncClient(transport=transport))
        keys = JwksCache(http, issuer=ISSUER, jwks_url=JWKS_URL, algorithms=settings.oidc_algorithms)
        stack.push_async_callback(keys.aclose)
        parser = IsolatedParser()
        stack.push_async_callback(parser.aclose)
        services = compose_services(settings, Database(engine), redis, keys, servers.embedders, parser=parser)
        port = await stack.enter_async_context(_served(services))
        yield Service(services, issuer, "127.0.0.1", port)


class _Server(uvicorn.Server):
    """Leaves the signals of this process alone: Ctrl-C ends the run."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@contextlib.asynccontextmanager
async def _served(services: Services) -> AsyncIterator[int]:
    config = uvicorn.Config(
        create_app(services),
        host="127.0.0.1",
        port=0,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=2,
    )
    server = _Server(config)
    running = asyncio.create_task(server.serve())
    try:
        while not server.started:  # noqa: ASYNC110 (uvicorn has no event for it)
            await asyncio.sleep(0.01)
        yield int(server.servers[0].sockets[0].getsockname()[1])
    finally:
        server.should_exit = True
        await running


@contextlib.contextmanager
def _home() -> Iterator[Home]:
    folder = Path(tempfile.mkdtemp(prefix="groundeddocs-adversarial-"))
    folder.chmod(0o711)
    try:
        yield prepare_home(folder / "home", postgres_account())
    finally:
        shutil.rmtree(folder)


def _redis(stack: contextlib.ExitStack, home: Home, kind: RedisKind, folder: Path, password: str) -> str:
    server = EmbeddedRedis(kind, find_redis(EmbeddedOptions()), folder, password, home.logs / f"{kind.value}.log")
    stack.callback(server.stop)
    return server.start().url


def _url(address: PostgresAddress, role: str) -> str:
    return address.url(role).replace("postgresql://", "postgresql+psycopg://", 1)
