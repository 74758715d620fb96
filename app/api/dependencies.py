"""From a request to who asks and where they may act. Routes take these and check nothing themselves."""

from typing import Annotated
from uuid import UUID

from fastapi import Depends, Header, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.requests import Request

from app.api import context
from app.api.errors import MalformedRequestError
from app.auth.principal import Principal
from app.bootstrap import Services
from app.core.errors import UnauthenticatedError
from app.core.ids import WorkspaceId
from app.core.tenancy import WorkspaceScope
from app.workspaces.roles import require_owner
from app.workspaces.types import User

_WORKSPACE_HEADER = "X-Workspace-Id"
_PRINCIPAL = "groundeddocs.principal"
# For the OpenAPI document; the header itself is read below, where a second one is noticed.
_bearer = HTTPBearer(auto_error=False, bearerFormat="JWT", description="Access token of the identity provider.")


def current_services(request: Request) -> Services:
    """Return the services that this application was made with."""
    services: Services = request.app.state.services
    return services


CurrentServices = Annotated[Services, Depends(current_services)]


async def current_principal(
    request: Request,
    services: CurrentServices,
    _documented: Annotated[HTTPAuthorizationCredentials | None, Security(_bearer)],
) -> Principal:
    """Return whom the bearer token speaks for, verified once in a request; 401 without exactly one valid token."""
    known: Principal | None = request.scope.get(_PRINCIPAL)  # of this request alone, unlike any state of a server
    if known is not None:
        return known
    values = request.headers.getlist("authorization")
    if not values:
        raise UnauthenticatedError("Send an access token as a bearer token.", headers={"WWW-Authenticate": "Bearer"})
    scheme, _, token = values[0].partition(" ")
    if len(values) > 1 or scheme.lower() != "bearer":
        detail = "Send exactly one Authorization header, with a bearer token."
        raise UnauthenticatedError(detail, headers={"WWW-Authenticate": "Bearer"})
    principal = await services.tokens.verify(token.strip(" "))
    request.scope[_PRINCIPAL] = principal
    return principal


CurrentPrincipal = Annotated[Principal, Depends(current_principal)]


async def current_user(services: CurrentServices, principal: CurrentPrincipal) -> User:
    """Return the user's row; the first request of a user creates it."""
    return await services.workspaces.user_for(principal)


CurrentUser = Annotated[User, Depends(current_user)]


async def current_scope(
    request: Request,
    services: CurrentServices,
    principal: CurrentPrincipal,
    user: CurrentUser,
    _documented: Annotated[
        str | None, Header(alias=_WORKSPACE_HEADER, description="Id of the workspace to act in. Required.")
    ] = None,
) -> WorkspaceScope:
    """Return the right to act in the workspace that the header names.

    400 when the header is missing or no UUID; the same 403 for a stranger's workspace and for none.
    """
    workspace_id = _workspace_id(request.headers.getlist(_WORKSPACE_HEADER))
    request_id = context.of(request.scope).request_id
    return await services.workspaces.enter(user, workspace_id, token_id=principal.token_id, request_id=request_id)


CurrentScope = Annotated[WorkspaceScope, Depends(current_scope)]


async def owner_scope(scope: CurrentScope) -> WorkspaceScope:
    """Return the scope of an owner; 403 for a member."""
    require_owner(scope)
    return scope


OwnerScope = Annotated[WorkspaceScope, Depends(owner_scope)]


def _workspace_id(values: list[str]) -> WorkspaceId:
    try:
        (value,) = values
        workspace_id = UUID(value)
    except ValueError as error:
        detail = f"Send exactly one {_WORKSPACE_HEADER} header with the id of a workspace; /v1/me lists yours."
        raise MalformedRequestError(detail) from error
    if str(workspace_id) != value.lower():
        raise MalformedRequestError(f"{_WORKSPACE_HEADER} is a UUID in its usual form.")
    return WorkspaceId(workspace_id)
