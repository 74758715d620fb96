"""Options that many commands share."""

from dataclasses import dataclass
from typing import Annotated

import httpx
import typer
from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from app.cli.errors import UsageError

DEFAULT_URL = "http://127.0.0.1:8080"

UrlOption = Annotated[
    str | None, typer.Option("--url", help=f"Address of the service. [GROUNDEDDOCS_URL or {DEFAULT_URL}]")
]
WorkspaceOption = Annotated[
    str | None,
    typer.Option("--workspace", "-w", help="Id or name of the workspace. [GROUNDEDDOCS_WORKSPACE or the default]"),
]
JsonOption = Annotated[
    bool,
    typer.Option(
        "--json",
        help="Print JSON and nothing else; a failure is a JSON object on standard error.",
    ),
]


class ClientEnvironment(BaseSettings):
    """What the environment may say. The token is here alone: an option would show it to everyone on the machine."""

    model_config = SettingsConfigDict(env_file=None, extra="ignore", frozen=True, env_ignore_empty=True)

    groundeddocs_url: str = Field(DEFAULT_URL, description="Address of the service.")
    groundeddocs_workspace: str | None = Field(None, description="Id or name of the workspace.")
    groundeddocs_token: SecretStr | None = Field(None, description="Access token to use instead of the stored login.")


@dataclass(frozen=True, slots=True)
class Target:
    """Which service and workspace a command talks to, and how it prints.

    Args:
        url: Address without a slash at its end.
        workspace: Id or name as typed; None leaves the choice to the stored default.
        as_json: Whether a program reads the result.
    """

    url: str
    workspace: str | None
    as_json: bool


def target(url: str | None, workspace: str | None = None, *, as_json: bool = False) -> Target:
    """Make a target of what was typed; the environment fills what was not.

    Raises:
        UsageError: The address is none of `http` or `https`.
    """
    environment = ClientEnvironment()
    address = (url or environment.groundeddocs_url).rstrip("/")
    try:
        parsed = httpx.URL(address)
    except httpx.InvalidURL:
        parsed = httpx.URL("")
    if parsed.scheme not in {"http", "https"} or not parsed.host:
        raise UsageError(f"The address of the service must look like {DEFAULT_URL}, and is '{address}'.")
    return Target(address, workspace or environment.groundeddocs_workspace, as_json)


def merged(ctx: typer.Context, url: str | None, workspace: str | None, *, as_json: bool) -> Target:
    """Make a target for a subcommand, whose options may also stand before its name."""
    group: Target = ctx.obj
    if url:
        group = target(url, group.workspace, as_json=group.as_json)
    return Target(group.url, workspace or group.workspace, as_json or group.as_json)
