"""Access tokens that must never be accepted, each wrong in one way.

Every token starts as one that would be accepted; a case changes exactly what it is named after.
"""

import base64
import functools
import hashlib
import hmac
import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

Members = dict[str, object]
_TRAP = "https://keys.attacker.example/jwks.json"


@dataclass(frozen=True, slots=True)
class IssuerKey:
    """A signing key that the service trusts, and its name."""

    kid: str
    private_key: rsa.RSAPrivateKey


@dataclass(frozen=True, slots=True)
class BadToken:
    """A token that must be refused, and what is wrong with it."""

    name: str
    token: str


def bad_tokens(signing_key: IssuerKey, issuer: str, audience: str) -> Iterator[BadToken]:
    """Yield the table of tokens, each of which must end in 401 without any outbound request.

    Their times count from the moment at which each is made, and the good ones would last ten minutes: use a token at
    once, and `good_token` beside it, or it is refused for its age alone.

    Args:
        signing_key: A key that the service trusts (RS256).
        issuer: The issuer that the service trusts.
        audience: The audience that the service requires.
    """
    for group in TOKEN_GROUPS:
        yield from token_group(group, signing_key, issuer, audience)


def token_group(name: str, signing_key: IssuerKey, issuer: str, audience: str) -> Iterator[BadToken]:
    """Yield one of `TOKEN_GROUPS`; see `bad_tokens`."""
    return TOKEN_GROUPS[name](_Maker(signing_key, issuer, audience))


def good_token(signing_key: IssuerKey, issuer: str, audience: str) -> str:
    """Return what each bad token was before its one change: a token of now that must be accepted."""
    return _Maker(signing_key, issuer, audience).good()


