"""Commands about workspaces and who belongs to them."""

import functools
from enum import StrEnum
from typing import Annotated

import typer

from app.cli import output, words
from app.cli.client import Call, JsonObject
from app.cli.errors import UsageError
from app.cli.members import every_member
from app.cli.options import JsonOption, UrlOption, WorkspaceOption, merged, target
from app.cli.running import run_client
from app.cli.session import Session, choose

group = typer.Typer(
    help="List, make, change and choose workspaces, and see who belongs to one.", invoke_without_command=True
)


class EmbedderOption(StrEnum):
    """What a workspace can be embedded by."""

    DEFAULT = "default"
    LOCAL = "local"
    REMOTE = "remote"


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.add_typer(group, name="workspaces", rich_help_panel="Workspaces")
    app.command(rich_help_panel="Workspaces")(invite)
    app.command(rich_help_panel="Workspaces")(join)


@group.callback()
def workspaces(ctx: typer.Context, *, url: UrlOption = None, as_json: JsonOption = False) -> None:
    """List the workspaces that you belong to; make one, choose the default, or see its members."""
    ctx.obj = target(url, as_json=as_json)
    if ctx.invoked_subcommand is None:
        run_client(ctx.obj, _list)


@group.command("list")
def list_workspaces(ctx: typer.Context, *, url: UrlOption = None, as_json: JsonOption = False) -> None:
    """List the workspaces that you belong to."""
    run_client(merged(ctx, url, None, as_json=as_json), _list)


@group.command()
def create(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="What to call it.")],
    *,
    url: UrlOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a workspace and use it from now on; you become its owner."""
    if not name.strip():
        raise UsageError("The name of the workspace is empty.")
    run_client(merged(ctx, url, None, as_json=as_json), functools.partial(_create, name=name))


@group.command()
def show(
    ctx: typer.Context, *, url: UrlOption = None, workspace: WorkspaceOption = None, as_json: JsonOption = False
) -> None:
    """Show the workspace that commands use, and the embedding model that it is searched by."""
    run_client(merged(ctx, url, workspace, as_json=as_json), _show)


@group.command()
def change(
    ctx: typer.Context,
    *,
    name: Annotated[str | None, typer.Option(help="New name.")] = None,
    embedder: Annotated[
        EmbedderOption | None,
        typer.Option(
            help="What embeds its documents and questions: `local`, so that no model server gets them; `remote`, the "
            "service's model server; `default`, what the service is configured with."
        ),
    ] = None,
    url: UrlOption = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Rename a workspace that you own, or choose what embeds it."""
    where = merged(ctx, url, workspace, as_json=as_json)
    body: JsonObject = {"name": name, "embedder": embedder and embedder.value}
    wanted = {field: value for field, value in body.items() if value is not None}
    if not wanted:
        raise UsageError("Say what to change: --name or --embedder.")
    if name is not None and not name.strip():
        raise UsageError("The name of the workspace is empty.")
    run_client(where, functools.partial(_change, body=wanted))


@group.command()
def members(
    ctx: typer.Context, *, url: UrlOption = None, workspace: WorkspaceOption = None, as_json: JsonOption = False
) -> None:
    """List who belongs to the workspace that commands use."""
    run_client(merged(ctx, url, workspace, as_json=as_json), _members)


@group.command()
def use(
    ctx: typer.Context,
    workspace: Annotated[str, typer.Argument(help="Id or name.")],
    url: UrlOption = None,
) -> None:
    """Choose the workspace that commands use from now on."""
    run_client(merged(ctx, url, None, as_json=False), functools.partial(_use, wanted=workspace))


