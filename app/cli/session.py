"""A command's connection: whose token goes along, and which workspace is meant."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpx

from app.cli import signin
from app.cli.client import Api, Call, JsonObject
from app.cli.credentials import CredentialStore
from app.cli.errors import CliError, ForeignServiceError, NotSignedInError
from app.cli.ids import canonical
from app.cli.options import ClientEnvironment, Target

_SIGN_IN = "Sign in with `groundeddocs login`, or set GROUNDEDDOCS_TOKEN."
_SIGN_IN_HERE = "With the demo users of `make up`, `groundeddocs token alice --save` is enough."


@dataclass(frozen=True, slots=True)
class Session:
    """What a command works with.

    Args:
        target: Where to and how to print.
        http: Pool for other addresses, such as the identity provider.
        api: The service, outside of any workspace.
        store: Logins and defaults of this user.
    """

    target: Target
    http: httpx.AsyncClient
    api: Api
    store: CredentialStore

    async def config(self) -> JsonObject:
        """Return the public configuration of the service.

        Raises:
            ForeignServiceError: What answers has none.
        """
        found = await self.api.json(Call("GET", "/v1/config", anonymous=True))
        if "issuer" not in found:
            raise ForeignServiceError(self.target.url)
        return found

    async def in_workspace(self) -> Api:
        """Return the service as seen from the workspace that this command means.

        Raises:
            CliError: None was named, and it is not clear which one is meant.
        """
        wanted = self.target.workspace or self.store.workspace(self.target.url)
        if wanted and (known := canonical(wanted)):
            return self.api.within(known)
        return self.api.within(choose(await self.workspaces(), wanted))

    async def workspaces(self) -> list[JsonObject]:
        """Return the workspaces of this user with their roles."""
        return list((await self.me())["workspaces"])

    async def me(self) -> JsonObject:
        """Return who this user is for the service.

        Raises:
            ForeignServiceError: What answers knows no users.
        """
        found = await self.api.json(Call("GET", "/v1/me"))
        if "user" not in found or "workspaces" not in found:
            raise ForeignServiceError(self.target.url)
        return found


@asynccontextmanager
async def open_session(target: Target) -> AsyncIterator[Session]:
    """Open the connection of a command."""
    store = CredentialStore()
    # Proxies of the environment are for the internet; a token for this machine must not pass through one.
    async with httpx.AsyncClient(follow_redirects=False, trust_env=not _on_this_machine(target.url)) as http:
        tokens = Tokens(http, store, target.url)
        yield Session(target, http, Api(http, target.url, tokens.current), store)


class Tokens:
    """Gives the access token of a user and renews it before it ends.

    Args:
        http: Pool for the identity provider.
        store: Where the login is kept.
        url: Service that the login belongs to.
    """

    def __init__(self, http: httpx.AsyncClient, store: CredentialStore, url: str) -> None:
        self._http = http
        self._store = store
        self._url = url

    async def current(self, *, refused: bool) -> str:
        """Return a token that should be accepted.

        Args:
            refused: Whether the service has refused the one that was returned last.

        Raises:
            NotSignedInError: There is no login, or it cannot be renewed.
        """
        given = ClientEnvironment().groundeddocs_token
        if given:
            if refused:
                raise NotSignedInError("The service does not accept the token in GROUNDEDDOCS_TOKEN.")
            return given.get_secret_value()
        login = self._store.login(self._url)
        if login is None:
            here = f" {_SIGN_IN_HERE}" if _on_this_machine(self._url) else ""
            raise NotSignedInError(f"You are not signed in at {self._url}. {_SIGN_IN}{here}")
        if login.fresh() and not refused:
            return login.access_token
        return await self._renewed(login.access_token)

    async def _renewed(self, old: str) -> str:
        async with self._store.locked():
            login = self._store.login(self._url)
            if login and login.access_token != old and login.fresh():
                return login.access_token  # another process, or another task of this one, was faster
            new = await signin.refresh(self._http, login) if login else None
            if new is None:
                again = login.command if login else "groundeddocs login"
                raise NotSignedInError(
                    f"Your sign-in at {self._url} has ended. Sign in again with `{again}`, or set GROUNDEDDOCS_TOKEN."
                )
            self._store.save_login(self._url, new)
            return new.access_token


def choose(workspaces: list[JsonObject], wanted: str | None) -> str:
    """Return the id of the workspace that is meant.

    Args:
        workspaces: Those of the user.
        wanted: Id or name as typed; None when nothing was.

    Raises:
        CliError: There is none, or more than one fits.
    """
    if wanted is None:
        fitting = workspaces
        if not fitting:
            raise CliError(
                "You belong to no workspace yet. Make one with `groundeddocs workspaces create NAME`, "
                "or accept an invitation with `groundeddocs join TOKEN`."
            )
    else:
        by_id = [each for each in workspaces if str(each["id"]) == canonical(wanted)]
        fitting = by_id or [each for each in workspaces if each["name"] == wanted]
        if not fitting:
            raise CliError(f"You belong to no workspace '{wanted}'. `groundeddocs workspaces` lists yours.")
    if len(fitting) > 1 and wanted is not None:
        ids = "\n".join(f"  {each['id']} ({each['role']})" for each in fitting)
        raise CliError(f"{len(fitting)} workspaces have the name '{wanted}'. Use the id of the one you mean:\n{ids}")
    if len(fitting) > 1:
        raise CliError(
            "More than one workspace is meant. Name one with --workspace, or choose a default with "
            "`groundeddocs workspaces use ID`. `groundeddocs workspaces` lists yours."
        )
    return str(fitting[0]["id"])


def _on_this_machine(url: str) -> bool:
    return httpx.URL(url).host in {"127.0.0.1", "localhost", "::1"}