class _Maker:
    def __init__(self, signing_key: IssuerKey, issuer: str, audience: str) -> None:
        self._key = signing_key
        self._issuer = issuer
        self._audience = audience

    def good(self) -> str:
        return self._token()

    def _claims(self, **changes: object) -> Members:
        now = int(time.time())
        good: Members = {"iss": self._issuer, "aud": self._audience, "sub": "alice", "jti": "token-1"}
        return {**good, "iat": now, "nbf": now, "exp": now + 600, **changes}

    def _header(self, **changes: object) -> Members:
        return {"alg": "RS256", "typ": "at+jwt", "kid": self._key.kid, **changes}

    def _signed(self, header: Mapping[str, object], payload: bytes) -> str:
        """Sign any header and payload as they are: a library would refuse many of them."""
        signed = f"{_segment(_json(header))}.{_segment(payload)}"
        signer = jwt.get_algorithm_by_name("RS256")
        return f"{signed}.{_segment(signer.sign(signed.encode(), self._key.private_key))}"

    def _token(self, claims: Mapping[str, object] | None = None, header: Mapping[str, object] | None = None) -> str:
        return self._signed(header or self._header(), _json(claims or self._claims()))

    def _with(self, name: str, **changes: object) -> BadToken:
        return BadToken(name, self._token(self._claims(**changes)))

    def _headed(self, name: str, **changes: object) -> BadToken:
        return BadToken(name, self._token(header=self._header(**changes)))

    def wrong_claims(self) -> Iterator[BadToken]:
        now = int(time.time())
        yield self._with("another issuer", iss="https://idp.attacker.example")
        yield self._with("issuer with a slash more", iss=self._issuer + "/")
        yield self._with("issuer in another case", iss=self._issuer.upper())
        yield self._with("another audience", aud="urn:another:api")
        yield self._with("a list of audiences without ours", aud=["urn:another:api", "account"])
        yield self._with("an audience that begins with ours", aud=self._audience + ".other")
        yield self._with("expired", exp=now - 60)
        yield self._with("valid from the future", nbf=now + 600)
        yield self._with("issued in the future", iat=now + 600)
        yield self._with("an agent that lives too long", sub="agent:reporter", iat=now, exp=now + 301)
        yield self._with("a delegated token that lives too long", act={"sub": "agent:reporter"}, iat=now, exp=now + 301)
        no_issue_time = {name: value for name, value in self._claims(sub="agent:reporter").items() if name != "iat"}
        yield BadToken("an agent that does not say when it was issued", self._token(no_issue_time))
        id_token = self._token(self._claims(aud="groundeddocs-web", nonce="n", at_hash="h"), self._header(typ="JWT"))
        yield BadToken("an ID token", id_token)

    def missing_claims(self) -> Iterator[BadToken]:
        for name in ("iss", "aud", "exp", "sub", "jti"):
            claims = self._claims()
            del claims[name]
            yield BadToken(f"no {name}", self._token(claims))

    def wrong_types(self) -> Iterator[BadToken]:
        yield self._with("a number as subject", sub=42)
        yield self._with("an empty subject", sub="")
        yield self._with("a subject of spaces", sub="   ")
        yield self._with("a subject with a NUL", sub="alice\x00")
        yield self._with("a subject with a lone surrogate", sub="alice\ud800")
        yield self._with("a very long subject", sub="a" * 256)
        yield self._with("a list as subject", sub=["alice"])
        yield self._with("an empty token id", jti="")
        yield self._with("a number as token id", jti=7)
        yield self._with("a list of issuers", iss=[self._issuer])
        yield self._with("an audience inside an object", aud={"aud": self._audience})
        yield self._with("a number in the list of audiences", aud=[self._audience, 1])
        yield self._with("an expiry as text", exp="9999999999")
        yield self._with("an expiry that is true", exp=True)
        yield self._with("no value as expiry", exp=None)
        yield self._with("a negative expiry", exp=-1)
        yield self._with("an expiry beyond the calendar", exp=10**15)
        yield self._with("a start as text", nbf="now")
        yield self._with("an actor that is a text", act="agent:reporter")
        yield self._with("an actor without a name", act={})
        for name, number in (("not a number", "NaN"), ("infinite", "Infinity"), ("overflowing", "1e999")):
            yield self._rewritten(f"an expiry that is {name}", '"exp":', f'"exp":{number},"was":')
        yield self._rewritten("an expiry of 5,000 digits", '"exp":', f'"exp":{"9" * 5000},"was":')
        yield self._rewritten("two subjects", '"sub":', '"sub":"mallory","sub":')
        yield self._rewritten("deep nesting", '"jti":', f'"deep":{"[" * 3000}{"]" * 3000},"jti":')
        yield BadToken("a payload that is a list", self._signed(self._header(), b'["alice"]'))
        yield BadToken("a payload that is not JSON", self._signed(self._header(), b"alice"))
        yield BadToken("a payload that is not UTF-8", self._signed(self._header(), b'{"sub":"\xff\xfe"}'))

    def _rewritten(self, name: str, old: str, new: str) -> BadToken:
        payload = _json(self._claims()).decode().replace(old, new, 1)
        return BadToken(name, self._signed(self._header(), payload.encode()))

    def wrong_headers(self) -> Iterator[BadToken]:
        own = _own_jwk()
        yield self._headed("typed as any JWT", typ="JWT")
        yield self._headed("typed as a logout token", typ="logout+jwt")
        yield self._headed("a number as type", typ=1)
        yield self._headed("a critical extension", crit=["exp"], exp=1)
        yield self._headed("an empty list of critical extensions", crit=[])
        yield self._headed("unencoded payload", b64=False, crit=["b64"])
        yield self._headed("a key set elsewhere (jku)", jku=_TRAP)
        yield self._headed("a certificate elsewhere (x5u)", x5u=_TRAP)
        yield self._headed("a certificate inside (x5c)", x5c=["MIIB"])
        yield self._headed("a key inside (jwk)", jwk=own)
        yield self._headed("compressed", zip="DEF")
        yield self._headed("an unknown key", kid="unknown")
        yield self._headed("a path as key name", kid="../../../../dev/null")
        yield self._headed("SQL as key name", kid="' UNION SELECT 'key' --")
        yield self._headed("an address as key name", kid=_TRAP)
        yield self._headed("a number as key name", kid=1)
        yield self._headed("an empty key name", kid="")
        header = self._header()
        del header["kid"]
        yield BadToken("no key name", self._token(header=header))
        untyped = self._header()
        del untyped["typ"]
        yield BadToken("no type", self._token(header=untyped))
        yield self._headed("an algorithm in lower case", alg="rs256")
        yield self._headed("a list of algorithms", alg=["RS256", "none"])
        yield self._headed("another algorithm of the same key", alg="PS256")

    def wrong_keys(self) -> Iterator[BadToken]:
        other = _foreign_key()
        curve = ec.generate_private_key(ec.SECP256R1())
        claims, headers = self._claims(), self._header()
        forged = jwt.encode(claims, other, algorithm="RS256", headers=headers)
        yield BadToken("signed by another key under our name", forged)
        elliptic = jwt.encode(claims, curve, algorithm="ES256", headers=self._header(alg="ES256"))
        yield BadToken("signed by an elliptic key under our name", elliptic)
        public = self._key.private_key.public_key()
        for name, secret in (
            ("PEM", public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)),
            ("DER", public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)),
        ):
            yield BadToken(f"HS256 with our public key as secret ({name})", self._symmetric(secret))
        yield BadToken("HS256 with an empty secret", self._symmetric(b""))
        for spelling in ("none", "None", "NONE", "nOnE", ""):
            unsigned = f"{_segment(_json(self._header(alg=spelling)))}.{_segment(_json(claims))}."
            yield BadToken(f"no signature, alg {spelling!r}", unsigned)
            yield BadToken(f"a made-up signature, alg {spelling!r}", unsigned + "AAAA")

    def _symmetric(self, secret: bytes) -> str:
        signed = f"{_segment(_json(self._header(alg='HS256')))}.{_segment(_json(self._claims()))}"
        return f"{signed}.{_segment(hmac.new(secret, signed.encode(), hashlib.sha256).digest())}"

    def wrong_spelling(self) -> Iterator[BadToken]:
        good = self._token()
        header, payload, signature = good.split(".")
        changed = _segment(_json(self._claims(sub="mallory")))
        yield BadToken("a changed payload", f"{header}.{changed}.{signature}")
        yield BadToken("an empty token", "")
        yield BadToken("one part", header)
        yield BadToken("two parts", f"{header}.{payload}")
        yield BadToken("an empty signature", f"{header}.{payload}.")
        yield BadToken("a truncated signature", good[:-8])
        yield BadToken("a fourth part", f"{good}.{signature}")
        yield BadToken("five parts, as of an encrypted token", f"{header}.{payload}.{signature}.{payload}.{signature}")
        yield BadToken("padding at the end", f"{good}==")
        yield BadToken("padding inside", f"{header}=.{payload}.{signature}")
        yield BadToken("another spelling of the same signature", f"{header}.{payload}.{_respelled(signature)}")
        yield BadToken("a space inside", f"{header}. {payload}.{signature}")
        yield BadToken("a line break at the end", f"{good}\n")
        yield BadToken("the alphabet of plain base64", f"{header}.{payload}.{signature[:-2]}+/")
        yield BadToken("letters that only look alike", f"{header}.{payload}.{signature[:-1]}\u0430")
        yield BadToken("a huge token", self._token(self._claims(note="a" * 100_000)))
        yield BadToken("two tokens joined by a comma", f"{good},{good}")
        yield BadToken("JSON serialisation", json.dumps({"payload": payload, "signature": signature}))


TOKEN_GROUPS: Mapping[str, Callable[[_Maker], Iterator[BadToken]]] = {
    "wrong claims": _Maker.wrong_claims,
    "missing claims": _Maker.missing_claims,
    "wrong types": _Maker.wrong_types,
    "wrong headers": _Maker.wrong_headers,
    "wrong keys": _Maker.wrong_keys,
    "wrong spelling": _Maker.wrong_spelling,
}
"""The groups of the table, by what is wrong."""


def _json(members: Mapping[str, object]) -> bytes:
    return json.dumps(members, separators=(",", ":")).encode("utf-8")


def _segment(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def _respelled(signature: str) -> str:
    """Return a text that a lenient decoder reads as the same bytes: 256 bytes leave four bits of the end unused."""
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    return signature[:-1] + alphabet[alphabet.index(signature[-1]) + 1]


@functools.cache
def _foreign_key() -> rsa.RSAPrivateKey:
    """Return a key that no service trusts."""
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def _own_jwk() -> Members:
    return dict(jwt.algorithms.RSAAlgorithm.to_jwk(_foreign_key().public_key(), as_dict=True))
