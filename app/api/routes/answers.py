"""Answers that were given before, for the person who asked."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path

from app.api.dependencies import CurrentScope, CurrentServices
from app.api.errors import problems
from app.api.routing import TokenBeforeBody
from app.api.schemas.answers import AnswerRead, ExplanationRead
from app.core.ids import AnswerId

router = APIRouter(prefix="/v1/answers", tags=["answers"], route_class=TokenBeforeBody)


_OwnAnswer = Annotated[UUID, Path(description="Id of one of the caller's answers.")]


@router.get("/{answer_id}", responses=problems(401, 403, 404, 422, 503))
async def get_answer(services: CurrentServices, scope: CurrentScope, answer_id: _OwnAnswer) -> AnswerRead:
    """Return an answer, as far as its documents may still be read."""
    return AnswerRead.model_validate(await services.answering.read(scope, AnswerId(answer_id)))


@router.get("/{answer_id}/explain", responses=problems(401, 403, 404, 422, 503))
async def explain_answer(services: CurrentServices, scope: CurrentScope, answer_id: _OwnAnswer) -> ExplanationRead:
    """Return what was searched for an answer, how it ranked, and why it was given to the answerer or not."""
    return ExplanationRead.of(await services.answering.explain(scope, AnswerId(answer_id)))
