"""The settings that the parts get, named as in `app.core.config`."""

import os
from collections.abc import Mapping

from app.embedded.home import Home
from app.embedded.idp import IdpAddress
from app.embedded.options import EmbeddedOptions
from app.embedded.ports import LOOPBACK
from app.embedded.postgres import APP, OWNER, PostgresAddress
from app.embedded.redis import RedisAddress

_EVERY_ADDRESS = {"0.0.0.0", "::", ""}  # noqa: S104 - compared, never bound to


def api_host(options: EmbeddedOptions) -> str:
    """Return the host under which this machine reaches the api."""
    return LOOPBACK if options.host in _EVERY_ADDRESS else options.host


def api_address(options: EmbeddedOptions) -> str:
    """Return the address of the api as a browser on this machine types it."""
    host = api_host(options)
    return f"http://[{host}]:{options.port}" if ":" in host else f"http://{host}:{options.port}"


def web_origins(options: EmbeddedOptions) -> list[str]:
    """Return the origins under which the web app may be opened."""
    names = (api_address(options), f"http://{LOOPBACK}:{options.port}", f"http://localhost:{options.port}")
    return list(dict.fromkeys(names))


def service_settings(
    options: EmbeddedOptions,
    home: Home,
    *,
    postgres: PostgresAddress,
    cache: RedisAddress,
    limits: RedisAddress,
    idp: IdpAddress,
) -> dict[str, str]:
    """Return the settings of api and worker."""
    return {
        "DATABASE_URL": postgres.url(APP),
        "REDIS_CACHE_URL": cache.url,
        "REDIS_LIMITS_URL": limits.url,
        "OIDC_ISSUER": idp.issuer,
        "OIDC_JWKS_URL": idp.jwks_url,
        "BLOB_PATH": str(home.blobs),
        "MODEL_PATH": os.environ.get("MODEL_PATH") or str(home.models),
        "HOST": options.host,
        "PORT": str(options.port),
        "GROUNDEDDOCS_HOME": str(home.root),
    }


def migration_settings(postgres: PostgresAddress) -> dict[str, str]:
    """Return what only migrations get: the role that owns the tables."""
    return {"MIGRATIONS_DATABASE_URL": postgres.url(OWNER)}


def process_environment(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the whole environment of a Python part; what the operator set besides, such as keys, goes along."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    return {**ours, "PYTHONUNBUFFERED": "1", **settings}
