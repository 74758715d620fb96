"""What can be done with documents. Each public method is one use case, read top to bottom."""

import asyncio
import hashlib
import unicodedata
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from uuid import UUID

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from app.core.errors import ConflictError, InvalidRequestError, NotFoundError
from app.core.identifiers import extract_identifiers
from app.core.ids import DocumentId, VersionId, new_id
from app.core.tenancy import WorkspaceScope
from app.db.models import Content, Document
from app.db.session import Database
from app.documents import repository
from app.documents.access import require_change
from app.documents.errors import (
    DocumentTooLargeError,
    EmptyDocumentError,
    NameTakenError,
    NotAMemberError,
    NotFailedError,
)
from app.documents.media_types import MediaType, sniff
from app.documents.repository import DocumentRow
from app.documents.storage import BlobStore
from app.documents.types import (
    DeletionReceipt,
    DocumentChanges,
    DocumentContent,
    DocumentPage,
    DocumentView,
    Outcome,
    Status,
    Upload,
    UploadResult,
    Visibility,
)
from app.jobs.payloads import IngestPayload, RemoveBlobsPayload
from app.jobs.queue import JobQueue

_HEAD_BYTES = 64 * 1024
_MAX_NAME = 255
# Progress is read from the row: often enough to look alive, rarely enough to cost nothing.
_WATCH_SECONDS = 0.4


@dataclass(frozen=True, slots=True)
class _Received:
    """A received file after a look at its bytes."""

    sha256: str
    size_bytes: int
    media_type: MediaType


