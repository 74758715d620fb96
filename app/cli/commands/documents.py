"""Commands about the documents of a workspace."""

import functools
import sys
import unicodedata
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer

from app.cli import output, words
from app.cli.client import Api, Call, JsonObject
from app.cli.errors import CliError, UsageError
from app.cli.ids import canonical
from app.cli.members import described, every_member, ids_of
from app.cli.options import JsonOption, UrlOption, WorkspaceOption, merged, target
from app.cli.running import run_client
from app.cli.session import Session
from app.cli.words import state_of

group = typer.Typer(help="List, show, change, delete and retry documents.", invoke_without_command=True)
DocumentArgument = Annotated[
    str, typer.Argument(metavar="DOCUMENT", help="Id of the document, or its whole name when no other has the same.")
]
MembersOption = Annotated[
    list[str] | None,
    typer.Option(metavar="USER", help="Member of the workspace, by e-mail address or id; may be given many times."),
]
_LIST_LIMIT = 100
# What a receipt's places are called where the service's word says little.
_PLACES = {"chunks": "passages", "embeddings": "vectors", "blobs": "stored files", "cache_entries": "cached answers"}


class VisibilityChoice(StrEnum):
    """Who may read a document."""

    WORKSPACE = "workspace"
    RESTRICTED = "restricted"


class StatusChoice(StrEnum):
    """The states of a document."""

    QUEUED = "queued"
    PARSING = "parsing"
    CHUNKING = "chunking"
    EMBEDDING = "embedding"
    READY = "ready"
    FAILED = "failed"


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.add_typer(group, name="documents", rich_help_panel="Documents and questions")


