"""The OpenAPI document without a running service: the application is put together and nothing is connected."""

import json
import pkgutil
from dataclasses import dataclass

from pydantic import SecretStr

from app.core.config import Settings
from app.db.engine import create_engine
from app.db.session import Database
from app.redis.client import RedisClients, connect

# Never connected to; `.invalid` never resolves (RFC 2606).
_DATABASE_URL = "postgresql+psycopg://nobody@nowhere.invalid/none"
_REDIS_URL = "redis://nowhere.invalid"
_ISSUER = "https://nowhere.invalid"


class _NoModels:
    """Stands where the embedding models are, whose weights a description does not need."""

    async def check(self) -> None:
        """Is never called."""


@dataclass(frozen=True, slots=True)
class _Unconnected:
    """What the application looks at while it is put together."""

    settings: Settings
    database: Database
    redis: RedisClients
    embedders: _NoModels


def document() -> str:
    """Return the document as JSON: the same bytes for the same code."""
    settings = Settings(
        database_url=SecretStr(_DATABASE_URL),
        redis_cache_url=SecretStr(_REDIS_URL),
        redis_limits_url=SecretStr(_REDIS_URL),
        oidc_issuer=_ISSUER,
    )
    database = Database(create_engine(_DATABASE_URL, pool_size=1))
    services = _Unconnected(settings, database, connect(_REDIS_URL, _REDIS_URL), _NoModels())
    api = pkgutil.resolve_name("app.api.main:create_app")(services)
    return json.dumps(api.openapi(), indent=2, sort_keys=True)
