"""Which published keys may verify a signature: a pure filter over a JWK set."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import jwt
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

PublicKey = RSAPublicKey | EllipticCurvePublicKey | Ed25519PublicKey

MIN_RSA_BITS = 2048  # NIST SP 800-131A: shorter keys are disallowed
MAX_KEYS = 100
_CURVES = {"ES256": "secp256r1", "ES384": "secp384r1", "ES512": "secp521r1"}


@dataclass(frozen=True, slots=True)
class VerificationKey:
    """A public key with the algorithms that it may verify."""

    kid: str
    algorithms: frozenset[str]
    public_key: PublicKey


def usable_keys(jwk_set: object, algorithms: Iterable[str]) -> dict[str, VerificationKey]:
    """Return the signature keys of a JWK set by `kid`; whatever is unfit is left out.

    Args:
        jwk_set: Parsed JSON of the keys endpoint.
        algorithms: The algorithms that this service accepts, all of one family.
    """
    entries = jwk_set.get("keys") if isinstance(jwk_set, Mapping) else None
    if not isinstance(entries, list):
        return {}
    found: dict[str, VerificationKey] = {}
    for entry in entries[:MAX_KEYS]:
        key = _usable(entry, frozenset(algorithms)) if isinstance(entry, dict) else None
        if key:
            found.setdefault(key.kid, key)
    return found


def _usable(entry: dict[str, object], accepted: frozenset[str]) -> VerificationKey | None:
    kid, operations = entry.get("kid"), entry.get("key_ops", ["verify"])
    if not isinstance(kid, str) or not kid or entry.get("use", "sig") != "sig" or "d" in entry:
        return None
    if not isinstance(operations, list) or "verify" not in operations:
        return None
    stated = entry.get("alg")
    candidates = accepted if stated is None else accepted & {str(stated)}
    fitting = {name: key for name in candidates if (key := _load(entry, name))}
    if not fitting:
        return None
    return VerificationKey(kid, frozenset(fitting), next(iter(fitting.values())))


def _load(entry: dict[str, object], algorithm: str) -> PublicKey | None:
    try:
        key = jwt.PyJWK(entry, algorithm=algorithm).key
    except (jwt.PyJWTError, ValueError, TypeError, KeyError, AttributeError):
        return None  # a malformed entry: the others may be fine
    return key if _fits(key, algorithm) else None


def _fits(key: object, algorithm: str) -> bool:
    if isinstance(key, RSAPublicKey):
        return algorithm[:2] in ("RS", "PS") and key.key_size >= MIN_RSA_BITS
    if isinstance(key, EllipticCurvePublicKey):
        return _CURVES.get(algorithm) == key.curve.name
    return isinstance(key, Ed25519PublicKey) and algorithm in ("EdDSA", "Ed25519")