class DocumentService:
    """Uploads, reads, changes and deletes documents of one workspace at a time."""

    def __init__(self, database: Database, blobs: BlobStore, queue: JobQueue, *, max_upload_bytes: int) -> None:
        self._database = database
        self._blobs = blobs
        self._queue = queue
        self._max_upload_bytes = max_upload_bytes

    async def upload(self, scope: WorkspaceScope, upload: Upload) -> UploadResult:
        """Take in a file: look at it, store its bytes, then write its rows and its job in one transaction.

        Raises:
            DocumentTooLargeError: It has more bytes than allowed.
            EmptyDocumentError: It has none.
            UnsupportedMediaTypeError: Its content is of no supported type.
            InvalidRequestError: Its name cannot be used.
        """
        name = clean_name(upload.name)
        received = await asyncio.to_thread(self._inspect, upload.path, name)
        blob_key = await self._store_if_new(scope, upload.path, received.sha256)
        try:
            async with self._database.workspace(scope) as session:
                result, blob_used = await self._record(session, scope, upload, name, received, blob_key)
        except BaseException:
            await self._discard(blob_key)
            raise
        if not blob_used:
            await self._discard(blob_key)
        return result

    async def get(self, scope: WorkspaceScope, document_id: DocumentId) -> DocumentView:
        """Return one document; raise `NotFoundError` when this member may not know of it."""
        async with self._database.workspace(scope) as session:
            return _view(await _required(session, scope, document_id))

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
        return [_view(row) for row in rows]

    async def watch(self, scope: WorkspaceScope, document_id: DocumentId) -> AsyncIterator[DocumentView]:
        """Yield a document each time its progress changed, until its state is final.

        No transaction is held between two looks. Raises `NotFoundError` when it is deleted meanwhile.
        """
        last: DocumentView | None = None
        while last is None or not last.status.final:
            view = await self.get(scope, document_id)
            if view != last:
                yield view
            last = view
            await asyncio.sleep(0 if view.status.final else _WATCH_SECONDS)

    async def page(
        self, scope: WorkspaceScope, document_id: DocumentId, number: int, version_id: VersionId | None
    ) -> DocumentPage:
        """Return one page of the canonical text of a version; without an id, of the newest."""
        async with self._database.workspace(scope) as session:
            found = await repository.find_version(session, scope, document_id, version_id)
            page = found and await repository.find_page(session, scope, found[1].content_sha256, number)
            if not found or not page:
                raise NotFoundError("There is no such page.")
            return DocumentPage(page.number, page.label, page.text, VersionId(found[1].id))

    async def content(
        self, scope: WorkspaceScope, document_id: DocumentId, version_id: VersionId | None
    ) -> DocumentContent:
        """Return where the original bytes of a version are; without an id, of the newest."""
        async with self._database.workspace(scope) as session:
            found = await repository.find_version(session, scope, document_id, version_id)
        if not found:
            raise _no_document()
        document, _, content = found
        return DocumentContent(document.name, content.media_type, content.size_bytes, content.blob_key)

    def stream(self, content: DocumentContent) -> AsyncIterator[bytes]:
        """Yield the original bytes; no transaction is open meanwhile."""
        return self._blobs.stream(content.blob_key)

    async def change(self, scope: WorkspaceScope, document_id: DocumentId, changes: DocumentChanges) -> DocumentView:
        """Rename a document or change who may read it; nothing is read anew.

        Raises:
            NameTakenError: Another document has the name.
            NotAMemberError: A granted user is not a member.
        """
        try:
            async with self._database.workspace(scope) as session:
                await repository.lock_documents(session, scope)
                row = await _required(session, scope, document_id)
                require_change(scope, row.document)
                await self._apply(session, scope, row.document, changes)
                return _view(row)
        except IntegrityError as error:
            raise _translate(error) from error

    async def retry(self, scope: WorkspaceScope, document_id: DocumentId) -> DocumentView:
        """Start a failed document again; raise `NotFailedError` when it has not failed."""
        async with self._database.workspace(scope) as session:
            await repository.lock_documents(session, scope)
            row = await _required(session, scope, document_id)
            require_change(scope, row.document)
            if row.content.status != Status.FAILED:
                raise NotFailedError(f"This document is {row.content.status}; only a failed one can be tried again.")
            await self._start(session, scope, row.content)
            await session.refresh(row.content)
            return _view(row)

    async def delete(self, scope: WorkspaceScope, document_id: DocumentId) -> DeletionReceipt:
        """Delete a document with all versions; it is out of every search when this returns.

        Check first, then act, in one transaction; the stored bytes follow by a job of the same transaction.
        """
        async with self._database.workspace(scope) as session:
            await repository.lock_documents(session, scope)
            row = await _required(session, scope, document_id)
            require_change(scope, row.document)
            contents = await repository.lone_contents(session, scope, document_id)
            sha256s = [content.sha256 for content in contents]
            keys = tuple(content.blob_key for content in contents)
            removed = await repository.count_dependents(session, scope, document_id, sha256s)
            await repository.delete_document(session, scope, document_id, sha256s)
            if keys:
                await self._queue.remove_blobs(session, RemoveBlobsPayload(workspace_id=scope.workspace_id, keys=keys))
        return DeletionReceipt(document_id, {"documents": 1, **removed, "blobs": len(keys)})

    def _inspect(self, path: Path, name: str) -> _Received:
        size = path.stat().st_size
        if size == 0:
            raise EmptyDocumentError("The file is empty.")
        if size > self._max_upload_bytes:
            limit = self._max_upload_bytes // (1024 * 1024)
            raise DocumentTooLargeError(f"The file is larger than {limit} MiB, the most that is accepted.")
        with path.open("rb") as file:
            media_type = sniff(file.read(_HEAD_BYTES), name)
            file.seek(0)
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        return _Received(sha256, size, media_type)

    async def _store_if_new(self, scope: WorkspaceScope, path: Path, sha256: str) -> str | None:
        async with self._database.workspace(scope) as session:
            if await repository.find_content(session, scope, sha256):
                return None
        return await self._blobs.put(scope.workspace_id, path)

    async def _record(
        self,
        session: AsyncSession,
        scope: WorkspaceScope,
        upload: Upload,
        name: str,
        received: _Received,
        blob_key: str | None,
    ) -> tuple[UploadResult, bool]:
        """Write the rows of an upload and its job; tell whether the stored bytes are needed."""
        await repository.lock_documents(session, scope)
        content, blob_used = await self._content(session, scope, received, blob_key)
        document = await repository.find_named(session, scope, name, upload.visibility)
        is_new = document is None
        if document is None:
            document = _new_document(scope, name, upload.visibility)
            await repository.insert_document(session, scope, document)
        previous = document.latest_version_id
        version_id = await repository.add_version(session, scope, document, received.sha256, VersionId(new_id()))
        document.latest_version_id = version_id
        if content.status == Status.READY:
            document.current_version_id = version_id
        else:
            await self._start(session, scope, content)
        await session.refresh(content)
        outcome = await self._outcome(session, scope, document, content, is_new=is_new, same=previous == version_id)
        return (
            UploadResult(DocumentId(document.id), version_id, outcome, Status(content.status), tuple(content.warnings)),
            blob_used,
        )

    async def _content(
        self, session: AsyncSession, scope: WorkspaceScope, received: _Received, blob_key: str | None
    ) -> tuple[Content, bool]:
        content = await repository.find_content(session, scope, received.sha256)
        if content is not None:
            return content, False
        if blob_key is None:
            raise ConflictError("The same file was deleted at this very moment. Upload it again.")
        await repository.insert_content(
            session,
            scope,
            sha256=received.sha256,
            blob_key=blob_key,
            media_type=received.media_type,
            size_bytes=received.size_bytes,
        )
        content = await repository.find_content(session, scope, received.sha256)
        if content is None:
            raise NotFoundError("The stored file is gone.")
        return content, True

    async def _start(self, session: AsyncSession, scope: WorkspaceScope, content: Content) -> None:
        """Queue a content that is not ready; one that failed begins anew."""
        await repository.requeue_content(session, scope, content.sha256)
        await self._queue.ingest(
            session,
            IngestPayload(workspace_id=scope.workspace_id, content_sha256=content.sha256, user_id=scope.user_id),
        )

    async def _outcome(
        self,
        session: AsyncSession,
        scope: WorkspaceScope,
        document: Document,
        content: Content,
        *,
        is_new: bool,
        same: bool,
    ) -> Outcome:
        if same:
            return Outcome.IDENTICAL
        if not is_new:
            return Outcome.NEW_VERSION
        elsewhere = await repository.same_content_readable(session, scope, content.sha256, DocumentId(document.id))
        return Outcome.SAME_CONTENT if elsewhere else Outcome.CREATED

    async def _apply(
        self, session: AsyncSession, scope: WorkspaceScope, document: Document, changes: DocumentChanges
    ) -> None:
        if changes.name is not None:
            document.name = clean_name(changes.name)
            document.identifiers = sorted(extract_identifiers(document.name))
        visibility = changes.visibility or Visibility(document.visibility)
        if changes.grants and visibility is Visibility.WORKSPACE:
            raise InvalidRequestError("Only a restricted document has grants. Set visibility to restricted.")
        document.visibility = visibility
        await session.flush()
        if visibility is Visibility.WORKSPACE or changes.grants is not None:
            await repository.clear_grants(session, scope, DocumentId(document.id))
        if visibility is Visibility.RESTRICTED:
            # Whoever restricts a document keeps reading it: nobody can lock themselves out.
            readers = [*(changes.grants or ()), scope.user_id]
            await repository.add_grants(session, scope, DocumentId(document.id), readers)
        await session.refresh(document)

    async def _discard(self, blob_key: str | None) -> None:
        if blob_key is not None:
            await asyncio.shield(self._blobs.remove([blob_key]))


