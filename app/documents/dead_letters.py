"""What the queue has given up, as an owner sees it, and asking for it again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from pydantic import ValidationError
from sqlalchemy import ColumnElement, exists, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.core.errors import ConflictError, NotFoundError
from app.core.ids import DocumentId, UserId
from app.core.tenancy import Role, WorkspaceScope
from app.db.locks import lock_documents
from app.db.models import DeadLetter, Document, Membership, Version
from app.db.session import Database, in_workspace
from app.documents import repository
from app.documents.access import readable
from app.documents.uploads import start_ingestion
from app.jobs import dead_letters
from app.jobs.dead_letters import LetterStatus
from app.jobs.payloads import (
    PAYLOADS,
    ArrangeVectorsPayload,
    IngestPayload,
    Payload,
    ReembedPayload,
    RemoveBlobsPayload,
    RemoveOldVectorsPayload,
    TaskName,
    wrong_fields,
)
from app.jobs.queue import JobQueue
from app.workspaces.roles import require_owner


class AlreadyRequeuedError(ConflictError):
    """Somebody has asked for the work of this letter before."""

    code, title = "already_requeued", "Already requeued"


class PayloadInvalidError(ConflictError):
    """The job cannot be run as it stands."""

    code, title = "payload_invalid", "Job cannot be run"


@dataclass(frozen=True, slots=True)
class DeadLetterView:
    """A job that was given up. Its payload is not shown: one that fits no task may hold anything.

    Attributes:
        document_ids: Readable documents whose file it was about.
        attempts: How often it was tried.
    """

    id: UUID
    task: str
    reason: str
    detail: str
    attempts: int
    document_ids: tuple[DocumentId, ...]
    created_at: datetime
    requeued_at: datetime | None
    requeued_by: UserId | None


class DeadLetterService:
    """Reads and answers the dead letters of one workspace at a time; owners only.

    A letter about a document that the owner may not read is absent, like the document itself.
    """

    def __init__(self, database: Database, queue: JobQueue) -> None:
        self._database = database
        self._queue = queue

    async def page_of(
        self,
        scope: WorkspaceScope,
        *,
        status: LetterStatus,
        limit: int,
        before: tuple[datetime, UUID] | None,
    ) -> Sequence[DeadLetterView]:
        """Return letters, newest first."""
        require_owner(scope)
        async with self._database.workspace(scope) as session:
            letters = await dead_letters.page(
                session, scope, _visible(scope), status=status, limit=limit, before=before
            )
            documents = await _documents_of(session, scope, letters)
        return [_view(letter, documents) for letter in letters]

    async def requeue(self, scope: WorkspaceScope, letter_id: UUID) -> DeadLetterView:
        """Ask for the work of a letter again: the job, and what it is about, in one transaction.

        Raises:
            NotFoundError: There is no such letter for this owner; so it is too when its document was deleted.
            AlreadyRequeuedError: It was asked for before.
            PayloadInvalidError: The job does not fit its task, or this version knows no such task.
        """
        require_owner(scope)
        async with self._database.workspace(scope) as session:
            await lock_documents(session, scope)
            letter = await dead_letters.find(session, scope, _visible(scope), letter_id)
            if letter is None:
                raise NotFoundError("There is no such dead letter, or what it was about was deleted.")
            if letter.requeued_at is not None:
                raise AlreadyRequeuedError("This job was put back into the queue before.")
            await self._enlist(session, scope, _payload_of(letter, scope))
            await dead_letters.mark_requeued(session, scope, letter)
            documents = await _documents_of(session, scope, [letter])
        return _view(letter, documents)

    async def _enlist(self, session: AsyncSession, scope: WorkspaceScope, payload: Payload) -> None:
        if isinstance(payload, IngestPayload):
            content = await repository.find_content(session, scope, payload.content_sha256)
            if content is None:
                raise NotFoundError("What this job was about was deleted.")
            await start_ingestion(self._queue, session, scope, content)
        elif isinstance(payload, RemoveBlobsPayload):
            await self._queue.remove_blobs(session, payload)
        elif isinstance(payload, ReembedPayload):
            await self._queue.reembed(session, payload)
        elif isinstance(payload, RemoveOldVectorsPayload):
            await self._queue.remove_old_vectors(session, payload)
        elif isinstance(payload, ArrangeVectorsPayload):
            await self._queue.arrange_vectors(session, payload)


def _visible(scope: WorkspaceScope) -> ColumnElement[bool]:
    """Return the condition on `DeadLetter` that holds for what this owner may see; the role is read with it."""
    owner = exists().where(
        in_workspace(Membership, scope), Membership.user_id == scope.user_id, Membership.role == Role.OWNER
    )
    about = (
        select(Document.id)
        .join(Version, (Version.document_id == Document.id) & in_workspace(Version, scope))
        .where(readable(scope), Version.content_sha256 == DeadLetter.content_sha256)
        .correlate(DeadLetter)
        .exists()
    )
    return owner & or_(DeadLetter.content_sha256.is_(None), about)


async def _documents_of(
    session: AsyncSession, scope: WorkspaceScope, letters: Sequence[DeadLetter]
) -> Mapping[str, tuple[DocumentId, ...]]:
    """Return the readable documents that have the content of a letter in one of their versions."""
    wanted = {letter.content_sha256 for letter in letters if letter.content_sha256 is not None}
    query = (
        select(Version.content_sha256, Document.id)
        .join(Document, (Document.id == Version.document_id) & readable(scope))
        .where(in_workspace(Version, scope), Version.content_sha256.in_(wanted))
        .order_by(Document.created_at, Document.id)
    )
    found: dict[str, tuple[DocumentId, ...]] = {}
    for sha256, document_id in (await session.execute(query)).all():
        found[sha256] = (*found.get(sha256, ()), DocumentId(document_id))
    return found


def _payload_of(letter: DeadLetter, scope: WorkspaceScope) -> Payload:
    try:
        model = PAYLOADS[TaskName(letter.task)]
    except ValueError:
        raise PayloadInvalidError(
            "This version of the service knows no such task. Try again after an update."
        ) from None
    try:
        payload = model.model_validate(letter.payload)
    except ValidationError as error:
        fields = ", ".join(wrong_fields(error))
        raise PayloadInvalidError(f"The job still does not fit its task: {fields}.") from None
    if payload.workspace_id != scope.workspace_id:
        raise PayloadInvalidError("The job names another workspace than the one that it was kept for.")
    return payload


def _view(letter: DeadLetter, documents: Mapping[str, tuple[DocumentId, ...]]) -> DeadLetterView:
    return DeadLetterView(
        id=letter.id,
        task=letter.task,
        reason=letter.reason,
        detail=letter.detail,
        attempts=letter.attempts,
        document_ids=documents.get(letter.content_sha256 or "", ()),
        created_at=letter.created_at,
        requeued_at=letter.requeued_at,
        requeued_by=None if letter.requeued_by is None else UserId(letter.requeued_by),
    )
