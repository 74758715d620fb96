"""What a token claims, checked for shape and for the rules that are ours; pure, and before any key is looked up."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

MAX_NAME_CHARACTERS = 255
AGENT_LIFETIME_SECONDS = 300
_AGENT_PREFIX = "agent:"
_LATEST = 253_402_300_799  # 9999-12-31, the last moment that `datetime` holds


class ClaimError(Exception):
    """A claim breaks a rule; the text names the rule, never a value."""


@dataclass(frozen=True, slots=True)
class Claims:
    """The claims that this service reads, of the right types. Not yet proven by a signature."""

    subject: str
    token_id: str
    expires_at: float
    actor: str | None
    email: str | None
    name: str | None
    scopes: frozenset[str]


def read_claims(members: Mapping[str, object], token_id_claim: str) -> Claims:
    """Return the claims of a payload.

    Args:
        members: The payload.
        token_id_claim: Name of the claim that tells this token from all others.

    Raises:
        ClaimError: A claim is missing, has another type, or an agent's token lives too long.
    """
    issued_at, _ = _moment(members, "iat", optional=True), _moment(members, "nbf", optional=True)
    expires_at = _moment(members, "exp")
    _check_audience(members.get("aud"))
    _text(members, "iss")
    claims = Claims(
        subject=_text(members, "sub"),
        token_id=_text(members, token_id_claim),
        expires_at=expires_at,
        actor=_actor(members),
        email=_display(members.get("email")),
        name=_display(members.get("name")),
        scopes=_scopes(members),
    )
    # A missing `iat` reads as issued at the epoch: an agent's token must say when it was made.
    if claims.actor is not None and expires_at - issued_at > AGENT_LIFETIME_SECONDS:
        raise ClaimError("a token for an agent lives too long")
    return claims


def _text(members: Mapping[str, object], name: str) -> str:
    value = members.get(name)
    if not isinstance(value, str) or not 0 < len(value) <= MAX_NAME_CHARACTERS:
        raise ClaimError(f"{name} is missing or not a short text")
    if not value.isprintable() or value != value.strip():
        raise ClaimError(f"{name} holds characters that do not print")
    return value


def _moment(members: Mapping[str, object], name: str, *, optional: bool = False) -> float:
    value = members.get(name)
    if value is None and name not in members and optional:
        return 0.0
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ClaimError(f"{name} is missing or not a number")
    if not 0 <= value <= _LATEST:
        raise ClaimError(f"{name} is out of range")
    return float(value)


def _check_audience(value: object) -> None:
    audiences = value if isinstance(value, list) else [value]
    if not audiences or not all(isinstance(entry, str) and entry for entry in audiences):
        raise ClaimError("aud is missing or not a text")


def _actor(members: Mapping[str, object]) -> str | None:
    """Return who acts for the subject: `act.sub` (RFC 8693), or an agent that is the subject itself."""
    if "act" in members:
        act = members["act"]
        if not isinstance(act, dict):
            raise ClaimError("act is not an object")
        return _text(act, "sub")
    subject = members.get("sub")
    return subject if isinstance(subject, str) and subject.startswith(_AGENT_PREFIX) else None


def _display(value: object) -> str | None:
    """Return a text for display without what does not print, or None; it decides nothing, so it refuses nothing."""
    if not isinstance(value, str):
        return None
    return "".join(character for character in value if character.isprintable())[:MAX_NAME_CHARACTERS].strip() or None


def _scopes(members: Mapping[str, object]) -> frozenset[str]:
    value = members.get("scope", members.get("scp", ""))
    entries = value.split() if isinstance(value, str) else value
    if not isinstance(entries, list) or not all(isinstance(entry, str) for entry in entries):
        raise ClaimError("scope is not a text")
    return frozenset(entries)
