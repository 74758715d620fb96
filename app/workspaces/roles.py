"""What each role may do; pure."""

from app.core.errors import ForbiddenError
from app.core.ids import UserId
from app.core.tenancy import Role, WorkspaceScope


def require_owner(scope: WorkspaceScope) -> None:
    """Refuse anybody but an owner.

    Raises:
        ForbiddenError: The scope's role is another one.
    """
    if scope.role is not Role.OWNER:
        raise ForbiddenError("Only an owner of the workspace may do this.")


def require_owner_or_self(scope: WorkspaceScope, user_id: UserId) -> None:
    """Refuse anybody but an owner and the member in question.

    Raises:
        ForbiddenError: The scope is neither.
    """
    if scope.user_id != user_id:
        require_owner(scope)