def clean_name(name: str) -> str:
    """Return a document name in one normal form: NFC, no folders, no control characters.

    Raises:
        InvalidRequestError: Nothing is left, or it is longer than 255 characters.
    """
    base = unicodedata.normalize("NFC", name).replace("\\", "/").rsplit("/", 1)[-1]
    cleaned = " ".join("".join(char for char in base if unicodedata.category(char) not in {"Cc", "Cs"}).split())
    if not cleaned or cleaned in {".", ".."}:
        raise InvalidRequestError("The document needs a name.")
    if len(cleaned) > _MAX_NAME:
        raise InvalidRequestError(f"The document's name is longer than {_MAX_NAME} characters.")
    return cleaned


def _new_document(scope: WorkspaceScope, name: str, visibility: Visibility) -> Document:
    return Document(
        workspace_id=scope.workspace_id,
        id=new_id(),
        name=name,
        visibility=visibility,
        identifiers=sorted(extract_identifiers(name)),
        created_by=scope.user_id,
    )


async def _required(session: AsyncSession, scope: WorkspaceScope, document_id: DocumentId) -> DocumentRow:
    row = await repository.find(session, scope, document_id)
    if row is None:
        raise _no_document()
    return row


def _no_document() -> NotFoundError:
    return NotFoundError("There is no such document.")


def _translate(error: IntegrityError) -> NameTakenError | NotAMemberError | IntegrityError:
    message = str(error.orig)
    if "documents_workspace_name_key" in message or "documents_restricted_name_key" in message:
        return NameTakenError("Another document already has this name.")
    if "document_grants" in message:
        return NotAMemberError("A document can only be shared with members of this workspace.")
    return error


def _view(row: DocumentRow) -> DocumentView:
    document, version, content = row.document, row.version, row.content
    return DocumentView(
        id=DocumentId(document.id),
        name=document.name,
        status=Status(content.status),
        stage=content.status,
        done=content.done,
        total=content.total,
        reason=content.reason,
        detail=content.detail,
        warnings=tuple(content.warnings),
        version_id=VersionId(version.id),
        page_count=content.page_count,
        chunk_count=content.chunk_count,
        size_bytes=content.size_bytes,
        visibility=Visibility(document.visibility),
        created_at=document.created_at,
        updated_at=max(document.updated_at, content.updated_at),
    )
