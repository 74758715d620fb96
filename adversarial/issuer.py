"""The identity provider of a run: it signs tokens inside this process and publishes its key."""

import time
from uuid import uuid4

import httpx
import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

from adversarial.bad_tokens import IssuerKey

ISSUER = "https://idp.adversarial.example"
AUDIENCE = "urn:groundeddocs:api"
JWKS_URL = f"{ISSUER}/jwks"


class Issuer:
    """Signs access tokens with one RS256 key.

    Attributes:
        key: The key that the service trusts.
        asked: Every address that the service asked for, as a transport sees them.
    """

    def __init__(self) -> None:
        self.key = IssuerKey("key-1", rsa.generate_private_key(public_exponent=65537, key_size=2048))
        self.asked: list[str] = []

    def answer(self, request: httpx.Request) -> httpx.Response:
        """Answer a request of the service, whatever its address."""
        self.asked.append(str(request.url))
        jwk = jwt.algorithms.RSAAlgorithm.to_jwk(self.key.private_key.public_key(), as_dict=True)
        return httpx.Response(200, json={"keys": [{**jwk, "kid": self.key.kid, "use": "sig", "alg": "RS256"}]})

    def token(self, subject: str, **claims: object) -> str:
        """Return an access token that the service accepts; `claims` replace or add members."""
        now = int(time.time())
        members: dict[str, object] = {"iss": ISSUER, "aud": AUDIENCE, "sub": subject, "jti": str(uuid4())}
        members |= {"iat": now, "exp": now + 900, "email": f"{subject}@example.com", "name": subject, **claims}
        headers = {"typ": "at+jwt", "kid": self.key.kid}
        return jwt.encode(members, self.key.private_key, algorithm="RS256", headers=headers)
