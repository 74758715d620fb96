import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from app.auth.keys import usable_keys


def rsa_jwk(bits: int = 2048, **members: object) -> dict[str, object]:
    key = rsa.generate_private_key(public_exponent=65537, key_size=bits)
    return {**jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key(), as_dict=True), "kid": "k", **members}


def curve_jwk(curve: ec.EllipticCurve) -> dict[str, object]:
    key = ec.generate_private_key(curve)
    return {**jwt.algorithms.ECAlgorithm.to_jwk(key.public_key(), as_dict=True), "kid": "k"}


def test_a_key_without_stated_algorithm_serves_each_accepted_one() -> None:
    keys = usable_keys({"keys": [rsa_jwk()]}, ["RS256", "RS512"])
    assert keys["k"].algorithms == {"RS256", "RS512"}


def test_a_stated_algorithm_is_the_only_one() -> None:
    keys = usable_keys({"keys": [rsa_jwk(alg="RS256")]}, ["RS256", "RS512"])
    assert keys["k"].algorithms == {"RS256"}


def test_a_curve_serves_only_its_own_algorithm() -> None:
    keys = usable_keys({"keys": [curve_jwk(ec.SECP256R1())]}, ["ES256", "ES384"])
    assert keys["k"].algorithms == {"ES256"}


@pytest.mark.parametrize(
    "entry",
    [
        rsa_jwk(use="enc"),
        rsa_jwk(key_ops=["encrypt"]),
        rsa_jwk(alg="RS384"),
        rsa_jwk(kid=""),
        rsa_jwk(kid=7),
        rsa_jwk(d="private"),
        rsa_jwk(n="not base64!"),
        rsa_jwk(bits=1024),
        curve_jwk(ec.SECP256R1()),
        {"kty": "oct", "k": "c2VjcmV0", "kid": "k"},
        {"kid": "k"},
        "text",
    ],
)
def test_an_unfit_entry_is_left_out_and_the_others_stay(entry: object) -> None:
    good = rsa_jwk(kid="good")
    assert set(usable_keys({"keys": [entry, good]}, ["RS256"])) == {"good"}


@pytest.mark.parametrize("answer", [None, [], {}, {"keys": {}}, "keys"])
def test_an_answer_that_is_no_key_set_has_no_keys(answer: object) -> None:
    assert usable_keys(answer, ["RS256"]) == {}
