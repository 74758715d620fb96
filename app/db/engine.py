"""The connection pool of a process, and the refusal to use one that row-level security does not bind."""

from sqlalchemy import text
from sqlalchemy.exc import OperationalError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from app.core.errors import ConfigurationError, UnavailableError

# A role that can become an unbound one by SET ROLE is not bound either: hence membership, not inherited rights.
_ROLE = text(
    """
    SELECT current_user AS name,
           EXISTS (
               SELECT 1 FROM pg_roles r
               WHERE (r.rolsuper OR r.rolbypassrls) AND pg_has_role(current_user, r.oid, 'MEMBER')
           ) AS bypasses,
           EXISTS (
               SELECT 1 FROM pg_class c
               WHERE c.relname = 'documents' AND c.relnamespace = 'public'::regnamespace
                 AND pg_has_role(current_user, c.relowner, 'MEMBER')
           ) AS owns_tables
    """
)


def create_engine(url: str, *, pool_size: int) -> AsyncEngine:
    """Make the pool of one process.

    Args:
        url: `postgresql+psycopg://` address of the application role.
        pool_size: Most connections that are open at once; a request that finds none waits 10 s.
    """
    return create_async_engine(
        url,
        pool_size=pool_size,
        max_overflow=0,
        pool_timeout=10,
        pool_pre_ping=True,
        pool_recycle=1_800,
        hide_parameters=True,  # errors are logged, and parameters are questions and document text
        connect_args={
            "connect_timeout": 5,
            "application_name": "groundeddocs",
            "options": "-c statement_timeout=30000 -c idle_in_transaction_session_timeout=60000",
        },
    )


async def check_role(engine: AsyncEngine) -> None:
    """Refuse a connection that could read across tenants.

    Raises:
        ConfigurationError: The role is a superuser, has BYPASSRLS, or owns the tables.
        UnavailableError: The database does not answer.
    """
    try:
        async with engine.connect() as connection:
            row = (await connection.execute(_ROLE)).one()
    except OperationalError as error:
        raise UnavailableError("The database is out of reach.") from error
    if row.bypasses or row.owns_tables:
        raise ConfigurationError(
            f"The database role '{row.name}' is not bound by row-level security. "
            "Set DATABASE_URL to the application role (groundeddocs_app)."
        )
