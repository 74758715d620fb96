"""A reranker on the loopback, in the shapes and with the faults that real ones have."""

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

MODEL = "test-rerank"
KEY = "rk-test-0123456789"

Result = dict[str, Any]
Spoil = Callable[[list[Result]], list[Result]]


class Shape(Enum):
    """What a server reads and answers."""

    USUAL = "usual"
    TEXT_EMBEDDINGS_INFERENCE = "tei"


@dataclass(frozen=True, slots=True)
class Fault:
    """What goes wrong with a request.

    Args:
        status: Status of the answer; 0 closes the connection without one.
        body: The answer; None for the usual one.
        seconds: How long it waits before.
        trickle: Seconds between the bytes of the answer.
        encoding: How the body is said to be compressed.
        spoil: Changes the results of the usual answer.
    """

    status: int = 200
    body: bytes | None = None
    seconds: float = 0.0
    trickle: float = 0.0
    encoding: str = ""
    spoil: Spoil = list


def score_of(question: str, text: str) -> float:
    """Return the share of the text's words that the question has."""
    words = text.lower().split()
    return sum(word in question.lower().split() for word in words) / max(len(words), 1)


class RerankServer:
    """Answers `POST /rerank`; the faults are used up in order, one for each request.

    Args:
        shape: What it reads; a request in another shape is one that it cannot process.
        key: The key that it wants; empty for none.
    """

    def __init__(self, *, shape: Shape = Shape.USUAL, key: str = KEY) -> None:
        self.shape = shape
        self.key = key
        self.faults: list[Fault] = []
        self.lasting: Fault | None = None
        self.asked: list[Mapping[str, Any]] = []
        self.paths: list[str] = []
        self.authorizations: list[str] = []
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/rerank"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, path: str, authorization: str, asked: Mapping[str, Any]) -> Fault:
        """Return the status and the body of an answer."""
        with self._lock:
            self.asked.append(asked)
            self.paths.append(path)
            self.authorizations.append(authorization)
            fault = self.lasting or (self.faults.pop(0) if self.faults else Fault())
        time.sleep(fault.seconds)
        if fault.status != 200 or fault.body is not None:
            body = fault.body or _error(authorization, asked)
            return Fault(fault.status, body, trickle=fault.trickle, encoding=fault.encoding)
        if self.key and authorization != f"Bearer {self.key}":
            return Fault(401, _error(authorization, asked))
        answer = self._tei(asked, fault.spoil) if self.shape is not Shape.USUAL else self._usual(asked, fault.spoil)
        return Fault(answer.status, answer.body, trickle=fault.trickle)

    def _usual(self, asked: Mapping[str, Any], spoil: Spoil) -> Fault:
        if "documents" not in asked:
            return Fault(422, _error("missing documents", asked))
        if asked.get("model", MODEL) != MODEL:
            return Fault(404, _error("no such model", asked))
        results = _results(asked["query"], asked["documents"], "relevance_score")[: asked["top_n"]]
        return Fault(
            body=json.dumps({"model": MODEL, "results": spoil(results), "usage": {"total_tokens": 9}}).encode()
        )

    def _tei(self, asked: Mapping[str, Any], spoil: Spoil) -> Fault:
        if "texts" not in asked:
            return Fault(422, b"Failed to deserialize the JSON body: missing field `texts`")
        return Fault(body=json.dumps(spoil(_results(asked["query"], asked["texts"], "score"))).encode())

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                found = server.answer(self.path, self.headers.get("Authorization", ""), asked)
                if found.status == 0:
                    self.close_connection = True
                    return
                body = found.body or b""
                self.send_response(found.status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                if found.encoding:
                    self.send_header("Content-Encoding", found.encoding)
                if 300 <= found.status < 400:
                    self.send_header("Location", server.url.replace("/rerank", "/elsewhere"))
                self.end_headers()
                if not found.trickle:
                    self.wfile.write(body)
                for byte in body if found.trickle else b"":
                    self.wfile.write(bytes([byte]))
                    time.sleep(found.trickle)

            def log_message(self, *_: object) -> None:
                """Write nothing."""

            def handle(self) -> None:
                try:
                    super().handle()
                except ConnectionError:
                    """The client went away."""

        return Handler


def _results(question: str, texts: Sequence[str], name: str) -> list[Result]:
    """Return the results best first, with the texts, as most servers do."""
    found = [{"index": n, name: score_of(question, text), "document": {"text": text}} for n, text in enumerate(texts)]
    return sorted(found, key=lambda result: -result[name])


def _error(words: str, asked: Mapping[str, Any]) -> bytes:
    """Return what some servers say of an error: all that they were sent."""
    return json.dumps({"message": words, "input": asked}).encode()
