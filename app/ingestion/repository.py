"""Statements of the pipeline. Each write names the fencing number of its claim and fails when that has moved on."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pgvector import HalfVector
from sqlalchemy import ColumnElement, delete, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from app.core.identifiers import extract_identifiers
from app.core.ids import ChunkId, chunk_id
from app.core.tenancy import WorkspaceScope
from app.db.models import Chunk as ChunkRow, ChunkEmbedding, Content, Document, Page, Version
from app.db.session import in_workspace
from app.documents.types import Status
from app.ingestion.chunking import Chunk
from app.ingestion.errors import ClaimLostError
from app.ingestion.parsing.types import ParsedDocument


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to process one content until someone claims it with a higher fencing number."""

    sha256: str
    fence: int
    attempts: int
    blob_key: str
    media_type: str


async def claim(session: AsyncSession, scope: WorkspaceScope, sha256: str) -> Claim | None:
    """Take a content that is not finished and clear what an earlier run left; None when there is nothing to do."""
    row = (
        await session.execute(
            update(Content)
            .where(in_workspace(Content, scope), Content.sha256 == sha256, _unfinished())
            .values(status=Status.PARSING, done=0, total=0, fence=Content.fence + 1, attempts=Content.attempts + 1)
            .returning(Content.fence, Content.attempts, Content.blob_key, Content.media_type)
        )
    ).one_or_none()
    if row is None:
        return None
    await session.execute(delete(ChunkRow).where(in_workspace(ChunkRow, scope), ChunkRow.content_sha256 == sha256))
    await session.execute(delete(Page).where(in_workspace(Page, scope), Page.content_sha256 == sha256))
    return Claim(sha256, row.fence, row.attempts, row.blob_key, row.media_type)


async def attempts_of(session: AsyncSession, scope: WorkspaceScope, sha256: str) -> int | None:
    """Return how often a content was claimed; None when it has ended or is gone."""
    return await session.scalar(
        select(Content.attempts).where(in_workspace(Content, scope), Content.sha256 == sha256, _unfinished())
    )


async def release(session: AsyncSession, scope: WorkspaceScope, held: Claim) -> None:
    """Put a content back as if it had not been claimed; raises `ClaimLostError` like `advance`."""
    await _write(session, scope, held, status=Status.QUEUED, done=0, total=0, attempts=held.attempts - 1)


async def advance(
    session: AsyncSession, scope: WorkspaceScope, held: Claim, status: Status, *, done: int, total: int
) -> None:
    """Record progress; holds the row, so that what follows in this transaction belongs to the claim.

    Raises:
        ClaimLostError: The claim is no longer held.
    """
    await _write(session, scope, held, status=status, done=done, total=total)


async def fail(session: AsyncSession, scope: WorkspaceScope, held: Claim, *, reason: str, detail: str) -> None:
    """End the claim with a typed reason; raises `ClaimLostError` like `advance`."""
    await _write(session, scope, held, status=Status.FAILED, reason=reason, detail=detail)


async def insert_pages(session: AsyncSession, scope: WorkspaceScope, sha256: str, parsed: ParsedDocument) -> None:
    """Store the canonical text, page by page."""
    start = 0
    rows = []
    for page in parsed.pages:
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
            }
        )
        start += len(page.text)
    await session.execute(insert(Page), rows)


async def insert_chunks(
    session: AsyncSession,
    scope: WorkspaceScope,
    sha256: str,
    chunks: Sequence[Chunk],
    *,
    parser_version: str,
    chunker_version: str,
) -> list[ChunkId]:
    """Store chunks, searchable by word and identifier but invisible until the swap; return their ids in order."""
    ids = [chunk_id(sha256, parser_version, chunker_version, chunk.ordinal) for chunk in chunks]
    rows = [
        {
            "workspace_id": scope.workspace_id,
            "id": key,
            "content_sha256": sha256,
            "ordinal": chunk.ordinal,
            "start_offset": chunk.start,
            "end_offset": chunk.end,
            "page_start": chunk.page_start,
            "page_end": chunk.page_end,
            "heading": chunk.heading,
            "text": chunk.text,
            "token_count": chunk.token_count,
            "identifiers": sorted(extract_identifiers(f"{chunk.heading}\n{chunk.text}")),
            "tsv": func.to_tsvector("english", f"{chunk.heading}\n{chunk.text}"),
        }
        for key, chunk in zip(ids, chunks, strict=True)
    ]
    await session.execute(insert(ChunkRow).values(rows))
    return ids


async def insert_embeddings(
    session: AsyncSession,
    scope: WorkspaceScope,
    sha256: str,
    vectors: NDArray[np.float32],
    *,
    ids: Sequence[ChunkId],
    model: str,
) -> None:
    """Store one vector for each chunk, in the same order."""
    await session.execute(
        insert(ChunkEmbedding),
        [
            {
                "workspace_id": scope.workspace_id,
                "model": model,
                "chunk_id": key,
                "content_sha256": sha256,
                "embedding": HalfVector(vector),
            }
            for key, vector in zip(ids, vectors, strict=True)
        ],
    )


async def swap_in(
    session: AsyncSession,
    scope: WorkspaceScope,
    held: Claim,
    parsed: ParsedDocument,
    *,
    chunk_count: int,
    chunker_version: str,
    model: str,
) -> None:
    """Mark a content ready and let every document whose newest version it is be answered from it."""
    await _write(
        session,
        scope,
        held,
        status=Status.READY,
        done=chunk_count,
        total=chunk_count,
        warnings=list(parsed.warnings),
        page_count=len(parsed.pages),
        chunk_count=chunk_count,
        parser_version=parsed.parser_version,
        chunker_version=chunker_version,
        embedding_model=model,
    )
    newest = select(Version.id).where(in_workspace(Version, scope), Version.content_sha256 == held.sha256)
    await session.execute(
        update(Document)
        .where(in_workspace(Document, scope), Document.latest_version_id.in_(newest))
        .values(current_version_id=Document.latest_version_id)
    )


def _unfinished() -> ColumnElement[bool]:
    return Content.status.not_in([Status.READY, Status.FAILED])


async def _write(session: AsyncSession, scope: WorkspaceScope, held: Claim, **values: object) -> None:
    result = await session.execute(
        update(Content)
        .where(in_workspace(Content, scope), Content.sha256 == held.sha256, Content.fence == held.fence)
        .values(**values)
        .returning(Content.fence)
    )
    if result.one_or_none() is None:
        raise ClaimLostError
