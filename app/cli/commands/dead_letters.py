"""Commands about jobs that were given up."""

import functools
from typing import Annotated

import typer

from app.cli import output
from app.cli.client import Api, Call, JsonObject
from app.cli.errors import ProblemError, UsageError
from app.cli.ids import canonical
from app.cli.options import JsonOption, UrlOption, WorkspaceOption, merged, target
from app.cli.running import run_client
from app.cli.session import Session

group = typer.Typer(help="List jobs that were given up, and put them back.", invoke_without_command=True)
_LIST_LIMIT = 100


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.add_typer(group, name="dead-letters", rich_help_panel="Workspaces")


@group.callback()
def dead_letters(
    ctx: typer.Context,
    *,
    url: UrlOption = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the jobs of a workspace that were given up, as its owner; put them back into the queue."""
    ctx.obj = target(url, workspace, as_json=as_json)
    if ctx.invoked_subcommand is None:
        run_client(ctx.obj, _list)


@group.command("list")
def list_dead_letters(
    ctx: typer.Context,
    *,
    url: UrlOption = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the jobs that were given up and wait for somebody."""
    run_client(merged(ctx, url, workspace, as_json=as_json), _list)


@group.command()
def requeue(
    ctx: typer.Context,
    letter: Annotated[str | None, typer.Argument(metavar="ID", help="Id of the letter.")] = None,
    *,
    every: Annotated[bool, typer.Option("--all", help="Put all of them back.")] = False,
    url: UrlOption = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Put one job that was given up back into the queue, or all of them."""
    if (letter is None) is not every:
        raise UsageError("Give the id of one letter, or --all.")
    where = merged(ctx, url, workspace, as_json=as_json)
    if letter is None:
        run_client(where, _requeue_all)
    else:
        run_client(where, functools.partial(_requeue, path=_path(letter)))


async def _list(session: Session) -> None:
    found = await _every_letter(await session.in_workspace())
    if session.target.as_json:
        output.print_json({"items": found})
        return
    if not found:
        output.say("Nothing was given up.")
        return
    rows = [
        (letter["task"], letter["reason"], letter["detail"], letter["attempts"], _time_of(letter), letter["id"])
        for letter in found
    ]
    output.print_table(("Job", "Reason", "Detail", "Tries", "Given up", "Id"), rows, whole={"Id"})


async def _requeue(session: Session, *, path: str) -> None:
    letter = await (await session.in_workspace()).json(Call("POST", path))
    if session.target.as_json:
        output.print_json(letter)
    else:
        output.print_line("The job is back in the queue.")


async def _requeue_all(session: Session) -> None:
    """Put back what can be; what cannot is told, and is not in the way of the others."""
    api = await session.in_workspace()
    items: list[JsonObject] = []
    refused: list[JsonObject] = []
    for letter in await _every_letter(api):
        try:
            items.append(await api.json(Call("POST", f"/v1/dead-letters/{letter['id']}/requeue")))
        except ProblemError as error:
            if error.http_status not in {404, 409}:
                raise
            refused.append({"id": letter["id"], "code": error.problem_code, "detail": error.detail})
    if session.target.as_json:
        output.print_json({"items": items, "refused": refused})
    else:
        output.print_line(f"{output.plural(len(items), 'job')} put back into the queue.")
        for each in refused:
            output.say(f"Not put back: {each['id']}. {each['detail']}", "yellow")
    if refused:
        raise typer.Exit(1)


async def _every_letter(api: Api) -> list[JsonObject]:
    """Return all letters that wait, newest first."""
    return await api.every(Call("GET", "/v1/dead-letters", params={"limit": _LIST_LIMIT}))


def _time_of(letter: JsonObject) -> str:
    return output.local_time(letter["created_at"])


def _path(letter: str) -> str:
    """Return the path of a letter; an id is checked, since it becomes a part of an address."""
    known = canonical(letter)
    if known is None:
        raise UsageError(f"'{letter}' is not the id of a letter; `groundeddocs dead-letters` lists them.")
    return f"/v1/dead-letters/{known}/requeue"
