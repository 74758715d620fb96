"""Statements about documents, versions and contents; all inside one workspace."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    Float,
    Select,
    and_,
    cast,
    delete,
    exists,
    extract,
    func,
    insert,
    select,
    tuple_,
    update,
)
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import InstrumentedAttribute, aliased

from app.core.errors import NotFoundError
from app.core.ids import DocumentId, UserId, VersionId
from app.core.tenancy import WorkspaceScope
from app.db.models import (
    AnswerCitation,
    Chunk,
    ChunkEmbedding,
    ChunkWords,
    Content,
    Document,
    DocumentGrant,
    Page,
    PendingBlob,
    Version,
)
from app.db.models.base import UuidArray
from app.db.session import in_workspace
from app.documents.access import readable
from app.documents.types import Status, Visibility


@dataclass(frozen=True, slots=True)
class DocumentRow:
    """A document with the version that was uploaded last and its content.

    Attributes:
        stage_seconds: Age of the content's stage, by the database's clock.
        grants: Who may read it while it is restricted.
    """

    document: Document
    version: Version
    content: Content
    stage_seconds: float
    grants: Sequence[UUID]


@dataclass(frozen=True, slots=True)
class LateUpload:
    """A document whose newest version came lately."""

    name: str
    size_bytes: int
    age_seconds: float


def _with_latest(scope: WorkspaceScope) -> Select[Document, Version, Content, float, list[UUID] | None]:
    granted = (
        select(func.array_agg(DocumentGrant.user_id, type_=UuidArray))
        .where(in_workspace(DocumentGrant, scope), DocumentGrant.document_id == Document.id)
        .correlate(Document)
        .scalar_subquery()
    )
    return (
        select(Document, Version, Content, _seconds_since(Content.stage_started_at), granted)
        .join(Version, (Version.id == Document.latest_version_id) & in_workspace(Version, scope))
        .join(Content, (Content.sha256 == Version.content_sha256) & in_workspace(Content, scope))
        .where(readable(scope))
    )


def _seconds_since(moment: InstrumentedAttribute[datetime]) -> ColumnElement[float]:
    return cast(extract("epoch", func.now() - moment), Float)


async def find(session: AsyncSession, scope: WorkspaceScope, document_id: DocumentId) -> DocumentRow | None:
    """Return a readable document, or None when there is no such document for this member."""
    row = (await session.execute(_with_latest(scope).where(Document.id == document_id))).one_or_none()
    return _row(*row) if row else None


async def required(session: AsyncSession, scope: WorkspaceScope, document_id: DocumentId) -> DocumentRow:
    """Return a readable document; raise `NotFoundError` when there is no such document for this member."""
    row = await find(session, scope, document_id)
    if row is None:
        raise NotFoundError("There is no such document.")
    return row


async def page(
    session: AsyncSession,
    scope: WorkspaceScope,
    *,
    status: Status | None,
    limit: int,
    before: tuple[datetime, UUID] | None,
) -> Sequence[DocumentRow]:
    """Return readable documents, newest first, from after a position in that order."""
    query = _with_latest(scope).order_by(Document.created_at.desc(), Document.id.desc()).limit(limit)
    if status is not None:
        query = query.where(Content.status == status)
    if before is not None:
        query = query.where(tuple_(Document.created_at, Document.id) < tuple_(*before))
    return [_row(*row) for row in (await session.execute(query)).all()]


def _row(
    document: Document, version: Version, content: Content, stage_seconds: float, grants: list[UUID] | None
) -> DocumentRow:
    return DocumentRow(document, version, content, stage_seconds, sorted(grants or ()))


async def find_named(
    session: AsyncSession, scope: WorkspaceScope, name: str, visibility: Visibility
) -> Document | None:
    """Return the document that an upload of this name and visibility means, or None when it makes a new one."""
    query = select(Document).where(readable(scope), Document.name == name, Document.visibility == visibility)
    if visibility is Visibility.RESTRICTED:
        query = query.where(Document.named_by == scope.user_id)
    return (await session.execute(query)).scalar_one_or_none()


async def find_content(session: AsyncSession, scope: WorkspaceScope, sha256: str) -> Content | None:
    """Return the content with this hash, whoever brought it: for storing, never for showing."""
    query = select(Content).where(in_workspace(Content, scope), Content.sha256 == sha256)
    return (await session.execute(query)).scalar_one_or_none()


async def insert_document(session: AsyncSession, scope: WorkspaceScope, document: Document) -> None:
    """Insert a document; a restricted one is readable by the member who brought it."""
    session.add(document)
    await session.flush()  # the grant below refers to the row
    if document.visibility == Visibility.RESTRICTED:
        await add_grants(session, scope, DocumentId(document.id), [scope.user_id])


async def add_version(
    session: AsyncSession, scope: WorkspaceScope, document: Document, sha256: str, version_id: VersionId
) -> VersionId:
    """Add a version with this content, or return the one that the document already had."""
    mine = (in_workspace(Version, scope), Version.document_id == document.id)
    known = await session.scalar(select(Version.id).where(*mine, Version.content_sha256 == sha256))
    if known is not None:
        return VersionId(known)
    number = await session.scalar(select(func.coalesce(func.max(Version.number), 0) + 1).where(*mine))
    await session.execute(
        insert(Version).values(
            workspace_id=scope.workspace_id,
            id=version_id,
            document_id=document.id,
            content_sha256=sha256,
            number=number,
            created_by=scope.user_id,
        )
    )
    return version_id


async def requeue_content(session: AsyncSession, scope: WorkspaceScope, sha256: str) -> None:
    """Set a failed content back to the start."""
    await session.execute(
        update(Content)
        .where(in_workspace(Content, scope), Content.sha256 == sha256, Content.status == Status.FAILED)
        .values(status=Status.QUEUED, reason=None, detail=None, attempts=0, done=0, total=0)
    )


async def find_twin_name(
    session: AsyncSession, scope: WorkspaceScope, sha256: str, document_id: DocumentId
) -> str | None:
    """Return the name of the oldest other document that this member may read and that has this content now."""
    query = (
        select(Document.name)
        .join(Version, (Version.id == Document.latest_version_id) & in_workspace(Version, scope))
        .where(readable(scope), Version.content_sha256 == sha256, Document.id != document_id)
        .order_by(Document.created_at, Document.id)
        .limit(1)
    )
    return await session.scalar(query)


async def uploaded_lately(
    session: AsyncSession, scope: WorkspaceScope, within: timedelta, *, limit: int, besides: DocumentId
) -> Sequence[LateUpload]:
    """Return readable documents whose newest version came lately, by the database's clock, newest first."""
    query = (
        select(Document.name, Content.size_bytes, _seconds_since(Version.created_at))
        .join(Version, (Version.id == Document.latest_version_id) & in_workspace(Version, scope))
        .join(Content, (Content.sha256 == Version.content_sha256) & in_workspace(Content, scope))
        .where(readable(scope), Version.created_at >= func.now() - within, Document.id != besides)
        .order_by(Version.created_at.desc())
        .limit(limit)
    )
    return [LateUpload(*row) for row in (await session.execute(query)).all()]


