"""Login, renewal and logout against a provider."""

import asyncio
import stat
import time
from collections.abc import Callable

import httpx
import pytest

from app.cli.credentials import CredentialStore, Login
from app.cli.session import Tokens
from app.cli.signin import discover, start_device_flow
from tests.integration.cli.conftest import Shell
from tests.integration.cli.standin import WORKSPACE_ID, Reply, Request, StandIn, problem, reply


def login_at(service: StandIn, *, access: str = "old-access", refresh: str | None = "refresh-1", ends: float) -> Login:
    return Login(
        access_token=access,
        refresh_token=refresh,
        expires_at=time.time() + ends,
        token_endpoint=f"{service.url}/token",
        client_id="cli",
        audience="urn:groundeddocs:api",
        revocation_endpoint=f"{service.url}/revoke",
    )


def rotating() -> Callable[[Request], Reply]:
    """Give new tokens for a refresh token once; what was used already is refused, as providers do."""
    given = ["refresh-1"]

    def answer(request: Request) -> Reply:
        time.sleep(0.1)  # long enough for another one to come in between
        if request.form()["refresh_token"] != given[-1]:
            return reply({"error": "invalid_grant"}, 400)
        number = len(given) + 1
        given.append(f"refresh-{number}")
        return reply({"access_token": f"access-{number}", "refresh_token": given[-1], "expires_in": 900})

    return answer


def test_device_flow_shows_the_code_waits_and_keeps_the_tokens(
    stranger: Shell, service: StandIn, store: CredentialStore
) -> None:
    started = {
        "device_code": "secret-device-code",
        "user_code": "WDJB-MJHT",
        "verification_uri": "http://idp/device",
        "expires_in": 60,
        "interval": 0.01,
    }
    service.on("POST", "/device/auth", reply(started))
    tokens = {"access_token": "new-access", "refresh_token": "new-refresh", "expires_in": 900}
    service.on("POST", "/token", reply({"error": "authorization_pending"}, 400), reply(tokens))
    ended = stranger("login")
    assert ended.code == 0
    assert "http://idp/device" in ended.err
    assert "WDJB-MJHT" in ended.err
    for secret in ("new-access", "new-refresh", "secret-device-code"):
        assert secret not in ended.out + ended.err
    asked = service.calls("POST", "/device/auth")[0].form()
    assert asked == {"client_id": "cli", "scope": "openid offline_access ask", "resource": "urn:groundeddocs:api"}
    assert len(service.calls("POST", "/token")) == 2
    kept = store.login(service.url)
    assert kept is not None
    assert (kept.access_token, kept.refresh_token) == ("new-access", "new-refresh")


def test_refused_device_flow_ends_as_not_signed_in(stranger: Shell, service: StandIn, store: CredentialStore) -> None:
    started = {"device_code": "d", "user_code": "u", "verification_uri": "http://idp", "interval": 0.01}
    service.on("POST", "/device/auth", reply(started))
    service.on("POST", "/token", reply({"error": "access_denied", "error_description": "refused by the user"}, 400))
    ended = stranger("login")
    assert (ended.code, ended.out) == (3, "")
    assert "refused by the user" in ended.err
    assert store.login(service.url) is None


def test_provider_that_calls_itself_otherwise_gets_no_request(stranger: Shell, service: StandIn) -> None:
    other = {"issuer": "https://other.example", "token_endpoint": f"{service.url}/token"}
    service.on("GET", "/.well-known/openid-configuration", reply(other))
    assert stranger("login").code == 1
    assert service.calls("POST", "/token") == []


def test_files_are_closed_to_others(service: StandIn, store: CredentialStore) -> None:
    store.save_login(service.url, login_at(service, ends=900))
    store.save_workspace(service.url, "some-id")
    folder = store._folder
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert [stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()] == [0o600, 0o600]


def test_logins_of_two_addresses_are_kept_apart(service: StandIn, store: CredentialStore) -> None:
    store.save_login("http://a", login_at(service, access="a", ends=900))
    store.save_login("http://b", login_at(service, access="b", ends=900))
    store.save_login("http://a", None)
    kept = store.login("http://b")
    assert store.login("http://a") is None
    assert kept is not None
    assert kept.access_token == "b"


