"""The identity provider of a run: it signs tokens here and publishes its key on a loopback port."""

import contextlib
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from uuid import uuid4

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

_AUDIENCE = "urn:groundeddocs:api"
_KEY_ID = "bench"
_LIFETIME_SECONDS = 6 * 3_600


class Issuer:
    """Signs access tokens with one key.

    Attributes:
        address: Its issuer name.
    """

    def __init__(self, address: str, key: rsa.RSAPrivateKey) -> None:
        self.address = address
        self._key = key

    @property
    def jwks_url(self) -> str:
        """Where the service finds the key."""
        return f"{self.address}/jwks"

    def token(self, subject: str) -> str:
        """Return a token that outlasts every measurement."""
        now = int(time.time())
        members: dict[str, object] = {"iss": self.address, "aud": _AUDIENCE, "sub": subject, "jti": str(uuid4())}
        members |= {"iat": now, "exp": now + _LIFETIME_SECONDS}
        return jwt.encode(members, self._key, algorithm="RS256", headers={"typ": "at+jwt", "kid": _KEY_ID})


@contextlib.contextmanager
def running_issuer() -> Iterator[Issuer]:
    """Publish a fresh key until the block ends."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    jwk = jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key(), as_dict=True)
    body = json.dumps({"keys": [{**jwk, "kid": _KEY_ID, "use": "sig", "alg": "RS256"}]}).encode()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - named by the base class
            """Say nothing: the terminal is for figures."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield Issuer(f"http://127.0.0.1:{server.server_port}", key)
        finally:
            server.shutdown()
            thread.join()
