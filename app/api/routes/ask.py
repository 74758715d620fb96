"""Asking: one answer, whole or as events."""

from collections.abc import AsyncIterator
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from app.answering.claims import Ask
from app.answering.events import Accepted, Answered, AnswerEvent, ClaimVerified
from app.api import context
from app.api.dependencies import CurrentScope, CurrentServices
from app.api.errors import problems
from app.api.routing import TokenBeforeBody
from app.api.schemas.answers import AcceptedRead, AnswerRead, AskCreate, ClaimRead, StageRead
from app.api.sse import Event, EventStream, event_stream

router = APIRouter(prefix="/v1/ask", tags=["answers"], route_class=TokenBeforeBody)

_EVENTS = "The same as events, with `Accept: text/event-stream`: accepted, status, claim, answer or error."
_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {"description": _EVENTS, "content": {EventStream.media_type: {"schema": {"type": "string"}}}},
    **problems(401, 403, 404, 422, 503),
}


@router.post("", response_model=AnswerRead, responses=_RESPONSES)
async def ask(
    request: Request, services: CurrentServices, scope: CurrentScope, body: AskCreate
) -> AnswerRead | Response:
    """Answer a question from the documents that the caller may read, or say why not."""
    asked = Ask(
        body.question,
        body.conversation_id,
        body.mode,
        use_cache=body.use_cache,
        trace_id=context.of(request.scope).trace_id,
    )
    if EventStream.media_type not in request.headers.get("accept", ""):
        return AnswerRead.model_validate(await services.answering.answer(scope, asked))
    events = services.answering.stream(scope, asked)
    first = await anext(events)  # so that a refusal is a status and not an event
    return event_stream(_from_first(first, events))


async def _from_first(first: AnswerEvent, rest: AsyncIterator[AnswerEvent]) -> AsyncIterator[Event]:
    yield _event(first)
    async for event in rest:
        yield _event(event)


def _event(event: AnswerEvent) -> Event:
    if isinstance(event, Accepted):
        return Event("accepted", AcceptedRead.of(event))
    if isinstance(event, ClaimVerified):
        return Event("claim", ClaimRead.model_validate(event.claim))
    if isinstance(event, Answered):
        return Event("answer", AnswerRead.model_validate(event.answer))
    return Event("status", StageRead.of(event))
