"""The `groundeddocs` command: what it offers, and how every failure ends as a message and an exit code."""

import io
import json
import sys
from collections.abc import Sequence
from importlib import metadata
from typing import Annotated

import typer

from app.cli import output
from app.cli.commands import account, ask, dead_letters, documents, services, upload, workspaces
from app.cli.errors import CliError, ProblemError
from app.core.errors import AppError

app = typer.Typer(
    name="groundeddocs",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for module in (services, account, workspaces, documents, upload, ask, dead_letters):
    module.register(app)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"groundeddocs {metadata.version('groundeddocs')}")
        raise typer.Exit


@app.callback()
def main(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and end.")
    ] = False,
) -> None:
    """Answers from your documents, with exact verified quotes or an honest refusal."""


def run(arguments: Sequence[str]) -> None:
    """Run one command and end the process with its exit code.

    Args:
        arguments: What was typed after the command's name.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that lacks a letter must not end the command
    try:
        app(arguments, prog_name="groundeddocs")
    except AppError as error:
        raise SystemExit(tell(error, as_json="--json" in arguments)) from None


def tell(error: AppError, *, as_json: bool) -> int:
    """Print what went wrong on standard error and return the exit code."""
    code = error.exit_code if isinstance(error, CliError) else 1
    if as_json:
        typer.echo(json.dumps(_as_json(error)), err=True)  # not folded to a terminal's width
        return code
    output.say(error.detail, "red")
    if isinstance(error, ProblemError) and error.trace_id:
        output.say(f"Trace id: {output.neutral(error.trace_id)}", "dim")
    for note in getattr(error, "__notes__", ()):
        output.say(note, "yellow")
    return code


def _as_json(error: AppError) -> dict[str, object]:
    """Return what a program reads about a failure; a refusal of the service keeps the service's own code."""
    if not isinstance(error, ProblemError):
        return {"code": error.code, "detail": error.detail, "status": None, "trace_id": None}
    code = error.problem_code or error.code
    return {"code": code, "detail": error.detail, "status": error.http_status or None, "trace_id": error.trace_id}
