"""What can be done with documents. Each public method is one use case, read top to bottom."""

import asyncio
import math
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from app.cache.entries import AnswerCacheEntries
from app.core.boxes import Box, unpack
from app.core.errors import InvalidRequestError, NotFoundError
from app.core.identifiers import name_identifiers
from app.core.ids import DocumentId, UserId, VersionId
from app.core.tenancy import WorkspaceScope
from app.db.locks import lock_documents
from app.db.models import Document
from app.db.session import Database
from app.documents import repository
from app.documents.access import may_change, require_change
from app.documents.constraints import refusal
from app.documents.deletion import Deletions
from app.documents.errors import NotFailedError
from app.documents.media_types import MediaType, kind_of_text
from app.documents.pending_blobs import PendingBlobs
from app.documents.repository import DocumentRow
from app.documents.storage import BlobStore
from app.documents.types import (
    DeletionReceipt,
    DocumentChanges,
    DocumentContent,
    DocumentPage,
    DocumentView,
    Status,
    Upload,
    UploadResult,
    Visibility,
)
from app.documents.uploads import Uploads, clean_name, start_ingestion
from app.jobs.queue import JobQueue

# Progress is read from the row: soon again after a change, more rarely while nothing moves, so that a hundred
# watchers of a long queue cost about 50 short reads a second.
_WATCH_SECONDS = 0.4
_WATCH_SLOWEST_SECONDS = 2.0
_STAGES_WITH_STEPS = frozenset({Status.PARSING, Status.CHUNKING, Status.EMBEDDING})


class DocumentService:
    """Uploads, reads, changes and deletes documents of one workspace at a time."""

    def __init__(
        self,
        database: Database,
        blobs: BlobStore,
        pending: PendingBlobs,
        queue: JobQueue,
        cache_entries: AnswerCacheEntries,
        *,
        max_upload_bytes: int,
    ) -> None:
        self._database = database
        self._blobs = blobs
        self._queue = queue
        self._uploads = Uploads(database, blobs, pending, queue, max_upload_bytes=max_upload_bytes)
        self._deletions = Deletions(database, blobs, pending, queue, cache_entries)

    async def upload(self, scope: WorkspaceScope, upload: Upload) -> UploadResult:
        """Take in a file; see `Uploads.take`."""
        return await self._uploads.take(scope, upload)

    async def get(self, scope: WorkspaceScope, document_id: DocumentId) -> DocumentView:
        """Return one document; raise `NotFoundError` when this member may not know of it."""
        async with self._database.workspace(scope) as session:
            return _view(scope, await repository.required(session, scope, document_id))

    async def page_of(
        self,
        scope: WorkspaceScope,
        *,
        status: Status | None,
        limit: int,
        before: tuple[datetime, UUID] | None,
    ) -> Sequence[DocumentView]:
        """Return readable documents, newest first."""
        async with self._database.workspace(scope) as session:
            rows = await repository.page(session, scope, status=status, limit=limit, before=before)
        return [_view(scope, row) for row in rows]

    async def watch(
        self, scope: WorkspaceScope, document_id: DocumentId, *, since: DocumentView
    ) -> AsyncIterator[DocumentView]:
        """Yield a document each time that its state or progress differs from what was seen last, until it is final.

        No transaction is held between two looks. Raises `NotFoundError` when it is deleted meanwhile.
        """
        last, wait = since, _WATCH_SECONDS
        while not last.status.final:
            await asyncio.sleep(wait)
            view = await self.get(scope, document_id)
            wait = min(wait * 1.5, _WATCH_SLOWEST_SECONDS)
            if _told(view) != _told(last):
                yield view
                wait = _WATCH_SECONDS
            last = view

    async def page(
        self,
        scope: WorkspaceScope,
        document_id: DocumentId,
        number: int,
        version_id: VersionId | None,
        *,
        with_boxes: bool = False,
    ) -> DocumentPage:
        """Return one page of the canonical text of a version; without an id, of the one that answers are given from.

        Args:
            scope: Who asks, and where.
            document_id: The document.
            number: Number of the page, from 1.
            version_id: The version.
            with_boxes: Whether the places of its words are wanted too.

        Raises:
            NotFoundError: There is no such page, or the version is not ready.
        """
        async with self._database.workspace(scope) as session:
            found = await repository.find_page(session, scope, document_id, version_id, number)
        if found is None:
            raise NotFoundError("There is no such page, or the document is not ready yet.")
        page, of_version = found
        boxes = _shown(page.boxes) if with_boxes and page.boxes else None
        return DocumentPage(page.number, page.label, page.text, of_version, page.width, page.height, boxes)

    async def content(
        self, scope: WorkspaceScope, document_id: DocumentId, version_id: VersionId | None
    ) -> DocumentContent:
        """Return where the original bytes of a version are; without an id, of the newest."""
        async with self._database.workspace(scope) as session:
            found = await repository.find_version(session, scope, document_id, version_id)
        if not found:
            raise NotFoundError("There is no such document or version.")
        document, _, content = found
        media_type = kind_of_text(MediaType(content.media_type), document.name)
        return DocumentContent(document.name, media_type, content.size_bytes, content.blob_key)

    async def open(self, content: DocumentContent) -> AsyncIterator[bytes]:
        """Return the original bytes in parts; no transaction is open meanwhile.

        Raises:
            NotFoundError: They are gone.
            UnavailableError: The store does not answer.
        """
        return await self._blobs.open(content.blob_key)

    async def change(self, scope: WorkspaceScope, document_id: DocumentId, changes: DocumentChanges) -> DocumentView:
        """Rename a document or change who may read it; nothing is read anew.

        Raises:
            NameTakenError: Another document has the name.
            NotAMemberError: A granted user is not a member.
        """
        try:
            async with self._database.workspace(scope) as session:
                await lock_documents(session, scope)
                row = await repository.required(session, scope, document_id)
                require_change(scope, row.document)
                await self._apply(session, scope, row.document, changes)
                return _view(scope, await repository.required(session, scope, document_id))
        except IntegrityError as error:
            if refused := refusal(error):
                raise refused from error
            raise

    async def retry(self, scope: WorkspaceScope, document_id: DocumentId) -> DocumentView:
        """Start a failed document again; raise `NotFailedError` when it has not failed."""
        async with self._database.workspace(scope) as session:
            await lock_documents(session, scope)
            row = await repository.required(session, scope, document_id)
            require_change(scope, row.document)
            if row.content.status != Status.FAILED:
                raise NotFailedError(f"This document is {row.content.status}; only a failed one can be tried again.")
            await start_ingestion(self._queue, session, scope, row.content)
            await session.refresh(row.content)
            return _view(scope, await repository.required(session, scope, document_id))

    async def delete(self, scope: WorkspaceScope, document_id: DocumentId) -> DeletionReceipt:
        """Delete a document with all versions; see `Deletions.delete`."""
        return await self._deletions.delete(scope, document_id)

    async def _apply(
        self, session: AsyncSession, scope: WorkspaceScope, document: Document, changes: DocumentChanges
    ) -> None:
        if changes.name is not None:
            document.name = clean_name(changes.name)
            document.identifiers = name_identifiers(document.name)
        visibility = changes.visibility or Visibility(document.visibility)
        if changes.grants and visibility is Visibility.WORKSPACE:
            raise InvalidRequestError("Only a restricted document has grants. Set visibility to restricted.")
        if changes.name is not None or changes.visibility is not None:
            # The name now counts among the caller's own, so that a clash tells them of no hidden document of another.
            document.named_by = scope.user_id
        document.visibility = visibility
        await session.flush()
        if visibility is Visibility.WORKSPACE or changes.grants is not None:
            await repository.clear_grants(session, scope, DocumentId(document.id))
        if visibility is Visibility.RESTRICTED:
            # Whoever restricts a document keeps reading it: nobody can lock themselves out.
            readers = [*(changes.grants or ()), scope.user_id]
            await repository.add_grants(session, scope, DocumentId(document.id), readers)
        await session.refresh(document)


