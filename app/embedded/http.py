"""One question to a server on this machine: does it answer."""

import http.client

_SECONDS = 1.0


def answers(port: int, path: str) -> bool:
    """Tell whether the server on a loopback port answers a path with 200."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_SECONDS)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
