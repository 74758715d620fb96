import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest

from app.auth.jwks import JwksCache
from app.core.errors import UnavailableError
from tests.support.issuer import ISSUER, Issuer

JWKS_URL = f"{ISSUER}/jwks"
_ISSUER = Issuer()


class Provider:
    """A keys endpoint that can go down, on a clock that the test moves."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.up = True
        self.requests: list[str] = []
        self.discovery: dict[str, object] = {"issuer": ISSUER, "jwks_uri": JWKS_URL}
        self.answer = httpx.Response(200, json=_ISSUER.jwk_set())

    def clock(self) -> float:
        return self.now

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request.url.path)
        await asyncio.sleep(0)
        if not self.up:
            raise httpx.ConnectError("down", request=request)
        if request.url.path == "/.well-known/openid-configuration":
            return httpx.Response(200, json=self.discovery)
        return self.answer

    def keys(self, client: httpx.AsyncClient, jwks_url: str = JWKS_URL) -> JwksCache:
        return JwksCache(client, issuer=ISSUER, jwks_url=jwks_url, algorithms=["RS256"], monotonic=self.clock)


@pytest.fixture
def provider() -> Provider:
    return Provider()


@pytest.fixture
async def client(provider: Provider) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(transport=httpx.MockTransport(provider)) as client:
        yield client


async def test_known_keys_pass_while_the_endpoint_is_down_for_ten_minutes(
    provider: Provider, client: httpx.AsyncClient
) -> None:
    keys = provider.keys(client)
    await keys.warm_up()
    provider.up = False
    for _ in range(20):
        provider.now += 30
        assert await keys.find("key-1") is not None
    await keys.aclose()


async def test_keys_are_forgotten_after_an_hour_without_the_endpoint(
    provider: Provider, client: httpx.AsyncClient
) -> None:
    keys = provider.keys(client)
    await keys.warm_up()
    provider.up = False
    provider.now += 3_599
    assert await keys.find("key-1") is not None
    provider.now += 31
    with pytest.raises(UnavailableError):
        await keys.find("key-1")
    await keys.aclose()


@pytest.mark.parametrize("up", [True, False])
async def test_ten_thousand_unknown_keys_cause_one_fetch_in_thirty_seconds(
    provider: Provider, client: httpx.AsyncClient, *, up: bool
) -> None:
    keys = provider.keys(client)
    await keys.warm_up()
    provider.requests.clear()
    provider.up, provider.now = up, provider.now + 31

    for start in range(0, 10_000, 500):
        unknown = await asyncio.gather(*(keys.find(f"unknown-{start + n}") for n in range(500)))
        assert unknown == [None] * 500
        assert await keys.find("key-1") is not None
        provider.now += 29 / 20

    assert len(provider.requests) == 1


async def test_failed_fetches_count_while_no_key_is_known(provider: Provider, client: httpx.AsyncClient) -> None:
    keys, provider.up = provider.keys(client), False
    for _ in range(100):
        with pytest.raises(UnavailableError):
            await keys.find("key-1")
    assert len(provider.requests) == 1
    provider.up, provider.now = True, provider.now + 30
    assert await keys.find("key-1") is not None


async def test_old_keys_are_refreshed_without_making_a_request_wait(
    provider: Provider, client: httpx.AsyncClient
) -> None:
    keys = provider.keys(client)
    await keys.warm_up()
    provider.now += 601
    assert await keys.find("key-1") is not None
    assert len(provider.requests) == 1, "the answer came before the second fetch began"
    for _ in range(20):
        await asyncio.sleep(0)
    assert len(provider.requests) == 2


async def test_a_request_that_leaves_does_not_end_the_fetch_of_the_others(
    provider: Provider, client: httpx.AsyncClient
) -> None:
    keys = provider.keys(client)
    leaver, stayer = asyncio.create_task(keys.find("key-1")), asyncio.create_task(keys.find("key-1"))
    await asyncio.sleep(0)
    leaver.cancel()
    assert await stayer is not None
    assert len(provider.requests) == 1


async def test_a_removed_key_is_refused_after_the_next_refresh(provider: Provider, client: httpx.AsyncClient) -> None:
    keys = provider.keys(client)
    await keys.warm_up()
    published = httpx.Response(200, json=Issuer().jwk_set()).json()["keys"][0]
    provider.answer = httpx.Response(200, json={"keys": [published | {"kid": "key-2"}]})
    provider.now += 31
    assert await keys.find("key-2") is not None
    assert await keys.find("key-1") is None


async def test_the_endpoint_is_discovered_when_none_is_configured(
    provider: Provider, client: httpx.AsyncClient
) -> None:
    keys = provider.keys(client, jwks_url="")
    assert await keys.find("key-1") is not None
    assert provider.requests == ["/.well-known/openid-configuration", "/jwks"]


@pytest.mark.parametrize(
    "discovery",
    [
        {"issuer": "https://idp.attacker.example", "jwks_uri": JWKS_URL},
        {"issuer": ISSUER},
        {"issuer": ISSUER, "jwks_uri": "http://idp.test.example/jwks"},
        {"issuer": ISSUER, "jwks_uri": "file:///keys"},
    ],
)
async def test_a_discovery_document_of_another_issuer_is_not_followed(
    provider: Provider, client: httpx.AsyncClient, discovery: dict[str, object]
) -> None:
    provider.discovery = discovery
    with pytest.raises(UnavailableError):
        await provider.keys(client, jwks_url="").find("key-1")
    assert provider.requests == ["/.well-known/openid-configuration"]


@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(500),
        httpx.Response(302, headers={"Location": "https://idp.attacker.example/jwks"}),
        httpx.Response(200, content=b" " * 300_000),
        httpx.Response(200, content=b"not JSON"),
        httpx.Response(200, content=b"[" * 100_000),
        httpx.Response(200, json={"keys": []}),
    ],
)
async def test_an_unusable_answer_keeps_the_last_good_keys(
    provider: Provider, client: httpx.AsyncClient, answer: httpx.Response
) -> None:
    keys = provider.keys(client)
    await keys.warm_up()
    provider.answer, provider.now = answer, provider.now + 31
    assert await keys.find("unknown") is None
    assert await keys.find("key-1") is not None
    assert provider.requests == ["/jwks", "/jwks"]
