"""One cited chunk."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path

from app.api.dependencies import CurrentScope, CurrentServices
from app.api.errors import problems
from app.api.routing import TokenBeforeBody
from app.api.schemas.answers import ChunkRead
from app.core.ids import ChunkId

router = APIRouter(prefix="/v1/chunks", tags=["search"], route_class=TokenBeforeBody)


@router.get("/{chunk_id}", responses=problems(401, 403, 404, 422, 503))
async def get_chunk(
    services: CurrentServices,
    scope: CurrentScope,
    chunk_id: Annotated[UUID, Path(description="Id of a chunk, as in a citation.")],
) -> ChunkRead:
    """Return a chunk with its page and offsets, also of a version that was replaced since."""
    return ChunkRead.of(await services.retrieval.chunk(scope, ChunkId(chunk_id)))
