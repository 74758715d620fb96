"""An identity provider inside the test process: it signs tokens and publishes its key."""

import time
from uuid import uuid4

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

from adversarial.bad_tokens import IssuerKey
from app.auth.keys import VerificationKey, usable_keys

ISSUER = "https://idp.test.example"
AUDIENCE = "urn:groundeddocs:api"


class Issuer:
    """Signs access tokens with one RS256 key. Serves as a `KeySource` without any request."""

    def __init__(self) -> None:
        self.key = IssuerKey("key-1", rsa.generate_private_key(public_exponent=65537, key_size=2048))
        self._keys = usable_keys(self.jwk_set(), ["RS256"])

    def jwk_set(self) -> dict[str, object]:
        """Return what the keys endpoint answers."""
        jwk = jwt.algorithms.RSAAlgorithm.to_jwk(self.key.private_key.public_key(), as_dict=True)
        return {"keys": [{**jwk, "kid": self.key.kid, "use": "sig", "alg": "RS256"}]}

    async def find(self, kid: str) -> VerificationKey | None:
        """Return the key of this name."""
        return self._keys.get(kid)

    def token(self, subject: str, *, kid: str | None = None, typ: str = "at+jwt", **claims: object) -> str:
        """Return an access token; `claims` replace or add members."""
        now = int(time.time())
        members: dict[str, object] = {"iss": ISSUER, "aud": AUDIENCE, "sub": subject, "jti": str(uuid4())}
        members |= {"iat": now, "exp": now + 600, "email": f"{subject}@example.com", **claims}
        headers = {"typ": typ, "kid": kid or self.key.kid}
        return jwt.encode(members, self.key.private_key, algorithm="RS256", headers=headers)
