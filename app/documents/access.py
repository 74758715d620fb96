"""Who may read and change a document: the one condition that every statement about documents uses."""

from sqlalchemy import ColumnElement, and_, exists, not_, or_

from app.core.errors import ForbiddenError
from app.core.tenancy import Role, WorkspaceScope
from app.db.models import Document, DocumentGrant, Membership
from app.db.session import in_workspace
from app.documents.types import Visibility


def readable(scope: WorkspaceScope) -> ColumnElement[bool]:
    """Return the condition on `Document` that holds for what this member may read.

    The membership is read in the same statement: who was removed since the request began reads nothing. A restricted
    document that nobody may read any more, since its readers have left, falls to the owners: nothing is lost.
    """
    # Correlated by name: by itself, an inner query of two levels would look through all documents again.
    grants = (
        exists().where(in_workspace(DocumentGrant, scope), DocumentGrant.document_id == Document.id).correlate(Document)
    )
    allowed = or_(
        Document.visibility == Visibility.WORKSPACE,
        grants.where(DocumentGrant.user_id == scope.user_id),
        and_(Membership.role == Role.OWNER, not_(grants)),
    )
    member = (
        exists()
        .where(in_workspace(Membership, scope), Membership.user_id == scope.user_id, allowed)
        .correlate(Document)
    )
    return and_(in_workspace(Document, scope), member)


def may_change(scope: WorkspaceScope, document: Document) -> bool:
    """Tell whether a readable document may be changed by this member, who brought it or owns the workspace."""
    return scope.role is Role.OWNER or document.created_by == scope.user_id


def require_change(scope: WorkspaceScope, document: Document) -> None:
    """Refuse a change of a readable document by someone who neither brought it nor owns the workspace.

    Raises:
        ForbiddenError: The member may read the document but not change it.
    """
    if not may_change(scope, document):
        raise ForbiddenError("Only the person who uploaded a document, or an owner, may change or delete it.")
