"""One-time links that let people into a workspace."""

from fastapi import APIRouter

from app.api.dependencies import CurrentServices, CurrentUser, OwnerScope
from app.api.errors import problems
from app.api.routing import TokenBeforeBody
from app.api.schemas.workspaces import InvitationAccept, InvitationCreate, InvitationCreated, WorkspaceRead

router = APIRouter(prefix="/v1", tags=["workspaces"], route_class=TokenBeforeBody, responses=problems(401, 422, 503))


@router.post("/workspaces/current/invitations", status_code=201, responses=problems(400, 403))
async def create_invitation(services: CurrentServices, scope: OwnerScope, body: InvitationCreate) -> InvitationCreated:
    """Make a one-time invitation for seven days (owners). Its token is shown in this answer only."""
    return InvitationCreated.model_validate(await services.workspaces.invite(scope, body.role))


@router.post("/invitations/accept", responses=problems(404, 409))
async def accept_invitation(services: CurrentServices, user: CurrentUser, body: InvitationAccept) -> WorkspaceRead:
    """Join the workspace of an invitation; it works once."""
    return WorkspaceRead.model_validate(await services.workspaces.accept(user, body.token))