@group.callback()
def documents(
    ctx: typer.Context,
    *,
    url: UrlOption = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the documents that you may read; show, change, delete or retry one."""
    ctx.obj = target(url, workspace, as_json=as_json)
    if ctx.invoked_subcommand is None:
        run_client(ctx.obj, functools.partial(_list, status=None))


@group.command("list")
def list_documents(
    ctx: typer.Context,
    *,
    status: Annotated[StatusChoice | None, typer.Option(help="Only documents in this state.")] = None,
    url: UrlOption = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the documents that you may read."""
    where = merged(ctx, url, workspace, as_json=as_json)
    run_client(where, functools.partial(_list, status=status and status.value))


@group.command()
def show(
    ctx: typer.Context,
    document: DocumentArgument,
    *,
    url: UrlOption = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show one document."""
    where = merged(ctx, url, workspace, as_json=as_json)
    run_client(where, functools.partial(_show, typed=_typed(document)))


@group.command()
def retry(
    ctx: typer.Context,
    document: DocumentArgument,
    *,
    url: UrlOption = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Try a failed document again."""
    where = merged(ctx, url, workspace, as_json=as_json)
    run_client(where, functools.partial(_retry, typed=_typed(document)))


@group.command()
def change(
    ctx: typer.Context,
    document: DocumentArgument,
    *,
    name: Annotated[str | None, typer.Option(help="New name; nothing is read anew.")] = None,
    visibility: Annotated[VisibilityChoice | None, typer.Option(help="Who may read it.")] = None,
    grant: MembersOption = None,
    revoke: MembersOption = None,
    url: UrlOption = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Rename a document, or change who may read it."""
    where = merged(ctx, url, workspace, as_json=as_json)
    body: JsonObject = {"name": name, "visibility": visibility and visibility.value}
    wanted = {field: value for field, value in body.items() if value is not None}
    if not (wanted or grant or revoke):
        raise UsageError("Say what to change: --name, --visibility, --grant or --revoke.")
    run_client(
        where,
        functools.partial(_change, typed=_typed(document), body=wanted, grant=grant or (), revoke=revoke or ()),
    )


@group.command()
def delete(
    ctx: typer.Context,
    document: DocumentArgument,
    *,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Do not ask; without a terminal, and with --json, nothing is asked.")
    ] = False,
    url: UrlOption = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Delete a document with all its versions, after a question on a terminal."""
    where = merged(ctx, url, workspace, as_json=as_json)
    ask_first = not yes and not where.as_json and _is_terminal()
    run_client(where, functools.partial(_delete, typed=_typed(document), ask_first=ask_first))


async def _list(session: Session, *, status: str | None) -> None:
    found = await every_document(await session.in_workspace(), status)
    if session.target.as_json:
        output.print_json({"items": found})
        return
    if not found and status:
        output.say(f"No document is in the state '{status}'.")
        return
    if not found:
        output.say("There are no documents yet. Add some with `groundeddocs upload FILES...`.")
        return
    columns = ("Name", "State", "Pages", "Size", "Visibility", "Id")
    output.print_table(columns, [_row(document) for document in found], whole={"Id"}, short={"Name"})


async def every_document(api: Api, status: str | None = None) -> list[JsonObject]:
    """Return all documents that the user may read, newest first; only those in a state when one is given."""
    params: dict[str, str | int] = {"limit": _LIST_LIMIT, **({"status": status} if status else {})}
    return await api.every(Call("GET", "/v1/documents", params=params))


async def _show(session: Session, *, typed: str) -> None:
    api = await session.in_workspace()
    await _print_document(session, api, await api.json(Call("GET", await _path(api, typed))))


async def _retry(session: Session, *, typed: str) -> None:
    api = await session.in_workspace()
    await _print_document(session, api, await api.json(Call("POST", f"{await _path(api, typed)}/retry")))


async def _change(
    session: Session, *, typed: str, body: JsonObject, grant: Sequence[str], revoke: Sequence[str]
) -> None:
    api = await session.in_workspace()
    path = await _path(api, typed)
    if grant or revoke:
        granted, revoked = await ids_of(api, grant), await ids_of(api, revoke)
        known = (await api.json(Call("GET", path))).get("grants") or ()
        body = {**body, "grants": sorted({*known, *granted} - revoked)}
    await _print_document(session, api, await api.json(Call("PATCH", path, body=body)))


async def _print_document(session: Session, api: Api, document: JsonObject) -> None:
    if session.target.as_json:
        output.print_json(document)
        return
    readers = document.get("grants") or ()
    members = await every_member(api) if readers else ()
    output.print_fields(
        {
            "Name": document["name"],
            "State": state_of(document),
            "Pages": document["page_count"],
            "Passages": document["chunk_count"],
            "Size": output.size(document["size_bytes"]),
            "Visibility": document["visibility"],
            "Uploaded": document["created_at"],
            "Changed": document["updated_at"],
            **({"Readers": described(readers, members)} if readers else {}),
            "Version": document["version_id"],
            "Id": document["id"],
        }
    )
    for warning in document.get("warnings") or ():
        output.print_line(f"Warning: {warning}", "yellow")


async def _delete(session: Session, *, typed: str, ask_first: bool) -> None:
    api = await session.in_workspace()
    path = await _path(api, typed)
    if ask_first:
        _confirm(await api.json(Call("GET", path)))
    receipt = await api.json(Call("DELETE", path))
    if session.target.as_json:
        output.print_json(receipt)
        return
    output.print_line(receipt.get("detail") or "Deleted.")
    removed: dict[str, Any] = receipt.get("removed") or {}
    parts = ", ".join(words.counted(count, _PLACES.get(name, name)) for name, count in removed.items() if count)
    if parts:
        output.print_line(f"Removed: {parts}.")
    if (shared := _shared(removed)) > 0:
        output.print_line(
            f"Kept: the file and the passages of {output.plural(shared, 'version')}, which another document uses too."
        )


def _shared(removed: Mapping[str, int | None]) -> int:
    """Return how many versions have a file that stays, because another document has the same content."""
    versions, files = removed.get("versions"), removed.get("blobs")
    return 0 if versions is None or files is None else versions - files


def _confirm(document: JsonObject) -> None:
    passages = output.plural(document["chunk_count"], "passage")
    question = f"Delete '{output.neutral(document['name'])}' ({passages}) with all its versions?"
    if not typer.confirm(question, err=True):
        raise CliError("Nothing was deleted.")


def _is_terminal() -> bool:
    return sys.stdin.isatty() and output.err().is_terminal


def _row(document: JsonObject) -> tuple[object, ...]:
    pages, length = document["page_count"] or "", output.size(document["size_bytes"])
    return document["name"], state_of(document), pages, length, document["visibility"], document["id"]


def _typed(document: str) -> str:
    """Return what was typed as a document, unless that is nothing."""
    if not document.strip():
        raise UsageError("The document is empty. Give its id or its name; `groundeddocs documents` lists both.")
    return document


async def _path(api: Api, typed: str) -> str:
    """Return the path of a document that was named by its id or its name; only an id becomes a part of an address.

    Raises:
        CliError: No document has the name, or several have it.
    """
    if known := canonical(typed):
        return f"/v1/documents/{known}"
    wanted = unicodedata.normalize("NFC", typed)
    fitting = [each for each in await every_document(api) if each["name"] == wanted]
    if not fitting:
        raise CliError(f"There is no document with the id or name '{typed}'; `groundeddocs documents` lists them.")
    if len(fitting) > 1:
        ids = "\n".join(f"  {each['id']} ({each['visibility']})" for each in fitting)
        raise CliError(f"{len(fitting)} documents have the name '{typed}'. Use the id of the one you mean:\n{ids}")
    return f"/v1/documents/{fitting[0]['id']}"