def invite(
    *,
    owner: Annotated[bool, typer.Option("--owner", help="The invited person becomes an owner.")] = False,
    url: UrlOption = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a one-time invitation to a workspace that you own."""
    run_client(target(url, workspace, as_json=as_json), functools.partial(_invite, owner=owner))


def join(
    token: Annotated[str, typer.Argument(help="What the owner sent you.")],
    *,
    url: UrlOption = None,
    as_json: JsonOption = False,
) -> None:
    """Join the workspace of an invitation and use it from now on."""
    if not token.strip():
        raise UsageError("The token is empty. It is the last word of the line that `groundeddocs invite` prints.")
    run_client(target(url, as_json=as_json), functools.partial(_join, token=token.strip()))


async def _list(session: Session) -> None:
    found = await session.workspaces()
    default = session.store.workspace(session.target.url)
    if session.target.as_json:
        output.print_json({"items": found, "default": default})
        return
    if not found:
        output.say("You belong to no workspace yet. Make one with `groundeddocs workspaces create NAME`.")
        return
    rows = [(each["name"], each["role"], each["id"], "default" if each["id"] == default else "") for each in found]
    output.print_table(("Name", "Role", "Id", ""), rows, whole={"Id"}, short={"Name"})


async def _create(session: Session, *, name: str) -> None:
    made = await session.api.json(Call("POST", "/v1/workspaces", body={"name": name}))
    _enter(session, made, f"Made the workspace '{made['name']}' ({made['id']}). You are its owner.")


async def _show(session: Session) -> None:
    _print(session, await (await session.in_workspace()).json(Call("GET", "/v1/workspaces/current")))


async def _change(session: Session, *, body: JsonObject) -> None:
    api = await session.in_workspace()
    _print(session, await api.json(Call("PATCH", "/v1/workspaces/current", body=body)))


def _print(session: Session, found: JsonObject) -> None:
    if session.target.as_json:
        output.print_json(found)
        return
    fields = {"Name": found["name"], "Id": found["id"], "Your role": found["role"]}
    if found.get("embedder"):
        fields |= {"Embedder": found["embedder"], "Offered": words.embedders(found.get("embedders") or ())}
    fields["Embedding model"] = found.get("embedding_model") or "none yet: nothing is searchable"
    if found.get("reembedding"):
        fields["Change"] = words.changing_model(found["reembedding"])
    if found.get("embedder_problem"):
        fields["Problem"] = found["embedder_problem"]
    output.print_fields(fields)


async def _members(session: Session) -> None:
    found = await every_member(await session.in_workspace())
    if session.target.as_json:
        output.print_json({"items": found})
        return
    rows = [
        (each.get("display_name") or "", each.get("email") or "", each["role"], _joined(each), each["user_id"])
        for each in found
    ]
    output.print_table(("Name", "E-mail", "Role", "Joined", "Id"), rows, whole={"Id"}, short={"Name"})


def _joined(member: JsonObject) -> str:
    return output.local_time(member["joined_at"])


async def _use(session: Session, *, wanted: str) -> None:
    found = await session.workspaces()
    chosen = choose(found, wanted)
    session.store.save_workspace(session.target.url, chosen)
    name = next(each["name"] for each in found if each["id"] == chosen)
    output.say(f"Commands now use the workspace '{name}' ({chosen}).")


async def _invite(session: Session, *, owner: bool) -> None:
    api = await session.in_workspace()
    body = {"role": "owner" if owner else "member"}
    made = await api.json(Call("POST", "/v1/workspaces/current/invitations", body=body))
    if session.target.as_json:
        output.print_json(made)
        return
    output.print_line(f"groundeddocs join {made['token']}")
    until = output.local_time(made["expires_at"])
    output.say(f"Send this line to one person. It works once, until {until}, and is not shown again.")


async def _join(session: Session, *, token: str) -> None:
    joined = await session.api.json(Call("POST", "/v1/invitations/accept", body={"token": token}))
    _enter(session, joined, f"You are now a {joined['role']} of '{joined['name']}' ({joined['id']}).")


def _enter(session: Session, workspace: JsonObject, words: str) -> None:
    """Tell of a new workspace and make it the one that commands use."""
    session.store.save_workspace(session.target.url, str(workspace["id"]))
    if session.target.as_json:
        output.print_json(workspace)
        return
    output.print_line(words)
    if session.target.workspace:
        output.say("Commands use it once GROUNDEDDOCS_WORKSPACE no longer names another.")
    else:
        output.say("Commands now use it; `groundeddocs workspaces use` changes that.")
