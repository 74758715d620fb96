"""Loads named SQL files that sit beside the code that runs them."""

from functools import cache
from importlib import resources

from sqlalchemy import TextClause, text


@cache
def load_sql(package: str, name: str) -> TextClause:
    """Return the statement in `name`.sql of `package`, with its parameters as `:name`."""
    return text(resources.files(package).joinpath(f"{name}.sql").read_text(encoding="utf-8"))
