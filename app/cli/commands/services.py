"""Commands that start, prepare and examine the service on this machine."""

import dataclasses
from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError

from app.cli import output
from app.cli.errors import CliError
from app.cli.faults import describe
from app.cli.options import JsonOption
from app.embedded.options import EmbeddedOptions

PortOption = Annotated[int | None, typer.Option("--port", min=1, max=65535, help="Port of the api. [PORT or 8080]")]
HomeOption = Annotated[
    Path | None,
    typer.Option("--home", help="Folder of all data. [GROUNDEDDOCS_HOME, or .groundeddocs here, or by platform]"),
]
_STYLES = {"ok": "green", "warn": "yellow", "fail": "red"}


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    for command in (up, doctor, migrate, serve, worker, openapi):
        app.command(rich_help_panel="Running the service")(command)


def up(port: PortOption = None, home: HomeOption = None) -> None:
    """Start everything on this machine: database, caches, sign-in, worker and api."""
    from app.embedded.supervisor import up as run_embedded  # noqa: PLC0415 - loads what other commands do not need

    run_embedded(_embedded_options(port, home))


def doctor(*, port: PortOption = None, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Say what this machine lacks for `up`, and what to do about it."""
    from app.embedded import doctor as checks  # noqa: PLC0415 - loads what other commands do not need

    found = checks.examine(_embedded_options(port, home))
    healthy = checks.is_healthy(found)
    if as_json:
        output.print_json({"healthy": healthy, "checks": [dataclasses.asdict(check) for check in found]})
    for check in () if as_json else found:
        output.print_line(f"{check.health.value:<5} {check.name}: {check.detail}", _STYLES[check.health.value])
        if check.remedy:
            output.print_line(check.remedy, indent=6)
    if not healthy:
        raise typer.Exit(1)


def migrate() -> None:
    """Bring the database to the schema of this version, as the role in MIGRATIONS_DATABASE_URL."""
    from app.cli import migration  # noqa: PLC0415 - loads what other commands do not need

    output.print_line(f"The database is at revision {migration.migrate()}.")


def serve(
    host: Annotated[str, typer.Option(envvar="HOST", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(envvar="PORT", min=1, max=65535, help="Port to listen on.")] = 8080,
) -> None:
    """Run the api in this process."""
    from app.cli import processes  # noqa: PLC0415 - loads what other commands do not need

    processes.serve(host, port)


def worker() -> None:
    """Run a worker in this process."""
    from app.cli import processes  # noqa: PLC0415 - loads what other commands do not need

    processes.worker()


def openapi() -> None:
    """Print the OpenAPI document of the api, the same bytes for the same code."""
    from app.cli.openapi import document  # noqa: PLC0415 - loads what other commands do not need

    typer.echo(document())


def _embedded_options(port: int | None, home: Path | None) -> EmbeddedOptions:
    given = {"port": port, "groundeddocs_home": home}
    try:
        return EmbeddedOptions.model_validate({name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        raise CliError(describe(error, EmbeddedOptions)) from None
