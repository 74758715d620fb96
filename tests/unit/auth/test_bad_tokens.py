import httpx
import pytest

from adversarial.bad_tokens import BadToken, bad_tokens
from app.auth.jwks import JwksCache
from app.auth.tokens import TokenVerifier
from app.core.errors import UnauthenticatedError
from tests.support.issuer import AUDIENCE, ISSUER, Issuer

JWKS_URL = f"{ISSUER}/jwks"
_ISSUER = Issuer()
_CASES = bad_tokens(_ISSUER.key, ISSUER, AUDIENCE)


class Provider:
    """Answers for the keys endpoint and remembers every address that was asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(str(request.url))
        return httpx.Response(200, json=_ISSUER.jwk_set())


@pytest.mark.parametrize("case", _CASES, ids=lambda case: case.name)
async def test_a_bad_token_is_refused_and_causes_no_request_elsewhere(case: BadToken) -> None:
    provider = Provider()
    async with httpx.AsyncClient(transport=httpx.MockTransport(provider)) as client:
        keys = JwksCache(client, issuer=ISSUER, jwks_url=JWKS_URL, algorithms=["RS256"])
        verifier = TokenVerifier(keys, issuer=ISSUER, audience=AUDIENCE, algorithms=["RS256"])
        assert (await verifier.verify(_ISSUER.token("alice"))).subject == "alice"

        with pytest.raises(UnauthenticatedError) as refusal:
            await verifier.verify(case.token)

    assert refusal.value.headers["WWW-Authenticate"].startswith("Bearer")
    assert set(provider.asked) == {JWKS_URL}


def test_the_table_has_at_least_forty_different_cases() -> None:
    assert len({case.name for case in _CASES}) == len({case.token for case in _CASES}) == len(_CASES) >= 40
