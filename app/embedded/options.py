"""What an operator may set for the embedded set; the services themselves are set in `app.core.config`."""

import os
from pathlib import Path

from platformdirs import user_data_path
from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

_HERE = ".groundeddocs"
# What every data folder holds, also that of a first start that was stopped early.
_MARKS = ("run", "secrets")


def default_home() -> Path:
    """Return the data folder of `make up` in the current folder when there is one, else that of the platform.

    A folder of somebody else is not taken: it would name the programs' data and receive what is uploaded.
    """
    here = Path.cwd() / _HERE
    if all((here / mark).is_dir() for mark in _MARKS) and here.stat().st_uid == os.geteuid():
        return here
    return user_data_path("groundeddocs", appauthor=False)


class EmbeddedOptions(BaseSettings):
    """Environment variables that only the embedded set reads, each of the same name in capitals."""

    model_config = SettingsConfigDict(env_file=None, extra="ignore", frozen=True, env_ignore_empty=True)

    groundeddocs_home: Path = Field(
        default_factory=default_home,
        description="Folder that holds all data of the embedded set; unset, that of `make up` here, if any.",
    )
    host: str = Field("127.0.0.1", description="Address that the api listens on.")
    port: int = Field(8080, ge=1, le=65535, description="Port that the api listens on.")
    idp_port: int | None = Field(
        None, ge=1, le=65535, description="Port of the local identity provider; kept from the first start when unset."
    )
    groundeddocs_pg_bin: Path | None = Field(
        None, description="Folder with the Postgres programs (>= 18, with pgvector)."
    )
    groundeddocs_redis_server: Path | None = Field(None, description="The redis-server program (>= 8).")
    groundeddocs_redisearch: Path | None = Field(None, description="The redisearch module of the cache server.")
    groundeddocs_dev_idp: Path | None = Field(None, description="Folder of the local identity provider.")
    groundeddocs_node: str = Field("node", description="The Node program (>= 20).")
