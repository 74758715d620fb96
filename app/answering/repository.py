"""Statements about answers and conversations. Private to this package."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import insert, select
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncSession

from app.answering.claims import Answer, Citation, Claim
from app.answering.explanations import Candidate, Place, Retrieval
from app.core.ids import AnswerId, ChunkId, DocumentId, VersionId
from app.core.tenancy import WorkspaceScope
from app.db.models import Answer as AnswerRow, AnswerCitation, Chunk, Content, Conversation, Document, Version
from app.db.session import in_workspace
from app.documents.access import readable
from app.documents.types import Status
from app.retrieval.context import Fate
from app.retrieval.types import ArmRanks


async def open_conversation(session: AsyncSession, scope: WorkspaceScope, conversation_id: UUID) -> bool:
    """Open a conversation at its first use; tell whether it belongs to this user."""
    values = {"workspace_id": scope.workspace_id, "id": conversation_id, "user_id": scope.user_id}
    await session.execute(upsert(Conversation).values(values).on_conflict_do_nothing())
    query = select(Conversation.user_id).where(in_workspace(Conversation, scope), Conversation.id == conversation_id)
    return await session.scalar(query) == scope.user_id


async def hold_readable(session: AsyncSession, scope: WorkspaceScope, documents: Iterable[DocumentId]) -> set[UUID]:
    """Return which documents this user may still read, and keep them from being deleted until the commit."""
    query = select(Document.id).where(readable(scope), Document.id.in_(set(documents)))
    return set((await session.scalars(query.with_for_update(read=True, key_share=True, of=Document))).all())


async def insert_answer(
    session: AsyncSession,
    scope: WorkspaceScope,
    answer: Answer,
    *,
    conversation_id: UUID | None,
    retrieval: Retrieval,
) -> None:
    """Store an answer, the citations that carry its claims, and what was searched for it."""
    await session.execute(
        insert(AnswerRow).values(
            workspace_id=scope.workspace_id,
            id=answer.id,
            user_id=scope.user_id,
            conversation_id=conversation_id,
            question=answer.question,
            standalone_question=answer.standalone_question,
            status=answer.status,
            reason=answer.reason,
            missing=list(answer.missing),
            claim_count=len(answer.claims),
            path=answer.path,
            model=answer.model,
            prompt_version=answer.prompt_version,
            corpus_version=answer.corpus_version,
            context_chunk_ids=list(retrieval.context),
            retrieval=[_candidate_json(candidate) for candidate in retrieval.candidates],
            searched_questions=list(retrieval.questions),
            absent_identifiers=list(retrieval.absent_identifiers),
            documents_readable=retrieval.documents_readable,
            documents_ready=retrieval.documents_ready,
            score=answer.score,
            input_tokens=answer.usage.input_tokens,
            output_tokens=answer.usage.output_tokens,
            cost_microusd=answer.usage.cost_microusd,
            model_calls=answer.usage.model_calls,
            trace_id=answer.trace_id,
        )
    )
    rows = [
        _citation_row(scope, answer.id, number, claim, citation)
        for number, claim in enumerate(answer.claims)
        for citation in claim.citations
    ]
    if rows:
        await session.execute(insert(AnswerCitation), rows)


async def find_answer(session: AsyncSession, scope: WorkspaceScope, answer_id: AnswerId) -> AnswerRow | None:
    """Return an answer of this user, or None."""
    query = select(AnswerRow).where(
        in_workspace(AnswerRow, scope), AnswerRow.id == answer_id, AnswerRow.user_id == scope.user_id
    )
    return (await session.execute(query)).scalar_one_or_none()


async def find_claims(session: AsyncSession, scope: WorkspaceScope, answer_id: AnswerId) -> tuple[Claim, ...]:
    """Return the claims of an answer as far as this user may read all that is left of their quotes."""
    query = (
        select(AnswerCitation, Document.name, readable(scope).label("readable"))
        .join(Document, (Document.id == AnswerCitation.document_id) & in_workspace(Document, scope))
        .where(in_workspace(AnswerCitation, scope), AnswerCitation.answer_id == answer_id)
        .order_by(AnswerCitation.n)
    )
    found: dict[int, list[tuple[AnswerCitation, str]]] = {}
    hidden: set[int] = set()
    for citation, name, may_read in await session.execute(query):
        found.setdefault(citation.claim, []).append((citation, name))
        if not may_read:
            hidden.add(citation.claim)
    return tuple(_claim(rows) for number, rows in found.items() if number not in hidden)


async def find_places(
    session: AsyncSession, scope: WorkspaceScope, candidates: Sequence[Candidate]
) -> Mapping[tuple[ChunkId, VersionId], Place]:
    """Return where passages stand in the versions that they were found in, as far as this user may read them now."""
    query = (
        select(Chunk.id, Version.id, Document.name, Chunk.page_start, Chunk.page_end, Chunk.heading)
        .join(Content, (Content.sha256 == Chunk.content_sha256) & in_workspace(Content, scope))
        .join(Version, (Version.content_sha256 == Chunk.content_sha256) & in_workspace(Version, scope))
        .join(Document, (Document.id == Version.document_id) & in_workspace(Document, scope))
        .where(
            in_workspace(Chunk, scope),
            readable(scope),
            Content.status == Status.READY,
            Chunk.id.in_({candidate.chunk_id for candidate in candidates}),
            Version.id.in_({candidate.version_id for candidate in candidates}),
        )
    )
    return {
        (ChunkId(chunk), VersionId(version)): Place(name, page_start, page_end, heading)
        for chunk, version, name, page_start, page_end, heading in await session.execute(query)
    }


def stored_retrieval(row: AnswerRow) -> Retrieval:
    """Return what was searched for a stored answer."""
    return Retrieval(
        questions=tuple(row.searched_questions),
        context=tuple(map(ChunkId, row.context_chunk_ids)),
        candidates=tuple(map(_stored_candidate, row.retrieval)),
        absent_identifiers=tuple(row.absent_identifiers),
        documents_readable=row.documents_readable,
        documents_ready=row.documents_ready,
    )


def _candidate_json(candidate: Candidate) -> dict[str, Any]:
    arms = candidate.arms
    return {
        "chunk_id": str(candidate.chunk_id),
        "document_id": str(candidate.document_id),
        "version_id": str(candidate.version_id),
        "part": candidate.part,
        "rank": candidate.rank,
        "arms": {"identifier": arms.identifier, "keyword": arms.keyword, "vector": arms.vector},
        "fate": candidate.fate,
        "duplicate_of": str(candidate.duplicate_of) if candidate.duplicate_of else None,
    }


def _stored_candidate(stored: Mapping[str, Any]) -> Candidate:
    return Candidate(
        chunk_id=ChunkId(UUID(stored["chunk_id"])),
        document_id=DocumentId(UUID(stored["document_id"])),
        version_id=VersionId(UUID(stored["version_id"])),
        part=stored["part"],
        rank=stored["rank"],
        arms=ArmRanks(**stored["arms"]),
        fate=Fate(stored["fate"]),
        duplicate_of=ChunkId(UUID(stored["duplicate_of"])) if stored["duplicate_of"] else None,
    )


def _citation_row(
    scope: WorkspaceScope, answer_id: AnswerId, number: int, claim: Claim, citation: Citation
) -> dict[str, object]:
    return {
        "workspace_id": scope.workspace_id,
        "answer_id": answer_id,
        "n": citation.n,
        "claim": number,
        "claim_text": claim.text,
        "conflict": claim.conflict,
        "chunk_id": citation.chunk_id,
        "document_id": citation.document_id,
        "version_id": citation.version_id,
        "page": citation.page,
        "start_offset": citation.start,
        "end_offset": citation.end,
        "quote": citation.quote,
    }


def _claim(rows: Sequence[tuple[AnswerCitation, str]]) -> Claim:
    first = rows[0][0]
    return Claim(first.claim_text, tuple(_citation(row, name) for row, name in rows), first.conflict)


def _citation(row: AnswerCitation, name: str) -> Citation:
    return Citation(
        n=row.n,
        chunk_id=ChunkId(row.chunk_id),
        document_id=DocumentId(row.document_id),
        document_name=name,
        version_id=VersionId(row.version_id),
        page=row.page,
        start=row.start_offset,
        end=row.end_offset,
        quote=row.quote,
    )
