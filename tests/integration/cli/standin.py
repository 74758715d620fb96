"""A small HTTP server that speaks the documented contract of the API and of an identity provider."""

import json
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl

WORKSPACE_ID = "11111111-1111-1111-1111-111111111111"
DOCUMENT_ID = "22222222-2222-2222-2222-222222222222"


@dataclass(frozen=True, slots=True)
class Request:
    """What came in."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    query: str = ""

    def json(self) -> Any:
        return json.loads(self.body)

    def form(self) -> dict[str, str]:
        return dict(parse_qsl(self.body.decode()))


@dataclass(frozen=True, slots=True)
class Reply:
    """What goes out; `drop` closes the connection after the body instead of ending it, `hang` does so much later."""

    status: int = 200
    body: bytes = b""
    media_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    drop: bool = False
    hang: bool = False


Answerer = Callable[[Request], Reply]


def reply(value: object, status: int = 200, **headers: str) -> Reply:
    return Reply(status, json.dumps(value).encode(), headers=headers)


def problem(status: int, title: str, detail: str, code: str = "test") -> Reply:
    members = {"title": title, "detail": detail, "status": status, "code": code, "trace_id": "trace-7"}
    return Reply(status, json.dumps(members).encode(), "application/problem+json")


def events(*given: tuple[str, object], drop: bool = False) -> Reply:
    heartbeat = ": keep-alive\n\n"
    parts = [f"id: {n}\nevent: {name}\ndata: {json.dumps(data)}\n\n" for n, (name, data) in enumerate(given, 1)]
    return Reply(200, (heartbeat + heartbeat.join(parts)).encode(), "text/event-stream", drop=drop)


class StandIn:
    """Answers each route with its replies in order; the last one is given for ever."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.stopping = threading.Event()
        self._answers: dict[tuple[str, str], list[Answerer]] = defaultdict(list)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def on(self, method: str, path: str, *answers: Reply | Answerer) -> None:
        """Set what a route answers, in order."""
        self._answers[method, path] = [_constant(each) if isinstance(each, Reply) else each for each in answers]

    def calls(self, method: str, path: str) -> list[Request]:
        return [each for each in self.requests if (each.method, each.path) == (method, path)]

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self.stopping.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, request: Request) -> Reply:
        self.requests.append(request)
        waiting = self._answers.get((request.method, request.path))
        if not waiting:
            return problem(404, "Not found", f"The stand-in has no {request.method} {request.path}.")
        return (waiting.pop(0) if len(waiting) > 1 else waiting[0])(request)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        stand_in = self

        class Handler(BaseHTTPRequestHandler):
            def serve(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                if self.headers.get("Transfer-Encoding") == "chunked":
                    body = b"".join(_chunks(self.rfile.readline, self.rfile.read))
                path, _, query = self.path.partition("?")
                found = stand_in.answer(Request(self.command, path, dict(self.headers), body, query))
                if found.status == 0:
                    self.close_connection = True
                    return
                self.send_response(found.status)
                self.send_header("Content-Type", found.media_type)
                # A length that is never reached is a connection that breaks.
                self.send_header("Content-Length", str(len(found.body) + (100 if found.drop or found.hang else 0)))
                for name, value in found.headers.items():
                    self.send_header(name.replace("_", "-"), value)
                self.end_headers()
                self.wfile.write(found.body)
                if found.hang:
                    stand_in.stopping.wait(30)
                self.close_connection = True

            do_GET = do_POST = do_DELETE = do_PUT = do_PATCH = serve  # noqa: N815 - the names are the library's

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the same
                """Keep the terminal free."""

        return Handler


NO_ANSWER = Reply(status=0)


def _constant(found: Reply) -> Answerer:
    return lambda _: found


def _chunks(line: Callable[[], bytes], read: Callable[[int], bytes]) -> Iterable[bytes]:
    while length := int(line().strip() or b"0", 16):
        yield read(length)
        line()


def document(status: str, **members: object) -> dict[str, object]:
    """Return a document as the API describes it."""
    return {
        "id": DOCUMENT_ID,
        "name": "manual.txt",
        "status": status,
        "stage": status,
        "done": 0,
        "total": 0,
        "reason": None,
        "detail": None,
        "warnings": [],
        "version_id": "33333333-3333-3333-3333-333333333333",
        "page_count": 1,
        "chunk_count": 2,
        "size_bytes": 1_400,
        "visibility": "workspace",
        "created_at": "2026-01-01T00:00:00Z",
        "updated_at": "2026-01-01T00:00:00Z",
        **members,
    }


def claim(text: str, quote: str, n: int = 1) -> dict[str, object]:
    citation = {
        "n": n,
        "chunk_id": "44444444-4444-4444-4444-444444444444",
        "document_id": DOCUMENT_ID,
        "document_name": "manual.txt",
        "version_id": "33333333-3333-3333-3333-333333333333",
        "page": 3,
        "start": 0,
        "end": len(quote),
        "quote": quote,
    }
    return {"text": text, "conflict": None, "citations": [citation]}


def answer(status: str, *claims: dict[str, object], **members: object) -> dict[str, object]:
    return {
        "id": "55555555-5555-5555-5555-555555555555",
        "status": status,
        "reason": None,
        "question": "?",
        "standalone_question": "?",
        "claims": list(claims),
        "missing": [],
        "cache": {"layer": "none", "stored_at": None, "distance": None},
        "path": "retrieval",
        "model": "extractive",
        "prompt_version": "1",
        "corpus_version": "1",
        "usage": {"input_tokens": 0, "output_tokens": 0, "cost_microusd": 0, "model_calls": 0},
        "trace_id": "trace-7",
        **members,
    }
