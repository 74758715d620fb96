"""What happens to a question, from top to bottom."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field, replace

import structlog

from app.answering import abstention, repository
from app.answering.claims import Answer, Ask, Claim, Draft, Mode, Reason, Status, Usage
from app.answering.events import Accepted, Answered, AnswerEvent, ClaimVerified, Stage, StageReached
from app.answering.explanations import Explanation, PartContext, Retrieval, given, shown, summarise
from app.answering.extractive import join_parts
from app.answering.questions import split_parts
from app.answering.reader import ExtractiveReader
from app.answering.thresholds import Thresholds, load_thresholds
from app.answering.verification import is_carried, verify
from app.core.errors import InvalidRequestError, NotFoundError
from app.core.ids import AnswerId, new_id
from app.core.tenancy import WorkspaceScope
from app.db.models import Answer as AnswerRow
from app.db.session import Database
from app.llm.types import Embedder
from app.retrieval.context import ContextSettings, choose, widen
from app.retrieval.service import RetrievalService, clean_query
from app.retrieval.types import CorpusState, Passage

log = structlog.get_logger(__name__)

EXTRACTIVE_MODEL = "extractive-1"
_WITHDRAWN = "Part of this answer is not shown any more: its document was deleted or may no longer be read."


@dataclass(frozen=True, slots=True)
class _Evidence:
    """What was found for one question, and what of it stands."""

    state: CorpusState
    passages: tuple[Passage, ...]
    retrieval: Retrieval
    draft: Draft = field(default_factory=lambda: Draft(()))
    claims: tuple[Claim, ...] = ()
    reason: Reason | None = None


class AnsweringService:
    """Answers questions with verified quotes, and stores each answer for its asker."""

    def __init__(
        self,
        database: Database,
        retrieval: RetrievalService,
        embedder: Embedder,
        *,
        max_question_characters: int,
        thresholds: Thresholds | None = None,
        context: ContextSettings | None = None,
    ) -> None:
        self._database = database
        self._retrieval = retrieval
        self._max_question_characters = max_question_characters
        self._thresholds = thresholds or load_thresholds()
        self._context = context or ContextSettings()
        self._reader = ExtractiveReader(embedder, self._thresholds)

    async def answer(self, scope: WorkspaceScope, ask: Ask) -> Answer:
        """Answer a question; see `stream` for the errors."""
        async for event in self.stream(scope, ask):
            if isinstance(event, Answered):
                return event.answer
        raise RuntimeError("the events of a question end with its answer")

    async def stream(self, scope: WorkspaceScope, ask: Ask) -> AsyncGenerator[AnswerEvent]:
        """Search, read, verify, record: in that order, once each; yield what happens.

        No transaction is open while a model runs or an event is on its way.

        Raises:
            InvalidRequestError: The question or its mode cannot be used.
            NotFoundError: The conversation is another user's.
        """
        question = self._readable_question(ask)
        await self._enter_conversation(scope, ask)
        answer_id = AnswerId(new_id())
        yield Accepted(answer_id)
        yield StageReached(Stage.SEARCHING, "Searching your documents.")
        state = await self._retrieval.corpus_state(scope)
        parts = [await self._look_up(scope, part) for part in split_parts(question)]
        passages, retrieval = given(parts), summarise(parts, state)
        if reason := abstention.before_answering(state, passages):
            evidence = _Evidence(state, passages, retrieval, reason=reason)
        else:
            yield StageReached(Stage.READING, f"Reading {len(passages)} passages.")
            draft = join_parts([await self._reader.draft(part.question, part.context.passages) for part in parts])
            yield StageReached(Stage.VERIFYING, "Checking every quote against its document.")
            claims = tuple(verify(draft, passages, question))
            reason = abstention.after_answering(state, draft, claims, passages, self._thresholds.near)
            evidence = _Evidence(state, passages, retrieval, draft, claims, reason)
        trace_id = ask.trace_id or scope.request_id
        answer = self._compose(answer_id, question, evidence, trace_id)
        answer = await self._record(scope, ask, answer, evidence)
        for claim in answer.claims:
            yield ClaimVerified(claim)
        yield Answered(answer)

    async def read(self, scope: WorkspaceScope, answer_id: AnswerId) -> Answer:
        """Return one of this user's answers, without the claims whose documents they may not read any more.

        Raises:
            NotFoundError: No such answer of this user.
        """
        async with self._database.workspace(scope) as session:
            row = await repository.find_answer(session, scope, answer_id)
            if row is None:
                raise NotFoundError("There is no such answer.")
            claims = await repository.find_claims(session, scope, answer_id)
        carried = (
            claim
            for claim in claims
            if is_carried(claim.text, [citation.quote for citation in claim.citations], row.standalone_question)
        )
        return _without_lost_claims(_stored(row), tuple(carried), row.claim_count)

    async def explain(self, scope: WorkspaceScope, answer_id: AnswerId) -> Explanation:
        """Return what was searched for one of this user's answers, without what they may not read any more.

        Raises:
            NotFoundError: No such answer of this user.
        """
        async with self._database.workspace(scope) as session:
            row = await repository.find_answer(session, scope, answer_id)
            if row is None:
                raise NotFoundError("There is no such answer.")
            retrieval = repository.stored_retrieval(row)
            places = await repository.find_places(session, scope, retrieval.candidates)
        candidates = shown(retrieval.candidates, places)
        return Explanation(
            answer_id=answer_id,
            question=row.question,
            corpus_version=row.corpus_version,
            retrieval=retrieval,
            candidates=candidates,
            not_shown=len(retrieval.candidates) - len(candidates),
        )

    async def _look_up(self, scope: WorkspaceScope, part: str) -> PartContext:
        """Search for one part of a question, and choose what the answerer gets."""
        found = await self._retrieval.search(scope, part, self._context.candidates)
        context = choose(part, found.passages, self._context)
        if self._context.neighbours:
            centres = context.passages[: self._context.centres]
            context = widen(context, await self._retrieval.neighbours(scope, centres), self._context)
        return PartContext(part, context, found.absent_identifiers)

    def _readable_question(self, ask: Ask) -> str:
        question = clean_query(ask.question)
        if not question:
            raise InvalidRequestError("The question is empty.")
        if len(question) > self._max_question_characters:
            raise InvalidRequestError(f"The question is longer than {self._max_question_characters} characters.")
        if ask.mode is Mode.AGENT:
            raise InvalidRequestError("The agent mode is not available here. Use auto or retrieval.")
        return question

    async def _enter_conversation(self, scope: WorkspaceScope, ask: Ask) -> None:
        if ask.conversation_id is None:
            return
        async with self._database.workspace(scope) as session:
            if not await repository.open_conversation(session, scope, ask.conversation_id):
                raise NotFoundError("There is no such conversation.")

    def _compose(self, answer_id: AnswerId, question: str, evidence: _Evidence, trace_id: str) -> Answer:
        reason = evidence.reason
        missing = () if reason else evidence.draft.missing
        return Answer(
            id=answer_id,
            status=abstention.status_of(reason, missing),
            reason=reason,
            question=question,
            standalone_question=question,
            claims=evidence.claims,
            missing=missing,
            path="retrieval",
            model=EXTRACTIVE_MODEL,
            prompt_version=self._thresholds.version,
            corpus_version=evidence.state.corpus_version,
            trace_id=trace_id,
            score=evidence.draft.score,
        )

    async def _record(self, scope: WorkspaceScope, ask: Ask, answer: Answer, evidence: _Evidence) -> Answer:
        """Store the answer in one transaction, without what was deleted or closed to this user meanwhile."""
        cited = {citation.document_id for claim in answer.claims for citation in claim.citations}
        async with self._database.workspace(scope) as session:
            kept = await repository.hold_readable(session, scope, cited)
            claims = tuple(
                claim for claim in answer.claims if all(citation.document_id in kept for citation in claim.citations)
            )
            answer = _without_lost_claims(answer, claims, len(answer.claims))
            await repository.insert_answer(
                session,
                scope,
                answer,
                conversation_id=ask.conversation_id,
                retrieval=evidence.retrieval,
            )
        log.info("answer.recorded", status=answer.status, reason=answer.reason, passages=len(evidence.passages))
        return answer


def _without_lost_claims(answer: Answer, claims: tuple[Claim, ...], expected: int) -> Answer:
    """Return the answer with the claims that are left; with none left it is an abstention."""
    if len(claims) == expected:
        return replace(answer, claims=claims)
    if not claims:
        return replace(answer, claims=(), missing=(), status=Status.ABSTAINED, reason=Reason.NO_EVIDENCE)
    return replace(answer, claims=claims, missing=(*answer.missing, _WITHDRAWN), status=Status.PARTIAL)


def _stored(row: AnswerRow) -> Answer:
    return Answer(
        id=AnswerId(row.id),
        status=Status(row.status),
        reason=Reason(row.reason) if row.reason else None,
        question=row.question,
        standalone_question=row.standalone_question,
        claims=(),
        missing=tuple(row.missing),
        path=row.path,
        model=row.model,
        prompt_version=row.prompt_version,
        corpus_version=row.corpus_version,
        trace_id=row.trace_id,
        usage=Usage(row.input_tokens, row.output_tokens, row.cost_microusd, row.model_calls),
        score=row.score,
    )