def test_token_that_ends_soon_is_renewed_before_it_is_used(
    stranger: Shell, service: StandIn, store: CredentialStore
) -> None:
    store.save_login(service.url, login_at(service, ends=5))
    service.on("POST", "/token", rotating())
    assert stranger("whoami").code == 0
    assert service.calls("GET", "/v1/me")[0].headers["Authorization"] == "Bearer access-2"
    kept = store.login(service.url)
    assert kept is not None
    assert kept.refresh_token == "refresh-2"


def test_refused_token_is_renewed_once_and_the_request_sent_again(
    stranger: Shell, service: StandIn, store: CredentialStore
) -> None:
    store.save_login(service.url, login_at(service, ends=900))
    service.on("POST", "/token", rotating())
    service.on("GET", "/v1/me", problem(401, "Not signed in", "It was revoked."))
    ended = stranger("whoami")
    assert ended.code == 3
    sent = [request.headers["Authorization"] for request in service.calls("GET", "/v1/me")]
    assert sent == ["Bearer old-access", "Bearer access-2"]


async def test_many_renewals_at_once_use_the_refresh_token_once(service: StandIn, store: CredentialStore) -> None:
    store.save_login(service.url, login_at(service, ends=5))
    service.on("POST", "/token", rotating())
    async with httpx.AsyncClient() as http:
        given = await asyncio.gather(
            *(Tokens(http, CredentialStore(), service.url).current(refused=False) for _ in range(8))
        )
    assert given == ["access-2"] * 8
    assert len(service.calls("POST", "/token")) == 1


def test_ended_sign_in_is_told_as_such(stranger: Shell, service: StandIn, store: CredentialStore) -> None:
    store.save_login(service.url, login_at(service, ends=-5, refresh="used-already"))
    service.on("POST", "/token", rotating())
    ended = stranger("whoami")
    assert ended.code == 3
    assert "groundeddocs login" in ended.err


def test_login_survives_an_outage_of_the_provider(stranger: Shell, service: StandIn, store: CredentialStore) -> None:
    store.save_login(service.url, login_at(service, ends=5))
    service.on("POST", "/token", Reply(503))
    assert stranger("whoami").code == 4
    assert store.login(service.url) is not None


def test_logout_gives_the_refresh_token_back_and_forgets(
    stranger: Shell, service: StandIn, store: CredentialStore
) -> None:
    store.save_login(service.url, login_at(service, ends=900))
    service.on("POST", "/revoke", Reply())
    assert stranger("logout").code == 0
    assert service.calls("POST", "/revoke")[0].form()["token"] == "refresh-1"
    assert store.login(service.url) is None


def test_command_without_login_says_how_to_sign_in(stranger: Shell, service: StandIn) -> None:
    ended = stranger("whoami")
    assert (ended.code, ended.out) == (3, "")
    assert "groundeddocs login" in ended.err
    assert service.requests == []


def test_token_of_a_demo_user_is_all_that_is_printed(stranger: Shell, service: StandIn, store: CredentialStore) -> None:
    service.on("POST", "/token", reply({"access_token": "alice-token", "expires_in": 900}))
    ended = stranger("token", "alice")
    assert (ended.code, ended.out, ended.err) == (0, "alice-token\n", "")
    assert service.calls("POST", "/token")[0].form() == {
        "grant_type": "urn:groundeddocs:params:oauth:grant-type:demo-user",
        "client_id": "cli",
        "username": "alice",
    }
    assert store.login(service.url) is None


def test_token_with_save_is_the_login_from_then_on(stranger: Shell, service: StandIn) -> None:
    service.on("POST", "/token", reply({"access_token": "alice-token", "expires_in": 900}))
    ended = stranger("token", "alice", "--save")
    told = f"Signed in as alice at {service.url}; the token is renewed by itself.\n"
    assert (ended.code, ended.out, ended.err) == (0, "", told)
    assert stranger("whoami").code == 0
    assert service.calls("GET", "/v1/me")[0].headers["Authorization"] == "Bearer alice-token"


def test_saved_token_is_not_in_the_json(stranger: Shell, service: StandIn) -> None:
    service.on("POST", "/token", reply({"access_token": "alice-token", "expires_in": 900}))
    ended = stranger("token", "alice", "--save", "--json")
    assert ended.json().items() >= {"saved": True, "username": "alice"}.items()
    assert "alice-token" not in ended.out + ended.err
    assert ended.err == ""


