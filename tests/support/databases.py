"""Addresses of the test database, one for each role."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DatabaseUrls:
    """`postgresql+psycopg://` addresses."""

    superuser: str
    owner: str
    app: str
    auditor: str


def sqlalchemy_url(url: str) -> str:
    """Return an address with the driver named, as SQLAlchemy wants it."""
    return url.replace("postgresql://", "postgresql+psycopg://", 1)
