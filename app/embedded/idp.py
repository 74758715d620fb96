"""The local identity provider: a Node program with an address that never changes."""

import json
import os
import secrets
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from app.embedded import http
from app.embedded.errors import MissingProgramError, PortTakenError
from app.embedded.home import Home
from app.embedded.options import EmbeddedOptions
from app.embedded.parts import ProcessPart
from app.embedded.passwords import write_private
from app.embedded.ports import LOOPBACK, is_free
from app.embedded.processes import Command

_DISCOVERY = "/.well-known/openid-configuration"
# Below the range that systems hand out to outgoing connections, so that a kept port stays free; taken from at
# random, so that two data folders on one machine do not keep the same one.
_FIRST_PORTS = range(20_000, 30_000)
_TRIES = 20


@dataclass(frozen=True, slots=True)
class IdpAddress:
    """Where the provider answers; a user is (issuer, subject), so this must outlive restarts."""

    port: int

    @property
    def issuer(self) -> str:
        """The issuer as it stands in tokens."""
        return f"http://{LOOPBACK}:{self.port}"

    @property
    def jwks_url(self) -> str:
        """The signing keys."""
        return f"{self.issuer}/jwks"


def choose_address(home: Home, asked: int | None) -> IdpAddress:
    """Return the provider's address in this data folder: the asked one, else the kept one, else a new one.

    Args:
        home: The data folder; keeps the choice.
        asked: Port that the operator asks for.

    Raises:
        PortTakenError: Another program listens there.
    """
    port = asked or _kept_port(home) or _new_port()
    if not is_free(port):
        detail = (
            f"Port {port} of the local identity provider is taken by another program. End that program, or set "
            "IDP_PORT to a free port. With another port all users count as new ones, because the issuer changes."
        )
        raise PortTakenError(detail)
    write_private(_port_file(home), json.dumps(port))
    return IdpAddress(port)


def idp_part(
    options: EmbeddedOptions, home: Home, node: Path, address: IdpAddress, origins: Sequence[str]
) -> ProcessPart:
    """Make the part that runs the provider.

    Args:
        options: May name another folder of the provider.
        home: Keeps its keys and sessions.
        node: The Node program.
        address: Where it listens.
        origins: Origins of the web app, such as `http://127.0.0.1:8080`.

    Raises:
        MissingProgramError: Its packages are not installed.
    """
    folder = find_dev_idp(options)
    environment = {
        **os.environ,
        "NODE_ENV": "development",
        "IDP_PORT": str(address.port),
        "IDP_DATA": str(home.idp),
        "IDP_WEB_ORIGINS": ",".join(origins),
    }
    # The last argument is not read; it lets a later run recognise the process as one of this data folder.
    argv = [node, folder / "src" / "main.js", home.idp]
    log = home.logs / "idp.log"
    command = Command(argv, log, environment, folder, dies_with_us=signal.SIGTERM)
    return ProcessPart("idp", command, str(home.idp), lambda: http.answers(address.port, _DISCOVERY))


def find_dev_idp(options: EmbeddedOptions) -> Path:
    """Find the folder of the provider with its packages.

    Raises:
        MissingProgramError: It is not there, or its packages are not installed.
    """
    folder = (options.groundeddocs_dev_idp or Path(__file__).parents[2] / "web" / "dev-idp").resolve()
    if not (folder / "src" / "main.js").is_file():
        detail = (
            f"The local identity provider is not in {folder}. Start from a checkout of the source, "
            "or name its folder in GROUNDEDDOCS_DEV_IDP."
        )
        raise MissingProgramError(detail)
    if not (folder / "node_modules" / "oidc-provider").is_dir():
        detail = f"The packages of the local identity provider are missing. Run: npm ci --prefix {folder}"
        raise MissingProgramError(detail)
    return folder


def _new_port() -> int:
    tries = [secrets.choice(_FIRST_PORTS) for _ in range(_TRIES)]
    return next((port for port in tries if is_free(port)), tries[0])


def _kept_port(home: Home) -> int | None:
    try:
        return int(_port_file(home).read_text("ascii"))
    except (FileNotFoundError, ValueError):
        return None


def _port_file(home: Home) -> Path:
    return home.idp / "port"