def test_unknown_demo_user_is_told_who_there_is(stranger: Shell, service: StandIn) -> None:
    refusal = {"error": "invalid_grant", "error_description": "grant request is invalid"}
    service.on("POST", "/token", reply(refusal, 400))
    ended = stranger("token", "nobody")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err == "There is no demo user 'nobody'. The demo users are alice, bob and mallory.\n"


def test_provider_without_demo_users_is_told(stranger: Shell, service: StandIn) -> None:
    service.on("POST", "/token", reply({"error": "unsupported_grant_type"}, 400))
    ended = stranger("token", "alice")
    assert (ended.code, ended.out) == (1, "")
    assert "no demo users" in ended.err


@pytest.mark.parametrize("content", ["", "{", "[]"])
def test_damaged_file_never_ends_in_a_traceback(
    stranger: Shell, store: CredentialStore, service: StandIn, content: str
) -> None:
    store.save_login(service.url, login_at(service, ends=900))
    (store._folder / "logins.json").write_text(content)
    ended = stranger("whoami")
    assert ended.code in {1, 3}
    assert "Traceback" not in ended.err


async def test_a_scope_names_the_api_where_the_provider_refuses_resource(service: StandIn) -> None:
    started = {"device_code": "d", "user_code": "u", "verification_uri": "http://idp/device"}
    service.on("POST", "/device/auth", reply(started))
    async with httpx.AsyncClient() as http:
        provider = await discover(
            http, issuer=service.url, client_id="cli", audience="urn:groundeddocs:api", api_scope="api://docs/ask"
        )
        await start_device_flow(http, provider)
    asked = service.requests[-1].form()
    assert asked["scope"] == "openid offline_access api://docs/ask"
    assert "resource" not in asked


async def test_the_audience_is_named_as_resource_without_such_a_scope(service: StandIn) -> None:
    service.on("POST", "/device/auth", reply({"device_code": "d", "user_code": "u", "verification_uri": "http://idp"}))
    async with httpx.AsyncClient() as http:
        provider = await discover(
            http, issuer=service.url, client_id="cli", audience="urn:groundeddocs:api", api_scope=""
        )
        await start_device_flow(http, provider)
    assert service.requests[-1].form()["resource"] == "urn:groundeddocs:api"


def test_sign_in_of_a_demo_user_is_renewed(stranger: Shell, service: StandIn) -> None:
    first = reply({"access_token": "alice-1", "expires_in": 1})
    service.on("POST", "/token", first, reply({"access_token": "alice-2", "expires_in": 900}))
    stranger("token", "alice", "--save")
    assert stranger("whoami").code == 0
    assert service.calls("GET", "/v1/me")[0].headers["Authorization"] == "Bearer alice-2"
    assert service.calls("POST", "/token")[1].form()["username"] == "alice"
    stranger("whoami")
    assert len(service.calls("POST", "/token")) == 2


@pytest.mark.parametrize("error", ["invalid_grant", "unsupported_grant_type"])
def test_ended_sign_in_names_the_command_that_was_used(stranger: Shell, service: StandIn, error: str) -> None:
    first = reply({"access_token": "alice-1", "expires_in": 1})
    service.on("POST", "/token", first, reply({"error": error}, 400))
    stranger("token", "alice", "--save")
    ended = stranger("whoami")
    assert ended.code == 3
    assert "`groundeddocs token alice --save`" in ended.err
    assert "groundeddocs login" not in ended.err


def test_default_workspace_survives_signing_out_and_in(
    stranger: Shell, service: StandIn, store: CredentialStore
) -> None:
    service.on("POST", "/token", reply({"access_token": "alice-token", "expires_in": 900}))
    stranger("token", "alice", "--save")
    assert stranger("workspaces", "use", "Field service").code == 0
    assert "Commands use the workspace 'Field service', as before." in stranger("token", "alice", "--save").err
    stranger("logout")
    stranger("token", "alice", "--save")
    assert store.workspace(service.url) == WORKSPACE_ID


def test_default_workspace_goes_when_the_next_user_is_not_in_it(
    stranger: Shell, service: StandIn, store: CredentialStore
) -> None:
    store.save_workspace(service.url, "99999999-9999-9999-9999-999999999999")
    service.on("POST", "/token", reply({"access_token": "mallory-token", "expires_in": 900}))
    assert stranger("token", "mallory", "--save").code == 0
    assert store.workspace(service.url) is None
