"""Statements of the pipeline. A run's writes belong to its claim: they fail when the fencing number has moved on."""

import json
from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    Text,
    Uuid,
    and_,
    case,
    column,
    delete,
    exists,
    func,
    insert,
    literal,
    select,
    tuple_,
    update,
)
from sqlalchemy.dialects.postgresql import ARRAY, insert as upsert
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import InstrumentedAttribute

from app.core.identifiers import extract_identifiers
from app.core.ids import ChunkId, chunk_id
from app.core.languages import searchable
from app.core.tenancy import WorkspaceScope
from app.db.models import Chunk as ChunkRow, ChunkEmbedding, Content, Document, Page, Version, Workspace
from app.db.session import in_workspace
from app.db.sql import load_sql
from app.db.vectors import vector_literal
from app.documents.access import readable
from app.documents.types import Status
from app.ingestion.chunking import CHUNKER_VERSION, Chunk
from app.ingestion.errors import ClaimLostError
from app.ingestion.parsing.types import PARSER_VERSION, ParsedDocument, ParsedPage
from app.ingestion.types import Busy, Claim, PendingChunk
from app.llm.embedders import EmbedderChoice, EmbeddingState
from app.llm.types import Vectors

_QUERIES = "app.ingestion.queries"


async def claim(session: AsyncSession, scope: WorkspaceScope, sha256: str, lease: timedelta) -> Claim | Busy | None:
    """Take a content that has not ended; None when there is nothing to do, `Busy` while another worker holds it.

    Text and chunks that this version of the program stored completely are kept, others are cleared.
    """
    lasts = (Content.lease_until - func.clock_timestamp()).label("lasts")
    stored = and_(Content.parser_version == PARSER_VERSION, Content.chunker_version == CHUNKER_VERSION).label("stored")
    row = (
        await session.execute(
            select(lasts, stored)
            .where(in_workspace(Content, scope), Content.sha256 == sha256, _unfinished())
            .with_for_update(key_share=True)
        )
    ).one_or_none()
    if row is None:
        return None
    if row.lasts is not None and row.lasts > timedelta(0):
        return Busy(row.lasts)
    if not row.stored:
        await _clear_text(session, scope, sha256)
    return await _take(session, scope, sha256, lease, text_stored=row.stored)


async def _clear_text(session: AsyncSession, scope: WorkspaceScope, sha256: str) -> None:
    await session.execute(delete(ChunkRow).where(in_workspace(ChunkRow, scope), ChunkRow.content_sha256 == sha256))
    await session.execute(delete(Page).where(in_workspace(Page, scope), Page.content_sha256 == sha256))
    await session.execute(
        update(Content)
        .where(in_workspace(Content, scope), Content.sha256 == sha256)
        .values(parser_version="", chunker_version="", done=0, total=0)
    )


async def _take(
    session: AsyncSession, scope: WorkspaceScope, sha256: str, lease: timedelta, *, text_stored: bool
) -> Claim:
    row = (
        await session.execute(
            update(Content)
            .where(in_workspace(Content, scope), Content.sha256 == sha256)
            .values(
                **_begun(Status.EMBEDDING if text_stored else Status.PARSING, Content.done),
                detail=None,
                fence=Content.fence + 1,
                attempts=Content.attempts + 1,
                lease_until=func.clock_timestamp() + lease,
            )
            .returning(Content.fence, Content.attempts, Content.blob_key, Content.media_type, Content.size_bytes)
        )
    ).one()
    return Claim(sha256, row.fence, row.attempts, row.blob_key, row.media_type, row.size_bytes, text_stored)


async def attempts_of(session: AsyncSession, scope: WorkspaceScope, sha256: str) -> int | None:
    """Return how often a content was claimed since its last progress; None when it has ended or is gone."""
    return await session.scalar(
        select(Content.attempts).where(in_workspace(Content, scope), Content.sha256 == sha256, _unfinished())
    )


async def renew(session: AsyncSession, scope: WorkspaceScope, held: Claim, lease: timedelta) -> None:
    """Prolong a claim, which is no progress: `updated_at` stays. Raises `ClaimLostError` like `advance`."""
    until = case((_unfinished(), func.clock_timestamp() + lease))
    await _write(session, scope, held, lease_until=until, updated_at=Content.updated_at)


