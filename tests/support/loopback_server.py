"""The frame of servers that stand in for others on the loopback: each POST request of JSON is answered in a thread."""

import json
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class Request:
    """What a server was sent: where to, by whom, and what."""

    path: str
    authorization: str
    asked: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Reply:
    """What a server answers.

    Args:
        status: Status; 0 closes the connection without an answer.
        body: The body.
        headers: Headers besides type and length.
        trickle: Seconds between the bytes of the body.
    """

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    trickle: float = 0.0


class LoopbackServer:
    """Runs while the block does; what it answers is up to the class that derives from it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def root(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def reply(self, request: Request) -> Reply:
        """Return the answer to a request."""
        raise NotImplementedError

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                reply = server.reply(Request(self.path, self.headers.get("Authorization", ""), asked))
                if reply.status == 0:
                    self.close_connection = True
                    return
                self.send_response(reply.status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(reply.body)))
                if 300 <= reply.status < 400:
                    self.send_header("Location", f"{server.root}/elsewhere")
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                if not reply.trickle:
                    self.wfile.write(reply.body)
                for byte in reply.body if reply.trickle else b"":
                    self.wfile.write(bytes([byte]))
                    time.sleep(reply.trickle)

            def log_message(self, *_: object) -> None:
                """Write nothing."""

            def handle(self) -> None:
                try:
                    super().handle()
                except ConnectionError:
                    """The client went away."""

        return Handler
