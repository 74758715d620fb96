"""Getting tokens from the identity provider that a service names: device flow, refresh, and the demo users."""

import asyncio
import contextlib
import dataclasses
import time
from collections.abc import Mapping
from dataclasses import dataclass

import httpx

from app.cli.credentials import Login
from app.cli.errors import CliError, NotSignedInError, UnreachableError

DEVICE_CODE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
DEMO_USER_GRANT = "urn:groundeddocs:params:oauth:grant-type:demo-user"
_SCOPES = ("openid", "offline_access", "documents:read", "documents:write", "ask", "workspaces:manage")
_FALLBACK_SCOPES = ("openid", "offline_access")
# RFC 8628: how much slower to ask after `slow_down`, and how often to ask when the provider does not say.
_SLOW_DOWN_SECONDS = 5.0
_INTERVAL_SECONDS = 5.0
_DEFAULT_LIFETIME_SECONDS = 300.0
# A provider that knows a login no longer, or gives no such tokens any more: signing in again is what helps.
_ENDED = frozenset({"invalid_grant", "unsupported_grant_type", "unauthorized_client"})


@dataclass(frozen=True, slots=True)
class Provider:
    """An identity provider as its discovery document describes it.

    Args:
        issuer: Its name, exactly.
        client_id: Our client there.
        audience: The API that tokens shall be for; empty when a scope names it.
        token_endpoint: Where tokens are given.
        device_endpoint: Where a device flow starts; empty when the provider has none.
        revocation_endpoint: Where refresh tokens are given back; None when the provider takes none back.
        scopes: What to ask for.
    """

    issuer: str
    client_id: str
    audience: str
    token_endpoint: str
    device_endpoint: str
    revocation_endpoint: str | None
    scopes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DeviceCode:
    """A started device flow; the person opens `address` and compares or enters `user_code`."""

    address: str
    complete_address: str | None
    user_code: str
    device_code: str
    interval: float
    expires_in: float


async def discover(http: httpx.AsyncClient, *, issuer: str, client_id: str, audience: str, api_scope: str) -> Provider:
    """Read the provider's discovery document.

    Args:
        http: Client to ask with.
        issuer: The provider.
        client_id: Our client there.
        audience: The API, which is named as `resource` (RFC 8707) unless a scope does that.
        api_scope: The scope that stands for the API at providers without `resource`; empty for the others.

    Raises:
        UnreachableError: The provider does not answer.
        CliError: What it answers is not a discovery document of this issuer.
    """
    document = await _get(http, f"{issuer.rstrip('/')}/.well-known/openid-configuration", issuer)
    if document.get("issuer") != issuer or not isinstance(document.get("token_endpoint"), str):
        raise CliError(f"The identity provider at {issuer} does not describe itself as that issuer.")
    return Provider(
        issuer=issuer,
        client_id=client_id,
        audience="" if api_scope else audience,
        token_endpoint=str(document["token_endpoint"]),
        device_endpoint=str(document.get("device_authorization_endpoint") or ""),
        revocation_endpoint=str(revocation) if (revocation := document.get("revocation_endpoint")) else None,
        scopes=(*_FALLBACK_SCOPES, api_scope) if api_scope else _known_scopes(document.get("scopes_supported")),
    )


def _known_scopes(known: object) -> tuple[str, ...]:
    return tuple(name for name in _SCOPES if name in known) if isinstance(known, list) else _FALLBACK_SCOPES


def _resource(audience: str) -> dict[str, str]:
    return {"resource": audience} if audience else {}


async def start_device_flow(http: httpx.AsyncClient, provider: Provider) -> DeviceCode:
    """Ask the provider for a code that a person confirms in a browser.

    Raises:
        CliError: The provider has no device flow, or refuses.
    """
    if not provider.device_endpoint:
        raise CliError(f"The identity provider {provider.issuer} has no device flow. Set GROUNDEDDOCS_TOKEN instead.")
    fields = {"client_id": provider.client_id, "scope": " ".join(provider.scopes)} | _resource(provider.audience)
    answer = await _post(http, provider.device_endpoint, fields)
    if "error" in answer or "device_code" not in answer:
        raise CliError(f"The identity provider refused to start a sign-in: {_reason(answer)}.")
    return DeviceCode(
        address=str(answer["verification_uri"]),
        complete_address=str(answer["verification_uri_complete"]) if answer.get("verification_uri_complete") else None,
        user_code=str(answer["user_code"]),
        device_code=str(answer["device_code"]),
        interval=_number(answer.get("interval"), _INTERVAL_SECONDS),
        expires_in=_number(answer.get("expires_in"), _DEFAULT_LIFETIME_SECONDS),
    )


async def finish_device_flow(http: httpx.AsyncClient, provider: Provider, code: DeviceCode) -> Login:
    """Wait until the person has confirmed.

    Raises:
        NotSignedInError: The person refused, or the code ran out.
    """
    fields = {"grant_type": DEVICE_CODE_GRANT, "device_code": code.device_code, "client_id": provider.client_id}
    interval, deadline = code.interval, time.monotonic() + code.expires_in
    while time.monotonic() < deadline:
        await asyncio.sleep(interval)
        answer = await _post(http, provider.token_endpoint, fields)
        error = answer.get("error")
        if error is None:
            return _login(provider, answer)
        interval = next_interval(interval, _reason(answer), error)
    raise NotSignedInError("The code ran out before it was confirmed. Run `groundeddocs login` again.")


