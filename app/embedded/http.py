"""One question to a server on this machine: does it answer, and is it ours."""

import http.client
import json

from app.embedded.ports import LOOPBACK

_SECONDS = 1.0
_MOST_BYTES = 100_000


def answers(port: int, path: str) -> bool:
    """Tell whether the server on a loopback port answers a path with 200."""
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=_SECONDS)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def is_service(port: int, host: str = LOOPBACK) -> bool:
    """Tell whether GroundedDocs answers at an address, which its public configuration shows."""
    connection = http.client.HTTPConnection(host, port, timeout=_SECONDS)
    try:
        connection.request("GET", "/v1/config")
        response = connection.getresponse()
        content = json.loads(response.read(_MOST_BYTES)) if response.status == http.client.OK else None
    except (OSError, http.client.HTTPException, ValueError):
        return False
    finally:
        connection.close()
    return isinstance(content, dict) and {"issuer", "cli_client_id"} <= content.keys()
