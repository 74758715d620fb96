"""Questions asked, what was answered, and the quotes that prove it."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, func
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from app.db.models.base import TenantRow


class Conversation(TenantRow):
    """A thread of questions of one user; its id is chosen by the client."""

    __tablename__ = "conversations"

    id: Mapped[UUID] = mapped_column(primary_key=True)
    user_id: Mapped[UUID]
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())


class Answer(TenantRow):
    """One answer or abstention; its claims are in the rows of its citations."""

    __tablename__ = "answers"

    id: Mapped[UUID] = mapped_column(primary_key=True)
    user_id: Mapped[UUID]
    conversation_id: Mapped[UUID | None]
    question: Mapped[str]
    standalone_question: Mapped[str]
    status: Mapped[str]
    reason: Mapped[str | None]
    missing: Mapped[list[str]] = mapped_column(default=list)
    claim_count: Mapped[int]
    path: Mapped[str]
    model: Mapped[str]
    prompt_version: Mapped[str]
    corpus_version: Mapped[str]
    context_chunk_ids: Mapped[list[UUID]] = mapped_column(default=list)
    retrieval: Mapped[list[dict[str, Any]]] = mapped_column(JSONB, default=list)
    searched_questions: Mapped[list[str]] = mapped_column(default=list)
    absent_identifiers: Mapped[list[str]] = mapped_column(default=list)
    documents_readable: Mapped[int | None]
    documents_ready: Mapped[int | None]
    score: Mapped[float]
    input_tokens: Mapped[int] = mapped_column(default=0)
    output_tokens: Mapped[int] = mapped_column(default=0)
    cost_microusd: Mapped[int] = mapped_column(BigInteger, default=0)
    model_calls: Mapped[int] = mapped_column(default=0)
    trace_id: Mapped[str]
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())


class AnswerCitation(TenantRow):
    """One quote of one claim; `quote` stands at its offsets in the page of the cited version."""

    __tablename__ = "answer_citations"

    answer_id: Mapped[UUID] = mapped_column(primary_key=True)
    n: Mapped[int] = mapped_column(primary_key=True)
    claim: Mapped[int]
    claim_text: Mapped[str]
    conflict: Mapped[int | None]
    chunk_id: Mapped[UUID]
    document_id: Mapped[UUID]
    version_id: Mapped[UUID]
    page: Mapped[int]
    start_offset: Mapped[int]
    end_offset: Mapped[int]
    quote: Mapped[str]
