"""The `groundeddocs` command: what it offers, and how every failure ends as a message and an exit code."""

import io
import sys
from collections.abc import Sequence

import typer

from app.cli import output
from app.cli.commands import account, ask, documents, services, upload, workspaces
from app.cli.errors import CliError, ProblemError
from app.core.errors import AppError

app = typer.Typer(
    name="groundeddocs",
    help="Answers from your documents, with exact verified quotes or an honest refusal.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for module in (services, account, workspaces, documents, upload, ask):
    module.register(app)


def run(arguments: Sequence[str] | None = None) -> None:
    """Run one command and end the process with its exit code.

    Args:
        arguments: What was typed after the command's name; that of this process when not given.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that lacks a letter must not end the command
    try:
        app(arguments, prog_name="groundeddocs")
    except AppError as error:
        raise SystemExit(tell(error)) from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None


def tell(error: AppError) -> int:
    """Print what went wrong on standard error and return the exit code."""
    output.say(error.detail, "red")
    if isinstance(error, ProblemError) and error.trace_id:
        output.say(f"Trace id: {output.neutral(error.trace_id)}", "dim")
    return error.exit_code if isinstance(error, CliError) else 1


if __name__ == "__main__":
    run()
