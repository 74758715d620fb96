"""Checks one access token, locally, against the provider's published keys.

Nothing in a token is believed before its signature holds, and nothing in its header is followed: `jku`, `x5u`, `jwk`
and `crit` are refused, and `alg` only chooses among what the operator has configured (RFC 8725, RFC 9068).
"""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

import jwt
import structlog

from app.auth.claims import ClaimError, Claims, read_claims
from app.auth.encoding import MalformedTokenError, decode_members, decode_segment
from app.auth.jwks import KeySource
from app.auth.keys import VerificationKey
from app.auth.principal import Principal
from app.core.errors import UnauthenticatedError

MAX_TOKEN_CHARACTERS = 16_384
LEEWAY_SECONDS = 30
_COMPACT = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+", re.ASCII)
_REFUSED_HEADERS = frozenset({"crit", "jku", "x5u", "jwk", "x5c", "b64", "zip", "enc"})
_ACCESS_TOKEN_TYPES = frozenset({"at+jwt", "application/at+jwt"})
_PLAIN_TYPES = frozenset({"jwt", "application/jwt"})
_REQUIRED_CLAIMS = ["iss", "aud", "exp", "sub"]  # the fifth, the id of the token, has a name of the provider's

log = structlog.get_logger(__name__)


class TokenVerifier:
    """Turns a bearer token into a `Principal`.

    Args:
        keys: Where verification keys are found.
        issuer: The only accepted `iss`.
        audience: What `aud` must contain.
        algorithms: Accepted algorithms, all of one asymmetric family.
        require_at_jwt: Whether `typ` must say that this is an access token.
        token_id_claim: Name of the claim that tells one token from all others.
    """

    def __init__(
        self,
        keys: KeySource,
        *,
        issuer: str,
        audience: str,
        algorithms: Iterable[str],
        require_at_jwt: bool = True,
        token_id_claim: str = "jti",  # noqa: S107  (the name of a claim)
    ) -> None:
        self._keys = keys
        self._issuer = issuer
        self._audience = audience
        self._algorithms = frozenset(algorithms)
        self._types = _ACCESS_TOKEN_TYPES if require_at_jwt else _ACCESS_TOKEN_TYPES | _PLAIN_TYPES
        self._type_may_be_missing = not require_at_jwt
        self._token_id_claim = token_id_claim

    async def verify(self, token: str) -> Principal:
        """Return whom the token speaks for.

        Raises:
            UnauthenticatedError: The token is not a valid access token for this service.
            UnavailableError: The provider's keys have not been reachable for too long.
        """
        try:
            header, claims = _parse(token, self._token_id_claim)
            key = await self._keys.find(self._key_name(header))
            self._check_signature(token, header, key)
        except jwt.ExpiredSignatureError as error:
            log.info("auth.token_refused", reason="expired")
            raise _refusal("The access token has expired. Sign in again.") from error
        except (MalformedTokenError, ClaimError, jwt.PyJWTError) as error:
            log.info("auth.token_refused", reason=type(error).__name__)
            raise _refusal("The access token is not valid for this service.") from error
        return self._principal(claims)

    def _key_name(self, header: Mapping[str, object]) -> str:
        """Return `kid` of a header that may belong to an access token for this service."""
        algorithm, kid, typ = header.get("alg"), header.get("kid"), header.get("typ")
        if _REFUSED_HEADERS & header.keys():
            raise ClaimError("a header parameter that is never accepted")
        if not isinstance(algorithm, str) or algorithm not in self._algorithms:
            raise ClaimError("the algorithm is not accepted")
        if not isinstance(kid, str) or not kid:
            raise ClaimError("no key is named")
        if typ is None and self._type_may_be_missing:
            return kid
        if not isinstance(typ, str) or typ.lower() not in self._types:
            raise ClaimError("not typed as an access token")
        return kid

    def _check_signature(self, token: str, header: Mapping[str, object], key: VerificationKey | None) -> None:
        if key is None or header["alg"] not in key.algorithms:
            raise ClaimError("no such key for this algorithm")
        jwt.decode(
            token,
            key.public_key,
            algorithms=sorted(key.algorithms),
            audience=self._audience,
            issuer=self._issuer,
            leeway=LEEWAY_SECONDS,
            options={"require": _REQUIRED_CLAIMS},
        )

    def _principal(self, claims: Claims) -> Principal:
        return Principal(
            issuer=self._issuer,
            subject=claims.subject,
            token_id=claims.token_id,
            actor=claims.actor,
            email=claims.email,
            name=claims.name,
            scopes=claims.scopes,
            expires_at=datetime.fromtimestamp(claims.expires_at, UTC),
        )


def _parse(token: str, token_id_claim: str) -> tuple[dict[str, object], Claims]:
    if len(token) > MAX_TOKEN_CHARACTERS or not _COMPACT.fullmatch(token):
        raise MalformedTokenError("not a signed token in compact form")
    header, payload, signature = token.split(".")
    decode_segment(signature)
    return decode_members(header), read_claims(decode_members(payload), token_id_claim)


def _refusal(detail: str) -> UnauthenticatedError:
    return UnauthenticatedError(detail, headers={"WWW-Authenticate": 'Bearer error="invalid_token"'})
