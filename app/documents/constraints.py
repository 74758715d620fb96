"""What a violated database constraint means to the person who asked."""

from collections.abc import Mapping

from sqlalchemy.exc import IntegrityError

from app.core.errors import AppError, ForbiddenError
from app.documents.errors import NameTakenError, NotAMemberError

_REFUSALS: Mapping[str, tuple[type[AppError], str]] = {
    "documents_workspace_name_key": (NameTakenError, "Another document already has this name."),
    "documents_restricted_name_key": (NameTakenError, "Another restricted document already has this name."),
    "document_grants_workspace_id_user_id_fkey": (
        NotAMemberError,
        "A document can only be shared with members of this workspace.",
    ),
    # The workspace was deleted while the request ran: the same answer as a moment later.
    "contents_workspace_id_fkey": (ForbiddenError, "You are not a member of this workspace, or it does not exist."),
}


def refusal(error: IntegrityError) -> AppError | None:
    """Return the error for the caller, or None when the constraint is not one that a request can break."""
    diagnosis = getattr(error.orig, "diag", None)
    known = _REFUSALS.get(getattr(diagnosis, "constraint_name", None) or "")
    return known[0](known[1]) if known else None
