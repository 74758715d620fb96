"""What can be wrong with a document or a request about one."""

from app.core.errors import AppError, ConflictError, InvalidRequestError


class DocumentTooLargeError(AppError):
    """The file is larger than the service accepts."""

    code, status, title = "document_too_large", 413, "File too large"


class EmptyDocumentError(InvalidRequestError):
    """The file holds no bytes."""

    code, title = "document_empty", "Empty file"


class NameTakenError(ConflictError):
    """Another document already has this name."""

    code, title = "name_taken", "Name already taken"


class NotFailedError(ConflictError):
    """Only a failed document can be tried again."""

    code, title = "not_failed", "Nothing to retry"


class NotAMemberError(InvalidRequestError):
    """A document can be shared with members of its workspace only."""

    code, title = "not_a_member", "Not a member"
