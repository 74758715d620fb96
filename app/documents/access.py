"""Who may read and change a document: the one condition that every statement about documents uses."""

from sqlalchemy import ColumnElement, and_, exists, or_

from app.core.errors import ForbiddenError
from app.core.tenancy import Role, WorkspaceScope
from app.db.models import Document, DocumentGrant
from app.db.session import in_workspace
from app.documents.types import Visibility


def readable(scope: WorkspaceScope) -> ColumnElement[bool]:
    """Return the condition on `Document` that holds for what this member may read."""
    granted = exists().where(
        in_workspace(DocumentGrant, scope),
        DocumentGrant.document_id == Document.id,
        DocumentGrant.user_id == scope.user_id,
    )
    return and_(in_workspace(Document, scope), or_(Document.visibility == Visibility.WORKSPACE, granted))


def require_change(scope: WorkspaceScope, document: Document) -> None:
    """Refuse a change of a readable document by someone who neither brought it nor owns the workspace.

    Raises:
        ForbiddenError: The member may read the document but not change it.
    """
    if scope.role is not Role.OWNER and document.created_by != scope.user_id:
        raise ForbiddenError("Only the person who uploaded a document, or an owner, may change or delete it.")
