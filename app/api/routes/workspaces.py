"""Workspaces and their members."""

from uuid import UUID

from fastapi import APIRouter

from app.api.cursors import DEFAULT_LIMIT, Cursor, Limit, Page, cut, decode_cursor, encode_cursor
from app.api.dependencies import CurrentScope, CurrentServices, CurrentUser, OwnerScope
from app.api.errors import problems
from app.api.routing import TokenBeforeBody
from app.api.schemas.workspaces import (
    CurrentWorkspaceRead,
    DeletedWorkspaceRead,
    EmbedderRead,
    MemberRead,
    MemberUpdate,
    ReembeddingRead,
    WorkspaceCreate,
    WorkspaceRead,
    WorkspaceUpdate,
)
from app.bootstrap import Services
from app.core.ids import UserId
from app.core.tenancy import WorkspaceScope
from app.workspaces.types import Member, MemberPosition, Workspace

router = APIRouter(
    prefix="/v1/workspaces", tags=["workspaces"], route_class=TokenBeforeBody, responses=problems(401, 422, 503)
)
_IN_WORKSPACE = problems(400, 403, 404)
_OFFERED = problems(400, 403, 404, 409)
_LAST_OWNER = problems(400, 403, 404, 409)


@router.post("", status_code=201)
async def create_workspace(services: CurrentServices, user: CurrentUser, body: WorkspaceCreate) -> WorkspaceRead:
    """Create a workspace; the caller becomes its owner."""
    return WorkspaceRead.model_validate(await services.workspaces.create(user, body.name))


@router.get("/current", responses=_IN_WORKSPACE)
async def get_workspace(services: CurrentServices, scope: CurrentScope) -> CurrentWorkspaceRead:
    """Return the workspace that the header names, and what it is searched by."""
    return await _read(services, scope, await services.workspaces.current(scope))


@router.patch("/current", responses=_OFFERED)
async def update_workspace(services: CurrentServices, scope: OwnerScope, body: WorkspaceUpdate) -> CurrentWorkspaceRead:
    """Rename the workspace, or choose what embeds its documents and questions (owners)."""
    changed = await services.workspaces.update(scope, name=body.name, embedder=body.embedder)
    return await _read(services, scope, changed)


@router.delete("/current", responses=_IN_WORKSPACE)
async def delete_workspace(services: CurrentServices, scope: OwnerScope) -> DeletedWorkspaceRead:
    """Delete the workspace with all that is in it (owners), and answer with a receipt."""
    return DeletedWorkspaceRead.model_validate(await services.workspaces.delete(scope))


@router.get("/current/members", responses=_IN_WORKSPACE)
async def list_members(
    services: CurrentServices, scope: CurrentScope, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None
) -> Page[MemberRead]:
    """List the members in order of joining."""
    after = _position(cursor) if cursor else None
    found = await services.workspaces.members(scope, limit=limit + 1, after=after)
    return cut(found, limit, MemberRead.model_validate, _cursor)


@router.patch("/current/members/{user_id}", responses=_LAST_OWNER)
async def update_member(services: CurrentServices, scope: OwnerScope, user_id: UUID, body: MemberUpdate) -> MemberRead:
    """Change a member's role (owners). The last owner stays owner."""
    return MemberRead.model_validate(await services.workspaces.set_role(scope, UserId(user_id), body.role))


@router.delete("/current/members/{user_id}", status_code=204, responses=_LAST_OWNER)
async def remove_member(services: CurrentServices, scope: CurrentScope, user_id: UUID) -> None:
    """Remove a member (owners), or leave (each member for themself). The last owner stays."""
    await services.workspaces.remove_member(scope, UserId(user_id))


async def _read(services: Services, scope: WorkspaceScope, workspace: Workspace) -> CurrentWorkspaceRead:
    model = await services.reembedding.model_of(scope)
    return CurrentWorkspaceRead(
        **WorkspaceRead.model_validate(workspace).model_dump(),
        embedder=model.choice,
        embedders=[EmbedderRead(name=name, model=known) for name, known in services.embedders.offered().items()],
        embedding_model=model.serving,
        reembedding=ReembeddingRead.model_validate(model.reembedding) if model.reembedding else None,
        embedder_problem=model.problem,
    )


def _position(cursor: str) -> MemberPosition:
    joined_at, user_id = decode_cursor(cursor)
    return MemberPosition(joined_at, UserId(user_id))


def _cursor(member: Member) -> str:
    return encode_cursor(member.joined_at, member.user_id)