async def find_version(
    session: AsyncSession, scope: WorkspaceScope, document_id: DocumentId, version_id: VersionId | None
) -> tuple[Document, Version, Content] | None:
    """Return one version of a readable document; without an id the newest."""
    wanted = Version.id == (version_id or Document.latest_version_id)
    row = (await session.execute(_with_version(scope, wanted).where(Document.id == document_id))).one_or_none()
    return (row[0], row[1], row[2]) if row else None


async def find_page(
    session: AsyncSession, scope: WorkspaceScope, document_id: DocumentId, version_id: VersionId | None, number: int
) -> tuple[Page, VersionId] | None:
    """Return one page of a version that is ready; without an id, of the one that answers are given from."""
    wanted = Version.id == (version_id or Document.current_version_id)
    query = (
        _with_version(scope, wanted)
        .with_only_columns(Page, Version.id)
        .join(Page, (Page.content_sha256 == Content.sha256) & in_workspace(Page, scope))
        .where(Document.id == document_id, Page.number == number, Content.status == Status.READY)
    )
    row = (await session.execute(query)).one_or_none()
    return (row[0], VersionId(row[1])) if row else None


def _with_version(scope: WorkspaceScope, wanted: ColumnElement[bool]) -> Select[Document, Version, Content]:
    return (
        select(Document, Version, Content)
        .join(Version, (Version.document_id == Document.id) & in_workspace(Version, scope))
        .join(Content, (Content.sha256 == Version.content_sha256) & in_workspace(Content, scope))
        .where(readable(scope), wanted)
    )


