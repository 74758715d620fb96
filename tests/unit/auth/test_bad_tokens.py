import httpx
import pytest

from adversarial.bad_tokens import TOKEN_GROUPS, bad_tokens, good_token, token_group
from app.auth.jwks import JwksCache
from app.auth.tokens import TokenVerifier
from app.core.errors import UnauthenticatedError
from tests.support.issuer import AUDIENCE, ISSUER, Issuer

JWKS_URL = f"{ISSUER}/jwks"
_ISSUER = Issuer()
# Names only: a token is made when its test runs, which may be long after the tests were collected.
_NAMES = [
    pytest.param(group, case.name, id=case.name)
    for group in TOKEN_GROUPS
    for case in token_group(group, _ISSUER.key, ISSUER, AUDIENCE)
]


class Provider:
    """Answers for the keys endpoint and remembers every address that was asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(str(request.url))
        return httpx.Response(200, json=_ISSUER.jwk_set())


@pytest.mark.parametrize(("group", "name"), _NAMES)
async def test_a_bad_token_is_refused_and_causes_no_request_elsewhere(group: str, name: str) -> None:
    provider = Provider()
    good = good_token(_ISSUER.key, ISSUER, AUDIENCE)
    bad = next(case.token for case in token_group(group, _ISSUER.key, ISSUER, AUDIENCE) if case.name == name)
    async with httpx.AsyncClient(transport=httpx.MockTransport(provider)) as client:
        keys = JwksCache(client, issuer=ISSUER, jwks_url=JWKS_URL, algorithms=["RS256"])
        verifier = TokenVerifier(keys, issuer=ISSUER, audience=AUDIENCE, algorithms=["RS256"])
        assert (await verifier.verify(good)).subject == "alice"

        with pytest.raises(UnauthenticatedError) as refusal:
            await verifier.verify(bad)

        assert (await verifier.verify(good)).subject == "alice", "refused for its age, or because everything is"
    assert refusal.value.headers["WWW-Authenticate"].startswith("Bearer")
    assert set(provider.asked) == {JWKS_URL}


def test_the_table_has_at_least_forty_different_cases() -> None:
    cases = list(bad_tokens(_ISSUER.key, ISSUER, AUDIENCE))
    assert len({case.name for case in cases}) == len({case.token for case in cases}) == len(cases) >= 40