async def hold(session: AsyncSession, scope: WorkspaceScope, held: Claim) -> str:
    """Hold the row of a claim, and return where its bytes are by now. Raises `ClaimLostError` like `advance`."""
    return await _write(session, scope, held, updated_at=Content.updated_at)


async def release(
    session: AsyncSession, scope: WorkspaceScope, held: Claim, *, counts: bool, detail: str | None = None
) -> None:
    """Put a content back, as an attempt that counts or not; raises `ClaimLostError` like `advance`.

    `detail` tells its owner what it waits for, until it is claimed again.
    """
    attempts = Content.attempts if counts else func.greatest(Content.attempts - 1, 0)
    await _write(session, scope, held, **_stage(Status.QUEUED), attempts=attempts, detail=detail, lease_until=None)


async def advance(
    session: AsyncSession, scope: WorkspaceScope, held: Claim, status: Status, *, done: int, total: int
) -> None:
    """Show how far a claim has come; holds the row, so that what follows in this transaction belongs to the claim.

    Raises:
        ClaimLostError: The claim is no longer held.
    """
    await _write(session, scope, held, **_stage(status), done=done, total=total)


async def begin_embedding(session: AsyncSession, scope: WorkspaceScope, held: Claim, *, done: int, total: int) -> None:
    """Show what earlier runs have left to do: the pace of this one is counted from here. Raises like `advance`."""
    await _write(session, scope, held, **_begun(Status.EMBEDDING, done), done=done, total=total)


async def progress(session: AsyncSession, scope: WorkspaceScope, held: Claim, *, done: int, total: int) -> None:
    """Like `advance`, for vectors that the next run keeps: whatever ends this run now, it was not in vain."""
    await _write(session, scope, held, **_stage(Status.EMBEDDING), done=done, total=total, attempts=0)


async def fail(session: AsyncSession, scope: WorkspaceScope, held: Claim, *, reason: str, detail: str) -> None:
    """End the claim with a typed reason; raises `ClaimLostError` like `advance`."""
    await _write(session, scope, held, **_stage(Status.FAILED), reason=reason, detail=detail, lease_until=None)


async def insert_pages(
    session: AsyncSession, scope: WorkspaceScope, sha256: str, pages: Sequence[ParsedPage], start: int
) -> None:
    """Store consecutive pages of the canonical text; the first one begins at the offset `start`."""
    rows = []
    for page in pages:
        rows.append(
            {
                "workspace_id": scope.workspace_id,
                "content_sha256": sha256,
                "number": page.number,
                "label": page.label,
                "start_offset": start,
                "text": page.text,
                "furniture": list(page.furniture),
                "has_text": page.has_text,
                "width": page.width,
                "height": page.height,
                "boxes": page.boxes,
            }
        )
        start += len(page.text)
    await session.execute(insert(Page), rows)


async def set_language(
    session: AsyncSession, scope: WorkspaceScope, held: Claim, *, language: str, text_search: str
) -> None:
    """Note what a content is written in, and how its words are taken; raises `ClaimLostError` like `advance`."""
    await _write(session, scope, held, language=language, text_search=text_search)


async def insert_chunks(
    session: AsyncSession, scope: WorkspaceScope, sha256: str, chunks: Sequence[Chunk], text_search: str
) -> None:
    """Store chunks, searchable by word and identifier but invisible until the swap.

    Their words are taken by the configuration `text_search`, the same one for all chunks of a content.
    """
    parameters = {
        "workspace_id": scope.workspace_id,
        "sha256": sha256,
        "text_search": text_search,
        "chunks": json.dumps([_as_json(sha256, chunk) for chunk in chunks]),
    }
    await session.execute(load_sql(_QUERIES, "insert_chunks"), parameters)


def _as_json(sha256: str, chunk: Chunk) -> dict[str, object]:
    whole = f"{chunk.heading}\n{chunk.text}"
    searched = searchable(whole)
    return {
        "id": str(chunk_id(sha256, PARSER_VERSION, CHUNKER_VERSION, chunk.ordinal)),
        "ordinal": chunk.ordinal,
        "start_offset": chunk.start,
        "end_offset": chunk.end,
        "page_start": chunk.page_start,
        "page_end": chunk.page_end,
        "heading": chunk.heading,
        "text": chunk.text,
        "token_count": chunk.token_count,
        "identifiers": sorted(extract_identifiers(whole)),
        "searched": None if searched == whole else searched,
    }


