"""Asks all the while for what must not be seen: anything of a document that is not ready."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from uuid import UUID

from app.bootstrap import Services
from app.core.errors import NotFoundError
from app.core.ids import ChunkId
from app.documents.types import Status
from bench.shelf import Shelved

_PAUSE_SECONDS = 0.02


class Watcher:
    """Looks at documents one after the other by search, by the ids of their passages and by page.

    Args:
        services: What is asked.
        chunk_ids: Ids that the passages of a content will have, by its hash.

    Attributes:
        looks: How often a document was looked at.
        hidden: How many of these looks were at a document that was not ready, and saw nothing.
        seen: How many looks saw something of a document that was ready: the others could have seen something too.
        breaches: What was seen of documents that were not ready.
    """

    def __init__(self, services: Services, chunk_ids: Mapping[str, Sequence[UUID]]) -> None:
        self._services = services
        self._chunk_ids = chunk_ids
        self.looks = 0
        self.hidden = 0
        self.seen = 0
        self.breaches: list[str] = []

    async def look(self, document: Shelved) -> None:
        """Look first, read the state afterwards: what is seen before the document is ready afterwards is a breach."""
        ways = [way async for way in self._ways_in(document)]
        view = await self._services.documents.get(document.scope, document.document_id)
        self.looks += 1
        if view.status is Status.READY:
            self.seen += bool(ways)
        elif ways:
            self.breaches.append(f"{document.sha256[:12]} {view.status} was seen by {', '.join(ways)}")
        else:
            self.hidden += 1

    async def _ways_in(self, document: Shelved) -> AsyncIterator[str]:
        """Yield the ways by which something of a document is seen."""
        scope, retrieval = document.scope, self._services.retrieval
        passages = (await retrieval.search(scope, document.marker, 20)).passages
        if any(passage.document_id == document.document_id for passage in passages):
            yield "search"
        for chunk_id in self._chunk_ids[document.sha256][:2]:
            with contextlib.suppress(NotFoundError):
                await retrieval.chunk(scope, ChunkId(chunk_id))
                yield "passage"
        for version_id in (None, document.version_id):
            with contextlib.suppress(NotFoundError):
                await self._services.documents.page(scope, document.document_id, 1, version_id)
                yield "page" if version_id is None else "page of the version"


@contextlib.asynccontextmanager
async def watching(watcher: Watcher, documents: Sequence[Shelved]) -> AsyncIterator[None]:
    """Look at the documents in turns until the block ends; an error of a look ends the watch and the block."""

    async def look_on() -> None:
        while True:
            for document in documents:
                await watcher.look(document)
                await asyncio.sleep(_PAUSE_SECONDS)

    looking = asyncio.create_task(look_on())
    try:
        yield
    finally:
        looking.cancel()
        (ended,) = await asyncio.gather(looking, return_exceptions=True)
        if isinstance(ended, Exception):
            raise ended