async def add_grants(
    session: AsyncSession, scope: WorkspaceScope, document_id: DocumentId, users: Sequence[UserId]
) -> None:
    """Let members read a restricted document; a foreign key refuses everyone else."""
    rows = [{"workspace_id": scope.workspace_id, "document_id": document_id, "user_id": user} for user in users]
    await session.execute(upsert(DocumentGrant).values(rows).on_conflict_do_nothing())


async def clear_grants(session: AsyncSession, scope: WorkspaceScope, document_id: DocumentId) -> None:
    """Take back all grants of a document."""
    await session.execute(
        delete(DocumentGrant).where(in_workspace(DocumentGrant, scope), DocumentGrant.document_id == document_id)
    )


async def lone_contents(session: AsyncSession, scope: WorkspaceScope, document_id: DocumentId) -> Sequence[Content]:
    """Return the contents that no other document has in any version."""
    other = aliased(Version)
    elsewhere = (
        exists()
        .where(in_workspace(other, scope), other.content_sha256 == Content.sha256, other.document_id != document_id)
        .correlate(Content)
    )
    mine = select(Version.content_sha256).where(in_workspace(Version, scope), Version.document_id == document_id)
    query = select(Content).where(in_workspace(Content, scope), Content.sha256.in_(mine), ~elsewhere)
    return (await session.execute(query)).scalars().all()


async def contents_lost_to(session: AsyncSession, scope: WorkspaceScope, document_id: DocumentId) -> Sequence[str]:
    """Return the hashes of what this reader cannot reach any more without this document.

    What a receipt counts: a document that the reader may not know of must not show in it.
    """
    elsewhere = (
        select(Version.content_sha256)
        .join(Document, (Document.id == Version.document_id) & readable(scope))
        .where(in_workspace(Version, scope), Document.id != document_id)
    )
    mine = select(Version.content_sha256).where(in_workspace(Version, scope), Version.document_id == document_id)
    return (await session.scalars(mine.where(Version.content_sha256.not_in(elsewhere)))).all()


async def count_dependents(
    session: AsyncSession, scope: WorkspaceScope, document_id: DocumentId, sha256s: Sequence[str]
) -> dict[str, int]:
    """Count the rows that a deletion takes from its reader, by table."""
    return await _count(session, scope, document_id, lambda table: table.content_sha256.in_(sha256s))


async def count_remaining(
    session: AsyncSession, scope: WorkspaceScope, document_id: DocumentId, deleted: Mapping[str, str]
) -> dict[str, int]:
    """Count what is left of a deleted document, by table, with the document itself.

    Args:
        session: A transaction after that of the deletion.
        scope: Whose workspace it was in.
        document_id: The document.
        deleted: The blob keys of the deleted contents by their hashes. The same bytes may have come again since:
            their content has another key, and its rows are not what is left.
    """

    def left(table: type[Page | Chunk | ChunkWords | ChunkEmbedding]) -> ColumnElement[bool]:
        anew = (
            exists()
            .where(in_workspace(Content, scope), Content.sha256 == table.content_sha256)
            .where(Content.blob_key.not_in(list(deleted.values())))
            .correlate(table)
        )
        return and_(table.content_sha256.in_(list(deleted)), ~anew)

    counted = await _count(session, scope, document_id, left)
    document = select(func.count()).where(in_workspace(Document, scope), Document.id == document_id)
    return {"documents": (await session.execute(document)).scalar_one(), **counted}