async def finish_text(
    session: AsyncSession, scope: WorkspaceScope, held: Claim, parsed: ParsedDocument, *, total: int
) -> None:
    """Note that text and chunks are complete: from here on a run that is repeated only embeds.

    Raises:
        ClaimLostError: The claim is no longer held.
    """
    await _write(
        session,
        scope,
        held,
        **_stage(Status.EMBEDDING),
        done=0,
        total=total,
        attempts=0,
        warnings=list(parsed.warnings),
        page_count=len(parsed.pages),
        pages_without_text=[page.number for page in parsed.pages if not page.has_text],
        parser_version=PARSER_VERSION,
        chunker_version=CHUNKER_VERSION,
    )


async def embedding_state(session: AsyncSession, scope: WorkspaceScope) -> EmbeddingState:
    """Return the embedder that the workspace wishes for, and the model that serves; none when it is gone."""
    query = select(Workspace.embedder, Workspace.embedding_model).where(Workspace.id == scope.workspace_id)
    row = (await session.execute(query)).one_or_none()
    return EmbeddingState(EmbedderChoice(row[0]), row[1]) if row else EmbeddingState(EmbedderChoice.DEFAULT, "")


async def count_chunks(session: AsyncSession, scope: WorkspaceScope, sha256: str, model: str) -> tuple[int, int]:
    """Return how many chunks a content has, and how many of them have no vector of a model."""
    missing = func.count().filter(_without_vector(scope, model))
    query = select(func.count(), missing).where(in_workspace(ChunkRow, scope), ChunkRow.content_sha256 == sha256)
    total, lacking = (await session.execute(query.select_from(ChunkRow))).one()
    return int(total), int(lacking)


async def missing_chunks(
    session: AsyncSession, scope: WorkspaceScope, sha256: str, model: str, *, ordinal_from: int, limit: int
) -> Sequence[PendingChunk]:
    """Return chunks of a content without a vector of a model, in order, from an ordinal on."""
    query = (
        select(ChunkRow.id, ChunkRow.ordinal, ChunkRow.page_start, ChunkRow.text)
        .where(in_workspace(ChunkRow, scope), ChunkRow.content_sha256 == sha256, ChunkRow.ordinal >= ordinal_from)
        .where(_without_vector(scope, model))
        .order_by(ChunkRow.ordinal)
        .limit(limit)
    )
    return [PendingChunk(ChunkId(row[0]), *row[1:]) for row in await session.execute(query)]


async def insert_embeddings(
    session: AsyncSession, scope: WorkspaceScope, vectors: Vectors, *, ids: Sequence[UUID], model: str
) -> None:
    """Store one vector for each chunk, in the same order; chunks that have one, or are gone, are left out."""
    given = (
        func.unnest(
            literal(list(ids), ARRAY(Uuid)), literal([vector_literal(vector) for vector in vectors], ARRAY(Text))
        )
        .table_valued(column("id", Uuid), column("vector", Text), name="given")
        .render_derived()
    )
    embedding = given.c.vector.cast(ChunkEmbedding.embedding.type)
    rows = (
        select(ChunkRow.workspace_id, literal(model, Text), ChunkRow.id, ChunkRow.content_sha256, embedding)
        .join_from(given, ChunkRow, ChunkRow.id == given.c.id)
        .where(in_workspace(ChunkRow, scope))
        .with_for_update(read=True, key_share=True, of=ChunkRow)  # a chunk that is being deleted is waited for
    )
    names = ["workspace_id", "model", "chunk_id", "content_sha256", "embedding"]
    await session.execute(upsert(ChunkEmbedding).from_select(names, rows).on_conflict_do_nothing())


async def swap_in(session: AsyncSession, scope: WorkspaceScope, held: Claim, *, chunk_count: int, model: str) -> None:
    """Mark a content ready and let every document whose newest version it is be answered from it."""
    await _write(
        session,
        scope,
        held,
        **_stage(Status.READY),
        done=chunk_count,
        total=chunk_count,
        chunk_count=chunk_count,
        embedding_model=model,
        lease_until=None,
    )
    newest = select(Version.id).where(in_workspace(Version, scope), Version.content_sha256 == held.sha256)
    await session.execute(
        update(Document)
        .where(in_workspace(Document, scope), Document.latest_version_id.in_(newest))
        .values(current_version_id=Document.latest_version_id)
    )