def _view(scope: WorkspaceScope, row: DocumentRow) -> DocumentView:
    document, version, content = row.document, row.version, row.content
    return DocumentView(
        id=DocumentId(document.id),
        name=document.name,
        status=Status(content.status),
        stage=content.status,
        done=content.done,
        total=content.total,
        estimate_seconds=_estimate(row),
        reason=content.reason,
        detail=content.detail,
        warnings=tuple(content.warnings),
        pages_without_text=tuple(content.pages_without_text),
        version_id=VersionId(version.id),
        page_count=content.page_count,
        chunk_count=content.chunk_count,
        size_bytes=content.size_bytes,
        visibility=Visibility(document.visibility),
        grants=tuple(UserId(user) for user in row.grants) if may_change(scope, document) else None,
        created_at=document.created_at,
        updated_at=max(document.updated_at, content.updated_at),
    )


def _estimate(row: DocumentRow) -> int | None:
    """Return how many seconds the stage goes on at the pace of this run; unknown before its first step is done."""
    done, total = row.content.done, row.content.total
    did = done - row.content.stage_started_done
    if Status(row.content.status) not in _STAGES_WITH_STEPS or did <= 0 or done > total:
        return None
    return math.ceil(max(row.stage_seconds, 0.0) * (total - done) / did)


def _shown(boxes: bytes) -> tuple[Box, ...]:
    """Return the boxes of what the page shows: the signs that parsing puts between a table's cells have no size."""
    return tuple(box for box in unpack(boxes) if box.left < box.right and box.top < box.bottom)


def _told(view: DocumentView) -> DocumentView:
    """Return what a watcher is told of; a lease that is renewed or an estimate alone is nothing new."""
    return replace(view, estimate_seconds=None, updated_at=view.created_at)
