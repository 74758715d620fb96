"""A small store that speaks the part of the S3 protocol that blobs need: objects in memory, signatures not checked."""

import re
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Self
from urllib.parse import parse_qs, unquote, urlsplit

_ERROR = "<?xml version='1.0'?><Error><Code>{code}</Code><Message>{code}</Message></Error>"


@dataclass(slots=True)
class S3:
    """What the store holds, and how it was asked.

    Attributes:
        bucket: The one bucket that exists.
        objects: Bytes by key.
        uploads: Parts of unfinished multi-part uploads by their id.
        asked: Method, path and `Authorization` of every request.
        failing: Status that every request is answered with; 0 to work.
    """

    bucket: str
    objects: dict[str, bytes] = field(default_factory=dict)
    uploads: dict[str, dict[int, bytes]] = field(default_factory=dict)
    asked: list[tuple[str, str, str]] = field(default_factory=list)
    failing: int = 0
    _server: ThreadingHTTPServer | None = None

    def __enter__(self) -> Self:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        """The address, on this machine and without TLS."""
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def answer(self, method: str, path: str, query: dict[str, list[str]], body: bytes) -> tuple[int, bytes]:
        """Do what a request asks for; return the status and body of the answer."""
        if self.failing:
            return self.failing, _ERROR.format(code="InternalError").encode()
        bucket, _, key = path.lstrip("/").partition("/")
        if bucket != self.bucket:
            return 404, _ERROR.format(code="NoSuchBucket").encode()
        if "delete" in query:
            named = [each.decode() for each in re.findall(rb"<Key>([^<]+)</Key>", body)]
            for each in named:
                self.objects.pop(each, None)
            done = "".join(f"<Deleted><Key>{each}</Key></Deleted>" for each in named)
            return 200, f"<DeleteResult>{done}</DeleteResult>".encode()
        if not key:
            return 200, f"<ListBucketResult><KeyCount>{len(self.objects)}</KeyCount></ListBucketResult>".encode()
        if "uploads" in query or "uploadId" in query:
            return self._multipart(method, key, query, body)
        return self._single(method, key, body)

    def _single(self, method: str, key: str, body: bytes) -> tuple[int, bytes]:
        if method == "PUT":
            self.objects[key] = body
            return 200, b""
        if key not in self.objects:
            return 404, _ERROR.format(code="NoSuchKey").encode()
        return 200, self.objects[key]

    def _multipart(self, method: str, key: str, query: dict[str, list[str]], body: bytes) -> tuple[int, bytes]:
        if "uploads" in query:
            upload = f"upload-{len(self.asked)}"
            self.uploads[upload] = {}
            return 200, (
                f"<InitiateMultipartUploadResult><Bucket>{self.bucket}</Bucket><Key>{key}</Key>"
                f"<UploadId>{upload}</UploadId></InitiateMultipartUploadResult>"
            ).encode()
        (upload,) = query["uploadId"]
        if method == "PUT":
            self.uploads[upload][int(query["partNumber"][0])] = body
            return 200, b""
        parts = self.uploads.pop(upload)
        if method == "POST":
            self.objects[key] = b"".join(parts[number] for number in sorted(parts))
            return 200, b"<CompleteMultipartUploadResult><ETag>e</ETag></CompleteMultipartUploadResult>"
        return 204, b""


def _handler(store: S3) -> type[BaseHTTPRequestHandler]:
    tags = count()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            address = urlsplit(self.path)
            path = unquote(address.path)
            store.asked.append((self.command, path, self.headers.get("Authorization", "")))
            status, answer = store.answer(self.command, path, parse_qs(address.query, keep_blank_values=True), body)
            self.send_response(status)
            if status != 204:
                self.send_header("Content-Length", str(len(answer)))
            self.send_header("ETag", f'"{next(tags)}"')
            self.send_header("Last-Modified", "Tue, 01 Dec 2026 00:00:00 GMT")
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(answer)

        do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = serve  # noqa: N815 - the names are the library's

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the same
            """Keep the terminal free."""

    return Handler