async def set_first_model(session: AsyncSession, scope: WorkspaceScope, model: str) -> None:
    """Let the workspace be searched by this model unless it has one."""
    await session.execute(
        update(Workspace)
        .where(Workspace.id == scope.workspace_id, Workspace.embedding_model == "")
        .values(embedding_model=model)
    )


async def count_ready_chunks(
    session: AsyncSession, scope: WorkspaceScope, model: str, *, readable_only: bool = False
) -> tuple[int, int]:
    """Return how many chunks can be searched, by this member or at all, and how many have no vector of a model."""
    query = select(func.count(), func.count().filter(_without_vector(scope, model))).where(_ready(scope))
    if readable_only:
        versions = select(Version.content_sha256).where(in_workspace(Version, scope), readable(scope))
        mine = versions.join(Document, Document.id == Version.document_id)
        query = query.where(ChunkRow.content_sha256.in_(mine))
    total, lacking = (await session.execute(query.select_from(ChunkRow))).one()
    return int(total), int(lacking)


async def missing_ready_chunks(
    session: AsyncSession, scope: WorkspaceScope, model: str, *, after_id: UUID, limit: int
) -> Sequence[PendingChunk]:
    """Return searchable chunks of the workspace without a vector of a model, in the order of their ids, after one."""
    query = (
        select(ChunkRow.id, ChunkRow.ordinal, ChunkRow.page_start, ChunkRow.text)
        .where(_ready(scope), ChunkRow.id > after_id, _without_vector(scope, model))
        .order_by(ChunkRow.id)
        .limit(limit)
    )
    return [PendingChunk(ChunkId(row[0]), *row[1:]) for row in await session.execute(query)]


async def set_model(session: AsyncSession, scope: WorkspaceScope, model: str) -> None:
    """Let the whole workspace be searched by another model from this transaction's commit on."""
    await session.execute(update(Workspace).where(Workspace.id == scope.workspace_id).values(embedding_model=model))
    await session.execute(
        update(Content)
        .where(in_workspace(Content, scope), Content.status == Status.READY)
        .values(embedding_model=model, updated_at=Content.updated_at)
    )


async def delete_vectors_except(session: AsyncSession, scope: WorkspaceScope, models: Sequence[str], limit: int) -> int:
    """Delete vectors of other models than these, at most `limit`; return how many."""
    key = (ChunkEmbedding.model, ChunkEmbedding.chunk_id)
    mine = in_workspace(ChunkEmbedding, scope)
    old = select(*key).where(mine, ChunkEmbedding.model.not_in(models)).limit(limit)
    deleted = await session.execute(delete(ChunkEmbedding).where(mine, tuple_(*key).in_(old)).returning(*key))
    return len(deleted.all())


def _without_vector(scope: WorkspaceScope, model: str) -> ColumnElement[bool]:
    vector = and_(ChunkEmbedding.model == model, ChunkEmbedding.chunk_id == ChunkRow.id)
    return ~exists().where(in_workspace(ChunkEmbedding, scope), vector).correlate(ChunkRow)


def _ready(scope: WorkspaceScope) -> ColumnElement[bool]:
    ready = select(Content.sha256).where(in_workspace(Content, scope), Content.status == Status.READY)
    return and_(in_workspace(ChunkRow, scope), ChunkRow.content_sha256.in_(ready))


def _unfinished() -> ColumnElement[bool]:
    return Content.status.not_in([Status.READY, Status.FAILED])


def _stage(status: Status) -> dict[str, Any]:
    goes_on = Content.status == status
    return {
        "status": status,
        "stage_started_at": case((goes_on, Content.stage_started_at), else_=func.now()),
        "stage_started_done": case((goes_on, Content.stage_started_done), else_=0),
    }


def _begun(status: Status, done: int | InstrumentedAttribute[int]) -> dict[str, Any]:
    return {"status": status, "stage_started_at": func.now(), "stage_started_done": done}


async def _write(session: AsyncSession, scope: WorkspaceScope, held: Claim, **values: object) -> str:
    mine = in_workspace(Content, scope), Content.sha256 == held.sha256, Content.fence == held.fence
    key: str | None = await session.scalar(update(Content).where(*mine).values(**values).returning(Content.blob_key))
    if key is None:
        raise ClaimLostError
    return key
