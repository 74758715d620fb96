"""The secret of a one-time link; pure but for its randomness."""

import hashlib
import secrets
from datetime import timedelta

INVITATION_LIFETIME = timedelta(days=7)
_SECRET_BYTES = 32


def new_token() -> str:
    """Return a fresh secret: 256 random bits, safe in an address."""
    return secrets.token_urlsafe(_SECRET_BYTES)


def token_sha256(token: str) -> str:
    """Return what is stored of a secret. It is random, so a plain hash cannot be guessed back."""
    return hashlib.sha256(token.encode("utf-8")).hexdigest()
