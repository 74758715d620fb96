"""Deleting a document, and proving it: what was taken from where, and a look afterwards at what is left."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

import structlog

from app.cache.entries import AnswerCacheEntries
from app.core.errors import UnavailableError
from app.core.ids import DocumentId
from app.core.tenancy import WorkspaceScope
from app.db.locks import lock_documents
from app.db.session import Database
from app.documents import repository
from app.documents.access import require_change
from app.documents.pending_blobs import PendingBlobs
from app.documents.storage import BlobStore, new_key
from app.documents.types import DeletionReceipt
from app.jobs import dead_letters
from app.jobs.payloads import RemoveBlobsPayload
from app.jobs.queue import JobQueue

log = structlog.get_logger(__name__)

# The queued job is the guarantee; the request only tries, and looks, for as long as a person would wait.
_REMOVE_WITHIN_SECONDS = 3.0
_LOOK_WITHIN_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class _Deleted:
    """What one transaction has removed.

    Attributes:
        counts: Rows that the reader lost, by table.
        files: How many stored files the reader lost. One may stay for a document that the reader must not know of.
        keys: Keys of the stored bytes that nothing refers to any more, by their hashes.
    """

    counts: Mapping[str, int]
    files: int
    keys: Mapping[str, str]


class Deletions:
    """Deletes documents of one workspace at a time."""

    def __init__(
        self,
        database: Database,
        blobs: BlobStore,
        pending: PendingBlobs,
        queue: JobQueue,
        cache_entries: AnswerCacheEntries,
    ) -> None:
        self._database = database
        self._blobs = blobs
        self._pending = pending
        self._queue = queue
        self._cache_entries = cache_entries

    async def delete(self, scope: WorkspaceScope, document_id: DocumentId) -> DeletionReceipt:
        """Delete a document with all versions; it is out of every search when the first step is done.

        What follows the commit changes nothing about that: it takes the bytes and the cached answers away sooner than
        the queued job and their expiry would, and looks at what is left.
        """
        deleted = await self._delete_rows(scope, document_id)
        cached = await self._cache_entries.purge(scope.workspace_id)
        await self._remove_bytes(scope, deleted)
        rows = await self._look_at_rows(scope, document_id, deleted)
        files = await self._look_at_files(scope, deleted)
        removed = {**deleted.counts, "blobs": deleted.files, "cache_entries": cached}
        remaining = {**rows, "blobs": files, "cache_entries": None if cached is None else 0}
        return DeletionReceipt(document_id, removed, remaining, _in_words(remaining))

    async def _delete_rows(self, scope: WorkspaceScope, document_id: DocumentId) -> _Deleted:
        """Check first, then act, in one transaction; the job that removes the bytes belongs to it."""
        async with self._database.workspace(scope) as session:
            await lock_documents(session, scope)
            row = await repository.required(session, scope, document_id)
            require_change(scope, row.document)
            contents = await repository.lone_contents(session, scope, document_id)
            keys = {content.sha256: content.blob_key for content in contents}
            lost = await repository.contents_lost_to(session, scope, document_id)
            counts = await repository.count_dependents(session, scope, document_id, lost)
            await repository.delete_document(session, scope, document_id, list(keys))
            await self._queue.forget(session, scope, list(keys))
            await dead_letters.forget(session, scope, list(keys))
            await self._pending.condemn(session, scope, list(keys.values()))
            if keys:
                payload = RemoveBlobsPayload(workspace_id=scope.workspace_id, keys=tuple(keys.values()))
                await self._queue.remove_blobs(session, payload)
        return _Deleted({"documents": 1, **counts}, len(lost), keys)

    async def _remove_bytes(self, scope: WorkspaceScope, deleted: _Deleted) -> None:
        try:
            async with asyncio.timeout(_REMOVE_WITHIN_SECONDS):
                await self._pending.sweep(scope, list(deleted.keys.values()))
        except (UnavailableError, TimeoutError) as error:
            log.warning("deletion.bytes_left_to_job", error=type(error).__name__, files=len(deleted.keys))

    async def _look_at_rows(
        self, scope: WorkspaceScope, document_id: DocumentId, deleted: _Deleted
    ) -> Mapping[str, int | None]:
        try:
            async with self._database.workspace(scope) as session:
                return {**await repository.count_remaining(session, scope, document_id, deleted.keys)}
        except UnavailableError:
            return dict.fromkeys(deleted.counts)

    async def _look_at_files(self, scope: WorkspaceScope, deleted: _Deleted) -> int:
        """Count the files that are still stored; when the store does not say, all that the reader lost."""
        # With or without files of its own, the store is asked: its silence must not tell one case from the other.
        keys = list(deleted.keys.values()) or [new_key(scope.workspace_id)]
        try:
            async with asyncio.timeout(_LOOK_WITHIN_SECONDS):
                return sum(await asyncio.gather(*(self._blobs.exists(key) for key in keys)))
        except (UnavailableError, TimeoutError):
            return deleted.files


def _in_words(remaining: Mapping[str, int | None]) -> str:
    rows = [count for name, count in remaining.items() if name not in {"blobs", "cache_entries"}]
    files = remaining["blobs"] or 0
    if any(count is None for count in rows):
        words = "Deleted. The database did not answer a second look, so what is left could not be counted."
    elif any(rows):
        words = "Deleted, but a second look still found rows of it. Tell an operator."
    else:
        words = "Deleted. A second look found none of it in the database."
    if files:
        names, were = ("stored file", "was") if files == 1 else ("stored files", "were")
        words += f" {files} {names} {were} not removed yet; that will be done as soon as the store answers."
    if remaining["cache_entries"] is None:
        words += " Whether answers were cached is unknown; they cannot be used any more and expire by themselves."
    return words
