"""A database and the product's services for a run: an embedded one that is thrown away, or the one of DATABASE_URL."""

import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from app.bootstrap import Services, build_services
from app.core.config import Settings
from app.db.migrate import upgrade
from app.embedded.account import postgres_account
from app.embedded.home import prepare_home
from app.embedded.options import EmbeddedOptions
from app.embedded.passwords import load_passwords
from app.embedded.postgres import APP, OWNER, EmbeddedPostgres, provision
from app.embedded.programs import find_postgres

_ROLES = Path(__file__).resolve().parent.parent / "migrations" / "roles.sql"
# Nothing of a run talks to Redis or to an identity provider; the settings want an address all the same.
_NOWHERE = "redis://127.0.0.1:1/0"
_NO_ISSUER = "https://identity.invalid"


@asynccontextmanager
async def running_services(model_threads: int = 1) -> AsyncIterator[Services]:
    """Give the services on a migrated database; an embedded one and all stored files are removed afterwards."""
    with _folder() as folder, _database(folder) as database_url:
        settings = Settings(
            database_url=database_url,
            redis_cache_url=_NOWHERE,
            redis_limits_url=_NOWHERE,
            oidc_issuer=_NO_ISSUER,
            blob_path=folder / "files",
            model_path=EmbeddedOptions().groundeddocs_home / "models",
            embedding_threads=model_threads,
        )
        async with build_services(settings) as services:
            yield services


@contextmanager
def _folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="groundeddocs-evals-"))
    folder.chmod(0o711)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


@contextmanager
def _database(folder: Path) -> Iterator[str]:
    if given := os.environ.get("DATABASE_URL"):
        yield given
        return
    account = postgres_account()
    home = prepare_home(folder / "home", account)
    server = EmbeddedPostgres(
        find_postgres(EmbeddedOptions()),
        home.postgres,
        load_passwords(home),
        home.logs / "postgres.log",
        account,
        durable=False,
    )
    address = server.start()
    try:
        provision(address, _ROLES)
        upgrade(address.url(OWNER).replace("postgresql://", "postgresql+psycopg://", 1))
        yield address.url(APP)
    finally:
        server.stop()
