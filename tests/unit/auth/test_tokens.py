import time

import pytest

from app.auth.tokens import TokenVerifier
from app.core.errors import UnauthenticatedError
from tests.support.issuer import AUDIENCE, ISSUER, Issuer


@pytest.fixture(scope="module")
def issuer() -> Issuer:
    return Issuer()


@pytest.fixture
def verifier(issuer: Issuer) -> TokenVerifier:
    return TokenVerifier(issuer, issuer=ISSUER, audience=AUDIENCE, algorithms=["RS256"])


async def test_a_good_token_gives_its_principal(issuer: Issuer, verifier: TokenVerifier) -> None:
    principal = await verifier.verify(issuer.token("alice", jti="t-1", name="Alice", scope="read write"))
    assert (principal.issuer, principal.subject, principal.token_id) == (ISSUER, "alice", "t-1")
    assert (principal.email, principal.name, principal.actor) == ("alice@example.com", "Alice", None)
    assert principal.scopes == {"read", "write"}


@pytest.mark.parametrize("typ", ["at+jwt", "AT+JWT", "application/at+jwt"])
async def test_each_spelling_of_the_access_token_type_is_accepted(
    issuer: Issuer, verifier: TokenVerifier, typ: str
) -> None:
    assert (await verifier.verify(issuer.token("alice", typ=typ))).subject == "alice"


async def test_our_audience_may_stand_in_a_list(issuer: Issuer, verifier: TokenVerifier) -> None:
    assert (await verifier.verify(issuer.token("alice", aud=["other", AUDIENCE]))).subject == "alice"


async def test_clocks_may_differ_by_less_than_half_a_minute(issuer: Issuer, verifier: TokenVerifier) -> None:
    now = int(time.time())
    late = issuer.token("alice", exp=now - 20)
    assert (await verifier.verify(late)).subject == "alice"
    with pytest.raises(UnauthenticatedError, match="expired"):
        await verifier.verify(issuer.token("alice", exp=now - 40))


async def test_an_agent_with_a_short_token_is_named_as_actor(issuer: Issuer, verifier: TokenVerifier) -> None:
    now = int(time.time())
    own = await verifier.verify(issuer.token("agent:reporter", iat=now, exp=now + 300))
    delegated = await verifier.verify(issuer.token("alice", act={"sub": "agent:reporter"}, iat=now, exp=now + 300))
    assert own.actor == delegated.actor == "agent:reporter"
    assert delegated.subject == "alice"


async def test_plain_typed_tokens_pass_only_when_the_operator_allows_them(issuer: Issuer) -> None:
    lenient = TokenVerifier(issuer, issuer=ISSUER, audience=AUDIENCE, algorithms=["RS256"], require_at_jwt=False)
    assert (await lenient.verify(issuer.token("alice", typ="JWT"))).subject == "alice"
    with pytest.raises(UnauthenticatedError):
        await lenient.verify(issuer.token("alice", typ="logout+jwt"))
    with pytest.raises(UnauthenticatedError):
        await lenient.verify(issuer.token("alice", typ="JWT", aud="groundeddocs-web"))


async def test_another_claim_names_the_token_where_the_provider_calls_it_so(issuer: Issuer) -> None:
    verifier = TokenVerifier(issuer, issuer=ISSUER, audience=AUDIENCE, algorithms=["RS256"], token_id_claim="uti")
    assert (await verifier.verify(issuer.token("alice", uti="token-7"))).token_id == "token-7"
    with pytest.raises(UnauthenticatedError):
        await verifier.verify(issuer.token("alice"))


async def test_texts_for_display_lose_what_does_not_print(issuer: Issuer, verifier: TokenVerifier) -> None:
    principal = await verifier.verify(issuer.token("alice", name="Al\x00ice\ud800", email=["x"]))
    assert (principal.name, principal.email) == ("Alice", None)
