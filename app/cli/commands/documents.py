"""Commands about the documents of a workspace."""

import functools
from enum import StrEnum
from typing import Annotated, Any

import typer

from app.cli import output, words
from app.cli.client import Api, Call, JsonObject
from app.cli.errors import UsageError
from app.cli.ids import canonical
from app.cli.options import JsonOption, UrlOption, WorkspaceOption, merged, target
from app.cli.running import run_client
from app.cli.session import Session
from app.cli.words import state_of

group = typer.Typer(help="List, show, change, delete and retry documents.", invoke_without_command=True)
IdArgument = Annotated[str, typer.Argument(metavar="ID", help="Id of the document.")]
MembersOption = Annotated[
    list[str] | None, typer.Option(metavar="USER_ID", help="Member of the workspace, by id; may be given many times.")
]
_LIST_LIMIT = 100
# What a receipt's places are called where the service's word says little.
_PLACES = {"embeddings": "vectors", "blobs": "stored files", "cache_entries": "cached answers"}


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
    document: IdArgument,
    *,
    url: UrlOption = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show one document."""
    where = merged(ctx, url, workspace, as_json=as_json)
    run_client(where, functools.partial(_show, method="GET", path=_path(document)))


@group.command()
def retry(
    ctx: typer.Context,
    document: IdArgument,
    *,
    url: UrlOption = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Try a failed document again."""
    where = merged(ctx, url, workspace, as_json=as_json)
    run_client(where, functools.partial(_show, method="POST", path=f"{_path(document)}/retry"))


@group.command()
def change(
    ctx: typer.Context,
    document: IdArgument,
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
    granted, revoked = _members(grant), _members(revoke)
    if not (wanted or granted or revoked):
        raise UsageError("Say what to change: --name, --visibility, --grant or --revoke.")
    run_client(where, functools.partial(_change, path=_path(document), body=wanted, granted=granted, revoked=revoked))


@group.command()
def delete(
    ctx: typer.Context,
    document: IdArgument,
    *,
    url: UrlOption = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Delete a document with all its versions."""
    run_client(merged(ctx, url, workspace, as_json=as_json), functools.partial(_delete, path=_path(document)))


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
    found: list[JsonObject] = []
    params: dict[str, str | int] = {"limit": _LIST_LIMIT, **({"status": status} if status else {})}
    while True:
        page = await api.json(Call("GET", "/v1/documents", params=params))
        found += page["items"]
        if not page.get("next_cursor"):
            return found
        params["cursor"] = str(page["next_cursor"])


async def _show(session: Session, *, method: str, path: str) -> None:
    _print_document(session, await (await session.in_workspace()).json(Call(method, path)))


async def _change(
    session: Session, *, path: str, body: JsonObject, granted: frozenset[str], revoked: frozenset[str]
) -> None:
    api = await session.in_workspace()
    if granted or revoked:
        known = (await api.json(Call("GET", path))).get("grants") or ()
        body = {**body, "grants": sorted({*known, *granted} - revoked)}
    _print_document(session, await api.json(Call("PATCH", path, body=body)))


def _print_document(session: Session, document: JsonObject) -> None:
    if session.target.as_json:
        output.print_json(document)
        return
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
            **({"Readers": ", ".join(document["grants"])} if document.get("grants") else {}),
            "Version": document["version_id"],
            "Id": document["id"],
        }
    )
    for warning in document.get("warnings") or ():
        output.print_line(f"Warning: {warning}", "yellow")


async def _delete(session: Session, *, path: str) -> None:
    receipt = await (await session.in_workspace()).json(Call("DELETE", path))
    if session.target.as_json:
        output.print_json(receipt)
        return
    output.print_line(receipt.get("detail") or "Deleted.")
    removed: dict[str, Any] = receipt.get("removed") or {}
    parts = ", ".join(words.counted(count, _PLACES.get(name, name)) for name, count in removed.items() if count)
    if parts:
        output.print_line(f"Removed: {parts}.")


def _row(document: JsonObject) -> tuple[object, ...]:
    pages, length = document["page_count"] or "", output.size(document["size_bytes"])
    return document["name"], state_of(document), pages, length, document["visibility"], document["id"]


def _members(typed: list[str] | None) -> frozenset[str]:
    """Return ids of members in the form that the service writes."""
    found = {each: canonical(each) for each in typed or ()}
    for each, known in found.items():
        if known is None:
            raise UsageError(f"'{each}' is not the id of a member.")
    return frozenset(known for known in found.values() if known)


def _path(document_id: str) -> str:
    """Return the path of a document; an id is checked, since it becomes a part of an address."""
    known = canonical(document_id)
    if known is None:
        raise UsageError(f"'{document_id}' is not a document id; `groundeddocs documents` lists them.")
    return f"/v1/documents/{known}"
