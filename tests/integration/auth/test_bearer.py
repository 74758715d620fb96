import httpx
import pytest

from adversarial.bad_tokens import bad_tokens, good_token
from app.auth.principal import Principal
from app.auth.tokens import TokenVerifier
from tests.support.issuer import AUDIENCE, ISSUER, Issuer


async def test_every_bad_token_is_answered_with_401(client: httpx.AsyncClient, issuer: Issuer) -> None:
    good = good_token(issuer.key, ISSUER, AUDIENCE)
    accepted = []
    for case in bad_tokens(issuer.key, ISSUER, AUDIENCE):
        header = f"Bearer {case.token}".encode()
        response = await client.get("/v1/me", headers=[(b"Authorization", header)])
        if response.status_code != 401 or not response.headers["www-authenticate"].startswith("Bearer"):
            accepted.append((case.name, response.status_code))
    assert accepted == []
    assert (await client.get("/v1/me", headers={"Authorization": f"Bearer {good}"})).status_code == 200


async def test_a_token_is_verified_once_in_each_request_and_never_for_another(
    client: httpx.AsyncClient, issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    verified: list[str] = []
    verify = TokenVerifier.verify

    async def counted(self: TokenVerifier, token: str) -> Principal:
        principal = await verify(self, token)
        verified.append(principal.subject)
        return principal

    monkeypatch.setattr(TokenVerifier, "verify", counted)
    ids = []
    for subject in ("one", "two", "one"):
        response = await client.get("/v1/me", headers={"Authorization": f"Bearer {issuer.token(subject)}"})
        ids.append(response.json()["user"]["id"])
    assert verified == ["one", "two", "one"]
    assert ids[0] == ids[2] != ids[1]


async def test_the_scheme_may_be_written_in_any_case(client: httpx.AsyncClient, issuer: Issuer) -> None:
    response = await client.get("/v1/me", headers={"Authorization": f"bEaReR {issuer.token('alice')}"})
    assert response.status_code == 200


@pytest.mark.parametrize("value", [None, "", "Bearer", "Bearer ", "Basic YWxpY2U6eA==", "token"])
async def test_anything_but_a_bearer_token_is_refused(client: httpx.AsyncClient, value: str | None) -> None:
    headers = {} if value is None else {"Authorization": value}
    response = await client.get("/v1/me", headers=headers)
    assert (response.status_code, response.json()["code"]) == (401, "unauthenticated")
    assert response.headers["content-type"] == "application/problem+json"


async def test_two_authorization_headers_are_refused(client: httpx.AsyncClient, issuer: Issuer) -> None:
    good = ("Authorization", f"Bearer {issuer.token('alice')}")
    assert (await client.get("/v1/me", headers=[good, good])).status_code == 401


async def test_a_token_in_the_query_is_no_token(client: httpx.AsyncClient, issuer: Issuer) -> None:
    response = await client.get("/v1/me", params={"access_token": issuer.token("alice")})
    assert response.status_code == 401
