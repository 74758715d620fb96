"""Taking in a file: look at it, store its bytes, then write its rows and its job in one transaction."""

import asyncio
import hashlib
import os
import unicodedata
from dataclasses import dataclass
from datetime import timedelta
from typing import BinaryIO

import structlog
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from app.core.errors import InvalidRequestError, UnavailableError
from app.core.glyphs import is_visible
from app.core.identifiers import name_identifiers
from app.core.ids import DocumentId, VersionId, new_id
from app.core.tenancy import WorkspaceScope
from app.db.locks import lock_documents
from app.db.models import Content, Document
from app.db.session import Database
from app.documents import repository
from app.documents.constraints import refusal
from app.documents.errors import DocumentTooLargeError, EmptyDocumentError
from app.documents.media_types import MediaType, sniff
from app.documents.pending_blobs import PendingBlobs
from app.documents.similarity import likeness_of, look_alike
from app.documents.storage import BlobStore, finish_though_cancelled, new_key
from app.documents.types import Outcome, Status, Upload, UploadResult, Visibility
from app.jobs import dead_letters
from app.jobs.payloads import IngestPayload
from app.jobs.queue import JobQueue

log = structlog.get_logger(__name__)

_MEBIBYTE = 1024 * 1024
_MAX_NAME = 255
_LOOK_WITHIN_SECONDS = 2.0
_LATELY = timedelta(minutes=10)
"""How long somebody may have forgotten that they, or a colleague, brought a document."""
_MOST_COMPARED = 500
# Signs that change the order of what follows: a name must read as it is stored.
_BIDI_CONTROLS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


@dataclass(frozen=True, slots=True)
class _Received:
    """A received file after a look at its bytes."""

    name: str
    visibility: Visibility
    sha256: str
    size_bytes: int
    media_type: MediaType


@dataclass(frozen=True, slots=True)
class _Attached:
    """What became of an upload, and the key of the bytes that are kept."""

    result: UploadResult
    blob_key: str


class _UnknownBytesError(Exception):
    """The bytes have to be stored first."""


