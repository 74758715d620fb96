"""The upload command."""

import asyncio
import contextlib
import functools
import time
from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

import typer

from app.cli import output
from app.cli.client import JsonObject
from app.cli.errors import CliError, UsageError
from app.cli.files import Collected, LocalFile, collect
from app.cli.options import UrlOption, WorkspaceOption, target
from app.cli.overview import Overview
from app.cli.progress import upload_progress
from app.cli.running import run_client
from app.cli.session import Session
from app.cli.summaries import failures, left_out, notices, stopped, summary
from app.cli.uploading import Manner, Uploaded, upload_all

FilesArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="FILES...",
        help="Files, folders, or patterns in quotes such as 'reports/*.pdf'. A document is called by its path below "
        "the folder that you name, else below the current one: reports/a.pdf is 'reports - a.pdf'.",
    ),
]
JsonLinesOption = Annotated[
    bool,
    typer.Option(
        "--json",
        help="Print one JSON document per line and nothing else, one for each file, with `error` for one that failed; "
        "a failure of the command itself is a JSON object on standard error.",
    ),
]


class VisibilityChoice(StrEnum):
    """Who may read what is uploaded."""

    WORKSPACE = "workspace"
    RESTRICTED = "restricted"


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command(rich_help_panel="Documents and questions")(upload)


def upload(
    files: FilesArgument,
    *,
    visibility: Annotated[VisibilityChoice | None, typer.Option(help="Who may read them.")] = None,
    name: Annotated[str | None, typer.Option(help="Name of the document; for one file only.")] = None,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Follow them until they are ready.")] = True,
    url: UrlOption = None,
    workspace: WorkspaceOption = None,
    as_json: JsonLinesOption = False,
) -> None:
    """Upload documents and follow them until they can be asked about.

    From folders, hidden files are left out, and so are those whose name does not end like a document's.
    """
    body = functools.partial(_upload, typed=files, visibility=visibility, name=name, wait=wait)
    if any(result.error is not None for result in run_client(target(url, workspace, as_json=as_json), body)):
        raise typer.Exit(1)


async def _upload(
    session: Session, *, typed: list[str], visibility: VisibilityChoice | None, name: str | None, wait: bool
) -> list[Uploaded]:
    config = await session.config()
    found = _collected(typed, config, name)
    api = await session.in_workspace()
    manner = Manner(visibility and visibility.value, name, wait, int(config["limits"]["max_upload_bytes"]))
    live = not session.target.as_json and output.out().is_terminal and output.err().is_terminal
    results: list[Uploaded] = []
    files = sorted(found.files, key=_size)
    overview = Overview({file.name: _size(file) for file in files}, time.monotonic())
    try:
        with upload_progress(overview, live=live, silent=session.target.as_json) as progress:
            async with contextlib.aclosing(upload_all(api, files, manner, progress)) as uploads:
                async for result in uploads:
                    results.append(result)
                    _print(result, as_json=session.target.as_json)
    except asyncio.CancelledError:
        if not session.target.as_json:
            output.say(stopped(overview), "yellow")
        raise
    except CliError as error:
        error.add_note(stopped(overview))  # told after what happened
        raise
    if not session.target.as_json:
        _print_summary(results, found)
    return results


def _print_summary(results: Sequence[Uploaded], found: Collected) -> None:
    if len(results) > 1:
        output.print_line(summary(results))
        for line in failures(results):
            output.print_line(line, "red")
        for line in notices(results):
            output.print_line(line, "yellow")
    for line in left_out(found):
        output.print_line(line, "yellow")


def _size(file: LocalFile) -> int:
    """Return a file's length: small ones go first, so that most are done soon; one that has gone counts as empty."""
    try:
        return file.path.stat().st_size
    except OSError:
        return 0


def _collected(typed: list[str], config: JsonObject, name: str | None) -> Collected:
    found = collect(typed, config["formats"])
    if not found.files:
        raise UsageError("\n".join(["There is no document to upload in what was named.", *left_out(found)]))
    if name and len(found.files) > 1:
        raise UsageError("--name is for one file; there is more than one.")
    return found


def _print(result: Uploaded, *, as_json: bool) -> None:
    if as_json:
        output.print_json(result.as_json())
        return
    output.print_line(output.neutral(f"{result.file.name}: {result.words()}"), "red" if result.error else "")
    for warning in result.warnings():
        output.print_line(output.neutral(warning), "yellow", indent=2)