async def _count(
    session: AsyncSession,
    scope: WorkspaceScope,
    document_id: DocumentId,
    of_contents: Callable[[type[Page | Chunk | ChunkWords | ChunkEmbedding]], ColumnElement[bool]],
) -> dict[str, int]:
    conditions: dict[str, tuple[ColumnElement[bool], ColumnElement[bool]]] = {
        "versions": (in_workspace(Version, scope), Version.document_id == document_id),
        "citations": (in_workspace(AnswerCitation, scope), AnswerCitation.document_id == document_id),
        "pages": (in_workspace(Page, scope), of_contents(Page)),
        "chunks": (in_workspace(Chunk, scope), of_contents(Chunk)),
        "word_lists": (in_workspace(ChunkWords, scope), of_contents(ChunkWords)),
        "embeddings": (in_workspace(ChunkEmbedding, scope), of_contents(ChunkEmbedding)),
    }
    return {
        name: (await session.execute(select(func.count()).where(*both))).scalar_one()
        for name, both in conditions.items()
    }


async def delete_document(
    session: AsyncSession, scope: WorkspaceScope, document_id: DocumentId, sha256s: Sequence[str]
) -> None:
    """Delete a document with its versions, grants and citations, then the contents that were its alone."""
    await session.execute(delete(Document).where(in_workspace(Document, scope), Document.id == document_id))
    await session.execute(delete(Content).where(in_workspace(Content, scope), Content.sha256.in_(sha256s)))


async def add_pending_blobs(session: AsyncSession, scope: WorkspaceScope, keys: Sequence[str]) -> None:
    """Note keys whose bytes no content refers to yet, or any more."""
    rows = [{"workspace_id": scope.workspace_id, "blob_key": key} for key in keys]
    await session.execute(upsert(PendingBlob).values(rows).on_conflict_do_nothing())


async def attach_pending_blob(session: AsyncSession, scope: WorkspaceScope, key: str, *, within: timedelta) -> bool:
    """Forget a key that was noted at most that long ago, by the database's clock; tell whether it was so."""
    # The clock of this moment, not of the transaction's begin, which may have waited for its turn.
    young = PendingBlob.created_at > func.clock_timestamp() - within
    query = delete(PendingBlob).where(in_workspace(PendingBlob, scope), PendingBlob.blob_key == key, young)
    return await session.scalar(query.returning(PendingBlob.blob_key)) is not None


async def lock_pending_blobs(session: AsyncSession, scope: WorkspaceScope, keys: Sequence[str]) -> Sequence[str]:
    """Hold the rows of keys until the end of the transaction; return those that are there."""
    query = select(PendingBlob.blob_key).where(in_workspace(PendingBlob, scope), PendingBlob.blob_key.in_(keys))
    return (await session.scalars(query.order_by(PendingBlob.blob_key).with_for_update())).all()


async def blobs_in_use(session: AsyncSession, scope: WorkspaceScope, keys: Sequence[str]) -> Sequence[str]:
    """Return those keys that a content refers to."""
    query = select(Content.blob_key).where(in_workspace(Content, scope), Content.blob_key.in_(keys))
    return (await session.scalars(query)).all()


async def forget_pending_blobs(session: AsyncSession, scope: WorkspaceScope, keys: Sequence[str]) -> None:
    """Forget keys; those that are not noted are no error."""
    await session.execute(delete(PendingBlob).where(in_workspace(PendingBlob, scope), PendingBlob.blob_key.in_(keys)))
