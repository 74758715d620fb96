"""Where a worker of the run of kills ends itself, as abruptly as by a power cut, when a file tells it to.

Nothing of this is in the service: the points are found from outside, around the calls that the pipeline makes and
around the commit of the transaction that marks a content ready.
"""

import contextlib
import json
import os
import signal
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any
from unittest.mock import patch

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.ext.asyncio import AsyncEngine

from app.bootstrap import Services
from app.core.tenancy import WorkspaceScope
from app.llm.types import Vectors
from bench.embedder import HashEmbedder

_MARK = "bench_final"


class KillPoint(StrEnum):
    """The points, in the order in which a run passes them."""

    AFTER_CLAIM = "after claim"
    AFTER_READ = "after read"
    AFTER_PARSE = "after parse"
    HALF_EMBEDDED = "half of embedding"
    BEFORE_FINAL_COMMIT = "before final commit"
    AFTER_FINAL_COMMIT = "after final commit"


@dataclass(frozen=True, slots=True)
class Order:
    """When to die.

    Attributes:
        point: Where.
        skip: How often to pass that point first.
        spare: Contents (see `content_key`) during whose run not to die: they were hit twice, and three times without
            progress would end them for good, as it should.
        chunks: Passages by hash of the content, to know what half of them is.
    """

    point: KillPoint
    skip: int
    spare: tuple[str, ...]
    chunks: Mapping[str, int]

    def write(self, path: Path) -> None:
        """Give the order: whole or not at all."""
        fields = {"point": self.point, "skip": self.skip, "spare": self.spare, "chunks": dict(self.chunks)}
        fresh = path.with_suffix(".new")
        fresh.write_text(json.dumps(fields), "utf-8")
        fresh.replace(path)

    @classmethod
    def read(cls, path: Path) -> "Order | None":
        """Return the order, if one was given."""
        try:
            fields = json.loads(path.read_text("utf-8"))
        except FileNotFoundError:
            return None
        return cls(KillPoint(fields["point"]), fields["skip"], tuple(fields["spare"]), fields["chunks"])


def content_key(workspace_id: object, sha256: str) -> str:
    """Return the name of one content among those of all workspaces."""
    return f"{workspace_id}:{sha256}"


class Killer:
    """Ends this process at the ordered point.

    Args:
        path: File that the order comes in, at any time.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._passed: Counter[KillPoint] = Counter()
        self._embedded: Counter[str] = Counter()
        self._in_flight: set[str] = set()
        self._current: ContextVar[tuple[str, str]] = ContextVar("content", default=("", ""))

    @contextlib.contextmanager
    def installed(self, services: Services, embedder: HashEmbedder) -> Iterator[None]:
        """Watch the points of these services until the block ends."""
        _listen(services.database.engine, self)
        with contextlib.ExitStack() as stack:
            stack.enter_context(patch.object(services.ingestion, "run", self._running(services.ingestion.run)))
            stack.enter_context(patch.object(services.blobs, "read", self._reading(services.blobs.read)))
            stack.enter_context(patch.object(embedder, "embed_passages", self._embedding(embedder.embed_passages)))
            stack.enter_context(patch.object(services.parser, "parse", self._parsing(services.parser.parse)))
            yield

    def reached(self, point: KillPoint) -> None:
        """Die here if that was ordered."""
        order = Order.read(self._path)
        if order is None or order.point is not point or self._in_flight & set(order.spare):
            return
        self._passed[point] += 1
        if self._passed[point] > order.skip:
            os.kill(os.getpid(), signal.SIGKILL)

    def _running(self, original: Any) -> Any:
        async def run(scope: WorkspaceScope, sha256: str, *rest: Any, **named: Any) -> Any:
            key = content_key(scope.workspace_id, sha256)
            self._current.set((key, sha256))
            self._in_flight.add(key)
            try:
                return await original(scope, sha256, *rest, **named)
            finally:
                self._in_flight.discard(key)

        return run

    def _reading(self, original: Any) -> Any:
        async def read(key: str) -> bytes:
            self.reached(KillPoint.AFTER_CLAIM)
            data: bytes = await original(key)
            self.reached(KillPoint.AFTER_READ)
            return data

        return read

    def _parsing(self, original: Any) -> Any:
        async def parse(*given: Any) -> Any:
            parsed = await original(*given)
            self.reached(KillPoint.AFTER_PARSE)
            return parsed

        return parse

    def _embedding(self, original: Any) -> Any:
        async def embed_passages(texts: Sequence[str]) -> Vectors:
            vectors: Vectors = await original(texts)
            key, sha256 = self._current.get()
            before, self._embedded[key] = self._embedded[key], self._embedded[key] + len(texts)
            order = Order.read(self._path)
            if order is not None and before <= order.chunks.get(sha256, 0) / 2 < self._embedded[key]:
                self.reached(KillPoint.HALF_EMBEDDED)
            return vectors

        return embed_passages


def _listen(engine: AsyncEngine, killer: Killer) -> None:
    """Find the transaction that marks a content ready, and watch its commit from both sides."""

    def executed(connection: Connection, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        # What is set has the column's name; what is compared in the condition has another.
        values = parameters if isinstance(parameters, Mapping) else {}
        if statement.lstrip().startswith("UPDATE contents") and values.get("status") == "ready":
            connection.info[_MARK] = True

    def committing(connection: Connection) -> None:
        if connection.info.get(_MARK):
            killer.reached(KillPoint.BEFORE_FINAL_COMMIT)

    def given_back(_connection: Any, record: Any) -> None:
        if record.info.pop(_MARK, False):
            killer.reached(KillPoint.AFTER_FINAL_COMMIT)

    sa.event.listen(engine.sync_engine, "before_cursor_execute", executed)
    sa.event.listen(engine.sync_engine, "commit", committing)
    sa.event.listen(engine.sync_engine.pool, "checkin", given_back)
