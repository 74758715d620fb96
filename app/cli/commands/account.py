"""Commands about who you are: login, logout, token, whoami."""

import functools
from typing import Annotated

import typer

from app.cli import output, signin
from app.cli.client import JsonObject
from app.cli.options import JsonOption, UrlOption, target
from app.cli.running import run_client
from app.cli.session import Session


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    for command in (login, logout, token, whoami):
        app.command(rich_help_panel="Signing in")(command)


def login(url: UrlOption = None) -> None:
    """Sign in with a browser, on this machine or another."""
    run_client(target(url), _login)


def logout(url: UrlOption = None) -> None:
    """Forget the login for this address; the default workspace is kept for the next one."""
    run_client(target(url), _logout)


def token(
    user: Annotated[str, typer.Argument(help="A demo user: alice, bob or mallory.")],
    *,
    save: Annotated[bool, typer.Option("--save", help="Sign in as this user instead of printing a token.")] = False,
    url: UrlOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print an access token of a demo user, which lasts for some minutes, or sign in; the embedded service only."""
    run_client(target(url, as_json=as_json), functools.partial(_token, user=user, save=save))


def whoami(*, url: UrlOption = None, as_json: JsonOption = False) -> None:
    """Say who you are for the service, and where you belong."""
    run_client(target(url, as_json=as_json), _whoami)


async def _login(session: Session) -> None:
    provider = await _provider(session)
    code = await signin.start_device_flow(session.http, provider)
    output.say(f"Open this address in a browser:\n\n  {code.complete_address or code.address}\n")
    output.say(f"and confirm that it shows the code {code.user_code}. Waiting.")
    given = await signin.finish_device_flow(session.http, provider, code)
    session.store.save_login(session.target.url, given)
    output.say(f"You are signed in at {session.target.url}.")
    await _tell_default(session)


async def _logout(session: Session) -> None:
    known = session.store.login(session.target.url)
    if known:
        await signin.revoke(session.http, known)
    session.store.save_login(session.target.url, None)
    output.say(f"You are signed out at {session.target.url}." if known else "You were not signed in.")


async def _token(session: Session, *, user: str, save: bool) -> None:
    given = await signin.demo_user(session.http, await _provider(session), user)
    if save:
        session.store.save_login(session.target.url, given)
        if session.target.as_json:
            output.print_json({"saved": True, "username": user, "expires_at": int(given.expires_at)})
        else:
            output.say(f"Signed in as {user} at {session.target.url}; the token is renewed by itself.")
        await _tell_default(session)
    elif session.target.as_json:
        output.print_json({"access_token": given.access_token, "expires_at": int(given.expires_at)})
    else:
        typer.echo(given.access_token)


async def _tell_default(session: Session) -> None:
    """Keep the default workspace of the one who was signed in before, if the new one belongs there too."""
    default = session.store.workspace(session.target.url)
    if default is None:
        return
    name = next((each["name"] for each in await session.workspaces() if each["id"] == default), None)
    if name is None:
        session.store.save_workspace(session.target.url, None)
    elif not session.target.as_json:
        output.say(f"Commands use the workspace '{name}', as before.")


async def _whoami(session: Session) -> None:
    me = await session.me()
    if session.target.as_json:
        output.print_json(me)
        return
    user = me["user"]
    output.print_fields(
        {
            "Name": user.get("display_name") or "(not given)",
            "E-mail": user.get("email") or "(not given)",
            "User id": user["id"],
            "Service": session.target.url,
            "Workspaces": ", ".join(f"{each['name']} ({each['role']})" for each in me["workspaces"]) or "none",
        }
    )


async def _provider(session: Session) -> signin.Provider:
    config: JsonObject = await session.config()
    return await signin.discover(
        session.http,
        issuer=str(config["issuer"]),
        client_id=str(config["cli_client_id"]),
        audience=str(config["audience"]),
        api_scope=str(config.get("api_scope") or ""),
    )