class Uploads:
    """Takes in files of one workspace at a time. Taking in the same file again changes nothing."""

    def __init__(
        self, database: Database, blobs: BlobStore, pending: PendingBlobs, queue: JobQueue, *, max_upload_bytes: int
    ) -> None:
        self._database = database
        self._blobs = blobs
        self._pending = pending
        self._queue = queue
        self._max_upload_bytes = max_upload_bytes

    async def take(self, scope: WorkspaceScope, upload: Upload) -> UploadResult:
        """Take in a file and queue what has to be done with it.

        Raises:
            DocumentTooLargeError: It has more bytes than allowed.
            EmptyDocumentError: It has none.
            UnsupportedMediaTypeError: Its content is of no supported type.
            InvalidRequestError: Its name cannot be used.
            NameTakenError: The member brought a restricted document of this name, and may not read it any more.
        """
        received = await asyncio.to_thread(self._inspect, upload)
        lost_key = await self._lost_key(scope, received.sha256)
        try:
            return (await self._attach(scope, received, None, lost_key)).result
        except _UnknownBytesError:
            return await self._store_and_attach(scope, upload, received, lost_key)

    async def _lost_key(self, scope: WorkspaceScope, sha256: str) -> str | None:
        """Return the key of these bytes when a content has them and the store does not, any more.

        A store that does not answer has lost nothing: what is known is answered without it.
        """
        async with self._database.workspace(scope) as session:
            content = await repository.find_content(session, scope, sha256)
        if content is None:
            return None
        try:
            async with asyncio.timeout(_LOOK_WITHIN_SECONDS):
                there = await self._blobs.exists(content.blob_key)
        except (UnavailableError, TimeoutError) as error:
            log.warning("upload.bytes_not_looked_for", key=content.blob_key, error=type(error).__name__)
            return None
        return None if there else content.blob_key

    async def _store_and_attach(
        self, scope: WorkspaceScope, upload: Upload, received: _Received, lost_key: str | None
    ) -> UploadResult:
        """Note the key, store the bytes, write the rows; bytes that no row refers to in the end are removed again."""
        key, used = new_key(scope.workspace_id), None
        try:
            await self._pending.expect(scope, key)
            await self._blobs.put(key, upload.file)
            attached = await self._attach(scope, received, key, lost_key)
            used = attached.blob_key
        finally:
            if used != key:
                await finish_though_cancelled(self._remove_unless_used(scope, key))
        return attached.result

    async def _attach(
        self, scope: WorkspaceScope, received: _Received, blob_key: str | None, lost_key: str | None
    ) -> _Attached:
        """Write the rows and the job in one transaction.

        `_UnknownBytesError` without a key for bytes that are new, or that a content has lost under `lost_key`.
        """
        try:
            async with self._database.workspace(scope) as session:
                await lock_documents(session, scope)
                content = await self._content(session, scope, received, blob_key, lost_key)
                return _Attached(await self._record(session, scope, received, content), content.blob_key)
        except IntegrityError as error:
            if refused := refusal(error):
                raise refused from error
            raise

    async def _remove_unless_used(self, scope: WorkspaceScope, key: str) -> None:
        """Remove stored bytes unless their row is there: a commit whose reply was lost may have made it."""
        try:
            await self._pending.sweep(scope, [key])
        except UnavailableError:
            log.warning("upload.bytes_left_to_sweep", key=key)

    def _inspect(self, upload: Upload) -> _Received:
        name = clean_name(upload.name)
        size = upload.file.seek(0, os.SEEK_END)
        if size == 0:
            raise EmptyDocumentError("The file is empty.")
        if size > self._max_upload_bytes:
            raise DocumentTooLargeError(f"The file is larger than {_size(self._max_upload_bytes)}, the most accepted.")
        upload.file.seek(0)
        media_type = sniff(upload.file, name)
        upload.file.seek(0)
        sha256 = _sha256(upload.file)
        return _Received(name, upload.visibility, sha256, size, media_type)

    async def _content(
        self,
        session: AsyncSession,
        scope: WorkspaceScope,
        received: _Received,
        blob_key: str | None,
        lost_key: str | None,
    ) -> Content:
        """Return the row of these bytes: that which has them, that which has lost them, or a new one."""
        content = await repository.find_content(session, scope, received.sha256)
        # Under another key they have come back meanwhile, or were deleted and brought anew.
        if content is not None and content.blob_key != lost_key:
            return content
        if blob_key is None:
            raise _UnknownBytesError
        await self._pending.attach(session, scope, blob_key)
        if content is not None:
            return await self._restore(session, scope, content, blob_key)
        content = Content(
            workspace_id=scope.workspace_id,
            sha256=received.sha256,
            blob_key=blob_key,
            media_type=received.media_type,
            size_bytes=received.size_bytes,
            created_by=scope.user_id,
        )
        session.add(content)
        await session.flush()  # the version refers to the row
        return content

    async def _restore(self, session: AsyncSession, scope: WorkspaceScope, content: Content, blob_key: str) -> Content:
        """Let a content have its bytes again; a worker that holds it is not disturbed.

        The lost key is noted, so that bytes which come back with a disk or a backup are not kept for ever.
        """
        await self._pending.condemn(session, scope, [content.blob_key])
        log.warning("upload.lost_bytes_restored", workspace_id=str(scope.workspace_id), lost_key=content.blob_key)
        content.blob_key = blob_key
        await session.flush()  # what follows reads the row
        return content

    async def _record(
        self, session: AsyncSession, scope: WorkspaceScope, received: _Received, content: Content
    ) -> UploadResult:
        """Write the document and its version, and queue the content unless it is ready."""
        document, is_new = await self._document(session, scope, received)
        previous = document.latest_version_id
        fresh_id = VersionId(new_id())
        version_id = await repository.add_version(session, scope, document, content.sha256, fresh_id)
        document.latest_version_id = version_id
        if content.status == Status.READY:
            document.current_version_id = version_id
        else:
            await start_ingestion(self._queue, session, scope, content)
        twin = await repository.find_twin_name(session, scope, content.sha256, DocumentId(document.id))
        outcome = _outcome(is_new=is_new, same=previous == version_id, elsewhere=twin is not None)
        hints: tuple[str, ...] = ()
        if outcome is Outcome.SAME_CONTENT:
            hints = (f'The same content is also called "{twin}".',)
        elif outcome is Outcome.CREATED:
            hints = await self._hints(session, scope, received, DocumentId(document.id))
        if version_id == fresh_id and twin is None:
            # These bytes may be ready, for a document that this member must not notice: it begins like any other.
            return UploadResult(DocumentId(document.id), version_id, outcome, Status.QUEUED, hints)
        return UploadResult(
            DocumentId(document.id), version_id, outcome, Status(content.status), (*hints, *content.warnings)
        )

    async def _hints(
        self, session: AsyncSession, scope: WorkspaceScope, received: _Received, document_id: DocumentId
    ) -> tuple[str, ...]:
        """Return a hint when another document that came lately looks like this one."""
        lately = await repository.uploaded_lately(session, scope, _LATELY, limit=_MOST_COMPARED, besides=document_id)
        mine = likeness_of(received.name)
        for other in lately:
            if look_alike(mine, likeness_of(other.name), same_size=other.size_bytes == received.size_bytes):
                return (_hint(other.name, other.age_seconds),)
        return ()

    async def _document(
        self, session: AsyncSession, scope: WorkspaceScope, received: _Received
    ) -> tuple[Document, bool]:
        known = await repository.find_named(session, scope, received.name, received.visibility)
        if known is not None:
            return known, False
        document = Document(
            workspace_id=scope.workspace_id,
            id=new_id(),
            name=received.name,
            visibility=received.visibility,
            identifiers=name_identifiers(received.name),
            named_by=scope.user_id,
            created_by=scope.user_id,
        )
        await repository.insert_document(session, scope, document)
        return document, True


