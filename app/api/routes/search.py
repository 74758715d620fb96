"""Passages without an answer."""

from fastapi import APIRouter

from app.api.dependencies import CurrentScope, CurrentServices
from app.api.errors import problems
from app.api.routing import TokenBeforeBody
from app.api.schemas.answers import PassageList, PassageRead, SearchCreate
from app.retrieval.snippets import read_question

router = APIRouter(prefix="/v1/search", tags=["search"], route_class=TokenBeforeBody)


@router.post("", responses=problems(401, 403, 422, 503))
async def search_passages(services: CurrentServices, scope: CurrentScope, body: SearchCreate) -> PassageList:
    """Return the passages that a question is about, best first, each with the part that shows why it was found."""
    found = await services.retrieval.search(scope, body.query, body.limit)
    asked = read_question(body.query)
    return PassageList(passages=[PassageRead.of(passage, asked) for passage in found.passages])
