"""Statements about answers and conversations. Private to this package."""

from collections.abc import Iterable, Sequence
from uuid import UUID

from sqlalchemy import insert, select
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncSession

from app.answering.claims import Answer, Citation, Claim
from app.core.ids import AnswerId, ChunkId, DocumentId, VersionId
from app.core.tenancy import WorkspaceScope
from app.db.models import Answer as AnswerRow, AnswerCitation, Conversation, Document
from app.db.session import in_workspace
from app.documents.access import readable


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
    context: Sequence[UUID],
) -> None:
    """Store an answer and the citations that carry its claims."""
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
            context_chunk_ids=list(context),
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
