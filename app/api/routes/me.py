"""The caller."""

from fastapi import APIRouter

from app.api.dependencies import CurrentServices, CurrentUser
from app.api.errors import problems
from app.api.routing import TokenBeforeBody
from app.api.schemas.identity import MeRead, UserRead
from app.api.schemas.workspaces import WorkspaceRead

router = APIRouter(prefix="/v1", tags=["identity"], route_class=TokenBeforeBody, responses=problems(401, 503))


@router.get("/me")
async def get_me(services: CurrentServices, user: CurrentUser) -> MeRead:
    """Return the caller and the workspaces that they belong to, with the role in each."""
    workspaces = await services.workspaces.list_for(user)
    return MeRead(
        user=UserRead.model_validate(user),
        workspaces=[WorkspaceRead.model_validate(workspace) for workspace in workspaces],
    )
