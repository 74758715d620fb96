"""The api and the worker do not start on a database role that row-level security does not bind."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
import sqlalchemy as sa

from app.core.config import Settings
from tests.support.databases import DatabaseUrls

ROOT = Path(__file__).parents[3]
PASSWORD = "boot-password"


@pytest.fixture(scope="module")
def unbound_urls(database_urls: DatabaseUrls) -> Iterator[dict[str, str]]:
    """Addresses of roles that must be refused, each for a reason of its own."""
    grants = {
        "bypassrls": "ALTER ROLE {0} BYPASSRLS",
        "superuser by membership": "GRANT {1} TO {0} WITH INHERIT FALSE",
        "owner by membership": "GRANT groundeddocs_owner TO {0} WITH INHERIT FALSE",
    }
    superuser = sa.make_url(database_urls.superuser)
    admin = sa.create_engine(superuser, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    urls = {"superuser": database_urls.superuser, "owner": database_urls.owner}
    made = []
    with admin.connect() as connection:
        for kind, grant in grants.items():
            name = f"boot_{uuid4().hex}"
            connection.exec_driver_sql(f"CREATE ROLE {name} LOGIN PASSWORD '{PASSWORD}'")
            connection.exec_driver_sql(grant.format(name, superuser.username))
            urls[kind] = superuser.set(username=name, password=PASSWORD).render_as_string(hide_password=False)
            made.append(name)
        yield urls
        for name in made:
            connection.exec_driver_sql(f"DROP ROLE {name}")


@pytest.mark.parametrize("command", ["serve", "worker"])
@pytest.mark.parametrize("kind", ["superuser", "owner", "bypassrls", "superuser by membership", "owner by membership"])
def test_a_process_ends_at_once_with_a_role_that_security_does_not_bind(
    kind: str, command: str, settings: Settings, unbound_urls: dict[str, str], tmp_path: Path
) -> None:
    url = sa.make_url(unbound_urls[kind])
    ended = subprocess.run(
        [sys.executable, "-m", "app.cli.main", command, *(["--port", "1025"] if command == "serve" else [])],
        env={
            **{name: value for name, value in os.environ.items() if name.lower() not in Settings.model_fields},
            "DATABASE_URL": unbound_urls[kind],
            "REDIS_CACHE_URL": settings.redis_cache_url.get_secret_value(),
            "REDIS_LIMITS_URL": settings.redis_limits_url.get_secret_value(),
            "OIDC_ISSUER": settings.oidc_issuer,
            "BLOB_PATH": str(settings.blob_path),
            "MODEL_PATH": str(tmp_path),
        },
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert ended.returncode == 1, ended.stderr
    assert f"'{url.username}' is not bound by row-level security" in ended.stderr
    assert "Set DATABASE_URL to the application role" in ended.stderr
    assert "Traceback" not in ended.stderr + ended.stdout
    assert str(url.password) not in ended.stderr + ended.stdout
    assert list(tmp_path.iterdir()) == [], "the role is looked at before the model is prepared"
