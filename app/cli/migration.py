"""Migrations from the command line: the one command that uses the role that owns the tables."""

from pydantic import Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict
from sqlalchemy.exc import ArgumentError, OperationalError, ProgrammingError

from app.cli.errors import CliError
from app.cli.faults import describe
from app.db.migrate import upgrade


class MigrationSettings(BaseSettings):
    """What only migrations need: api and worker never get this role."""

    model_config = SettingsConfigDict(env_file=None, extra="ignore", frozen=True, env_ignore_empty=True)

    migrations_database_url: SecretStr = Field(
        description="Postgres as the role that owns the tables (groundeddocs_owner); only migrations use it."
    )


def migrate() -> str:
    """Run what is missing and return the revision reached.

    Raises:
        CliError: The role is not named, does not get in, or may not change the schema.
    """
    try:
        url = MigrationSettings().migrations_database_url.get_secret_value()
    except ValidationError as error:
        raise CliError(describe(error, MigrationSettings)) from None
    try:
        return upgrade(url.replace("postgresql://", "postgresql+psycopg://", 1))
    except ArgumentError:
        raise CliError("MIGRATIONS_DATABASE_URL is no address of a database.") from None
    except OperationalError:
        raise CliError("The database in MIGRATIONS_DATABASE_URL does not answer, or refuses this role.") from None
    except ProgrammingError as error:
        code = getattr(error.orig, "sqlstate", None)
        raise CliError(f"The database refused a migration (SQLSTATE {code}). Is this the owner role?") from None
