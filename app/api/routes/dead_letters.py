"""Dead letters: jobs that were given up, and asking for them again (owners)."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path, Query

from app.api.cursors import DEFAULT_LIMIT, Cursor, Limit, Page, cut, decode_cursor, encode_cursor
from app.api.dependencies import CurrentServices, OwnerScope
from app.api.errors import problems
from app.api.routing import TokenBeforeBody
from app.api.schemas.dead_letters import DeadLetterRead
from app.jobs.dead_letters import LetterStatus

router = APIRouter(prefix="/v1/dead-letters", tags=["dead letters"], route_class=TokenBeforeBody)


@router.get("", responses=problems(400, 401, 403, 422, 503))
async def list_dead_letters(
    services: CurrentServices,
    scope: OwnerScope,
    status: Annotated[
        LetterStatus, Query(description="Those that wait for somebody, those asked for again, or all.")
    ] = LetterStatus.OPEN,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
) -> Page[DeadLetterRead]:
    """List the jobs that were given up, newest first (owners)."""
    before = decode_cursor(cursor) if cursor else None
    found = await services.dead_letters.page_of(scope, status=status, limit=limit + 1, before=before)
    return cut(found, limit, DeadLetterRead.model_validate, lambda view: encode_cursor(view.created_at, view.id))


@router.post("/{letter_id}/requeue", status_code=202, responses=problems(400, 401, 403, 404, 409, 422, 503))
async def requeue_dead_letter(
    services: CurrentServices, scope: OwnerScope, letter_id: Annotated[UUID, Path(description="Id of the letter.")]
) -> DeadLetterRead:
    """Put a job that was given up back into the queue (owners)."""
    return DeadLetterRead.model_validate(await services.dead_letters.requeue(scope, letter_id))