def _outcome(*, is_new: bool, same: bool, elsewhere: bool) -> Outcome:
    if same:
        return Outcome.IDENTICAL
    if not is_new:
        return Outcome.NEW_VERSION
    return Outcome.SAME_CONTENT if elsewhere else Outcome.CREATED


def _hint(name: str, age_seconds: float) -> str:
    minutes = int(age_seconds // 60)
    when = "less than a minute" if minutes < 1 else "1 minute" if minutes == 1 else f"{minutes} minutes"
    advice = "If it is its new version, upload it under that name."
    return f'This may be another copy of "{name}", uploaded {when} ago. {advice}'


def _size(count: int) -> str:
    return f"{count / _MEBIBYTE:.3g} MiB" if count >= _MEBIBYTE else f"{count} bytes"


def _sha256(file: BinaryIO) -> str:
    digest = hashlib.sha256()
    while part := file.read(_MEBIBYTE):
        digest.update(part)
    return digest.hexdigest()


async def start_ingestion(queue: JobQueue, session: AsyncSession, scope: WorkspaceScope, content: Content) -> None:
    """Queue a content that is not ready; one that failed begins anew."""
    await repository.requeue_content(session, scope, content.sha256)
    await session.refresh(content)
    await dead_letters.close(session, scope, content.sha256, scope.user_id)
    await queue.ingest(
        session,
        IngestPayload(
            workspace_id=scope.workspace_id,
            content_sha256=content.sha256,
            user_id=scope.user_id,
            size_bytes=content.size_bytes,
        ),
    )


def clean_name(name: str) -> str:
    """Return a document name in one normal form: NFC, no folders, no control or reordering characters.

    Raises:
        InvalidRequestError: Nothing is left that a reader would see, or it is longer than 255 characters.
    """
    base = name.replace("\\", "/").rsplit("/", 1)[-1]
    kept = (char for char in base if unicodedata.category(char) not in {"Cc", "Cs"} and char not in _BIDI_CONTROLS)
    # Normalised last: a mark that stood behind a removed character joins the one before it.
    cleaned = " ".join(unicodedata.normalize("NFC", "".join(kept)).split())
    # Signs without a shape stay where others are: joiners belong to Persian words and to emoji.
    if not is_visible(cleaned) or cleaned in {".", ".."}:
        raise InvalidRequestError("The document needs a name.")
    if len(cleaned) > _MAX_NAME:
        raise InvalidRequestError(f"The document's name is longer than {_MAX_NAME} characters.")
    return cleaned
