"""The identity provider's keys: fetched in the background, kept through outages, and never on demand of an attacker.

A token names its key (`kid`), and anybody can write any name. So an unknown name causes at most one fetch in
`REFRESH_GAP_SECONDS`, failed fetches counted, and requests with a known key never wait for one.
"""

import asyncio
import json
import time
from collections.abc import Callable, Iterable
from typing import Protocol
from urllib.parse import urlsplit

import httpx
import structlog

from app.auth.keys import VerificationKey, usable_keys
from app.core.errors import UnavailableError

REFRESH_GAP_SECONDS = 30.0
REFRESH_AFTER_SECONDS = 600.0
KEEP_SECONDS = 3_600.0
FETCH_SECONDS = 2.0
MAX_RESPONSE_BYTES = 256 * 1024

log = structlog.get_logger(__name__)


class KeySource(Protocol):
    """Finds verification keys by name."""

    async def find(self, kid: str) -> VerificationKey | None:
        """Return the key of this name, or None when the provider has none.

        Raises:
            UnavailableError: No key at all is known, so nothing can be said about any token.
        """


class KeysUnusableError(Exception):
    """The provider's answer cannot be used; the last good keys stay."""


class JwksCache:
    """The keys of one issuer.

    Args:
        client: HTTP client; its owner closes it.
        issuer: Issuer, for discovery when `jwks_url` is empty.
        jwks_url: Address of the keys, or empty.
        algorithms: Accepted algorithms, all of one asymmetric family.
        monotonic: Seconds of a clock that never goes back.
    """

    def __init__(
        self,
        client: httpx.AsyncClient,
        *,
        issuer: str,
        jwks_url: str,
        algorithms: Iterable[str],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._issuer = issuer
        self._configured_url = jwks_url
        self._url = jwks_url
        self._algorithms = tuple(algorithms)
        self._monotonic = monotonic
        self._keys: dict[str, VerificationKey] = {}
        self._fetched_at = float("-inf")
        self._attempted_at = float("-inf")
        self._refresh: asyncio.Task[None] | None = None

    async def find(self, kid: str) -> VerificationKey | None:
        """Return the key of this name; see `KeySource.find`."""
        key = self._known(kid)
        if key is None:
            await self._refreshed()
            key = self._known(kid)
        elif self._monotonic() - self._fetched_at >= REFRESH_AFTER_SECONDS:
            self._start_refresh()
        if key is None and not self._are_good():
            raise UnavailableError("The identity provider's keys are out of reach. Try again in a moment.")
        return key

    async def warm_up(self) -> None:
        """Fetch the keys before the first request needs them; an outage is logged and nothing more."""
        await self._refreshed()

    async def aclose(self) -> None:
        """End a fetch that is under way."""
        if self._refresh and not self._refresh.done():
            self._refresh.cancel()
            await asyncio.wait([self._refresh])

    def _are_good(self) -> bool:
        return self._monotonic() - self._fetched_at < KEEP_SECONDS

    def _known(self, kid: str) -> VerificationKey | None:
        return self._keys.get(kid) if self._are_good() else None

    def _start_refresh(self) -> asyncio.Task[None] | None:
        """Return the fetch under way, a new one, or None when the last one is too recent."""
        if self._refresh and not self._refresh.done():
            return self._refresh
        if self._monotonic() - self._attempted_at < REFRESH_GAP_SECONDS:
            return None
        self._attempted_at = self._monotonic()
        self._refresh = asyncio.create_task(self._fetch())
        return self._refresh

    async def _refreshed(self) -> None:
        if task := self._start_refresh():
            # Many requests wait for one fetch: the one that leaves must not end it for the others.
            await asyncio.wait([task])

    async def _fetch(self) -> None:
        try:
            url = self._url or await self._discover()
            keys = await self._load(url)
        except (httpx.HTTPError, httpx.InvalidURL, TimeoutError, KeysUnusableError) as error:
            self._url = self._configured_url  # the discovered address may have changed
            log.warning("auth.keys_not_refreshed", reason=str(error) or type(error).__name__)
            return
        self._url, self._keys, self._fetched_at = url, keys, self._monotonic()
        log.info("auth.keys_refreshed", keys=len(keys))

    async def _load(self, url: str) -> dict[str, VerificationKey]:
        keys = usable_keys(await self._get_json(url), self._algorithms)
        if not keys:
            raise KeysUnusableError("no usable key in the set")
        return keys

    async def _discover(self) -> str:
        document = await self._get_json(self._issuer.rstrip("/") + "/.well-known/openid-configuration")
        url = document.get("jwks_uri") if isinstance(document, dict) else None
        if not isinstance(document, dict) or document.get("issuer") != self._issuer or not isinstance(url, str):
            raise KeysUnusableError("the discovery document does not belong to the configured issuer")
        if urlsplit(url).scheme not in {"https", urlsplit(self._issuer).scheme}:
            raise KeysUnusableError("the discovered address of the keys is not https")
        return url

    async def _get_json(self, url: str) -> object:
        async with asyncio.timeout(FETCH_SECONDS), self._client.stream("GET", url, follow_redirects=False) as response:
            if response.status_code != httpx.codes.OK:
                raise KeysUnusableError(f"the provider answered {response.status_code}")
            body = bytearray()
            async for piece in response.aiter_bytes():
                body += piece
                if len(body) > MAX_RESPONSE_BYTES:
                    raise KeysUnusableError("the provider's answer is too large")
        try:
            return json.loads(body)
        except (ValueError, RecursionError) as error:
            raise KeysUnusableError("the provider's answer is not JSON") from error