def next_interval(interval: float, reason: str, error: object) -> float:
    """Return how long to wait before asking again, in seconds.

    Raises:
        NotSignedInError: The error is final.
    """
    if error == "authorization_pending":
        return interval
    if error == "slow_down":
        return interval + _SLOW_DOWN_SECONDS
    raise NotSignedInError(f"The sign-in was not confirmed: {reason}.")


async def demo_user(http: httpx.AsyncClient, provider: Provider, username: str) -> Login:
    """Get a token for a demo user of the embedded identity provider.

    Raises:
        CliError: There is no such user, or this provider gives no such tokens.
    """
    answer = await _ask_for_demo_user(http, provider.token_endpoint, provider.client_id, username)
    if answer.get("error") in {"unsupported_grant_type", "unauthorized_client"}:
        raise CliError(f"{provider.issuer} has no demo users; only the embedded one has. Use `groundeddocs login`.")
    if answer.get("error") == "invalid_grant":
        raise CliError(f"There is no demo user '{username}'. The demo users are alice, bob and mallory.")
    if "error" in answer:
        raise CliError(f"No token for '{username}': {_reason(answer)}.")
    return dataclasses.replace(_login(provider, answer), demo_user=username)


async def _ask_for_demo_user(
    http: httpx.AsyncClient, endpoint: str, client_id: str, username: str
) -> Mapping[str, object]:
    return await _post(http, endpoint, {"grant_type": DEMO_USER_GRANT, "client_id": client_id, "username": username})


async def refresh(http: httpx.AsyncClient, login: Login) -> Login | None:
    """Trade the refresh token for new tokens, or ask for a demo user's again; None when the provider refuses that.

    Raises:
        UnreachableError: The provider does not answer; the refresh token may still work later.
    """
    if login.refresh_token is not None:
        fields = {
            "grant_type": "refresh_token",
            "refresh_token": login.refresh_token,
            "client_id": login.client_id,
        } | _resource(login.audience)
        answer = await _post(http, login.token_endpoint, fields)
    elif login.demo_user is not None:
        answer = await _ask_for_demo_user(http, login.token_endpoint, login.client_id, login.demo_user)
    else:
        return None
    if answer.get("error") in _ENDED:
        return None
    if "error" in answer:
        raise CliError(f"The identity provider did not renew the login: {_reason(answer)}.")
    return dataclasses.replace(
        login,
        access_token=_token(answer),
        refresh_token=str(new) if (new := answer.get("refresh_token") or login.refresh_token) else None,
        expires_at=_expiry(answer),
    )


async def revoke(http: httpx.AsyncClient, login: Login) -> None:
    """Give the refresh token back, so that a copy of it is worth nothing; without effect when out of reach."""
    if login.refresh_token is None or login.revocation_endpoint is None:
        return
    fields = {"token": login.refresh_token, "token_type_hint": "refresh_token", "client_id": login.client_id}
    with contextlib.suppress(httpx.TransportError):  # the user asked to be signed out here, and that works offline
        await http.post(login.revocation_endpoint, data=fields)


def _login(provider: Provider, answer: Mapping[str, object]) -> Login:
    refresh_token = answer.get("refresh_token")
    return Login(
        access_token=_token(answer),
        refresh_token=str(refresh_token) if refresh_token else None,
        expires_at=_expiry(answer),
        token_endpoint=provider.token_endpoint,
        client_id=provider.client_id,
        audience=provider.audience,
        revocation_endpoint=provider.revocation_endpoint,
    )


def _token(answer: Mapping[str, object]) -> str:
    token = answer.get("access_token")
    if not isinstance(token, str) or not token:
        raise CliError("The identity provider answered without an access token.")
    return token


def _expiry(answer: Mapping[str, object]) -> float:
    return time.time() + _number(answer.get("expires_in"), _DEFAULT_LIFETIME_SECONDS)


def _number(value: object, default: float) -> float:
    return float(value) if isinstance(value, int | float) else default


def _reason(answer: Mapping[str, object]) -> str:
    return str(answer.get("error_description") or answer.get("error") or "it gave no reason").rstrip(".")


async def _get(http: httpx.AsyncClient, url: str, issuer: str) -> Mapping[str, object]:
    try:
        return _members(await http.get(url, headers={"Accept": "application/json"}))
    except httpx.TransportError as error:
        raise UnreachableError(f"The identity provider {issuer} does not answer.") from error


async def _post(http: httpx.AsyncClient, url: str, fields: Mapping[str, str]) -> Mapping[str, object]:
    try:
        answer = _members(await http.post(url, data=dict(fields), headers={"Accept": "application/json"}))
    except httpx.TransportError as error:
        raise UnreachableError(f"The identity provider at {httpx.URL(url).host} does not answer.") from error
    return answer


def _members(response: httpx.Response) -> Mapping[str, object]:
    """Return the members of a JSON answer; a server error is raised, since it says nothing about a token."""
    if response.status_code >= httpx.codes.INTERNAL_SERVER_ERROR:
        raise UnreachableError(f"The identity provider has a fault (HTTP {response.status_code}). Try again later.")
    try:
        content = response.json()
    except ValueError:
        content = None
    if isinstance(content, dict) and (response.is_success or "error" in content):
        return content
    raise CliError(f"The identity provider gave an answer that is not understood (HTTP {response.status_code}).")
