"""Who a verified access token speaks for."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Principal:
    """What a token proved. Only `TokenVerifier` makes one.

    Attributes:
        issuer: `iss`, the identity provider.
        subject: `sub`; with the issuer it names the user. Nothing else does.
        token_id: `jti`.
        actor: Who acts on the subject's behalf (`act.sub`, or the subject itself for `agent:` subjects).
        email: For display only; never grants anything.
        name: For display only.
        scopes: What the token was issued for.
        expires_at: `exp`.
    """

    issuer: str
    subject: str
    token_id: str
    actor: str | None
    email: str | None
    name: str | None
    scopes: frozenset[str]
    expires_at: datetime
