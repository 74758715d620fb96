"""One base for every error that a caller may see, with its code and HTTP status.

Errors are raised where the fact is known and rendered in one place, `app.api.errors`, as
`application/problem+json` (RFC 9457). `detail` says what happened and what to do; it never holds
document text, questions, tokens or secrets.
"""

from collections.abc import Mapping
from typing import ClassVar


class AppError(Exception):
    """Base of all errors with a stable code.

    Args:
        detail: One or two sentences for the caller.
        extra: Further members of the problem document, such as `limit` or `owner`.
        headers: HTTP headers that belong to the error, such as `Retry-After`.
    """

    code: ClassVar[str] = "internal"
    status: ClassVar[int] = 500
    title: ClassVar[str] = "Internal error"

    def __init__(
        self,
        detail: str,
        *,
        extra: Mapping[str, object] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.extra = dict(extra or {})
        self.headers = dict(headers or {})


class InvalidRequestError(AppError):
    """The request cannot be understood or breaks a rule of its fields."""

    code, status, title = "invalid_request", 422, "Invalid request"


class UnauthenticatedError(AppError):
    """There is no valid access token."""

    code, status, title = "unauthenticated", 401, "Not signed in"


class ForbiddenError(AppError):
    """The caller is known and may not do this."""

    code, status, title = "forbidden", 403, "Not allowed"


class NotFoundError(AppError):
    """There is no such thing that this caller may see."""

    code, status, title = "not_found", 404, "Not found"


class ConflictError(AppError):
    """The request does not fit the present state."""

    code, status, title = "conflict", 409, "Conflict"


class UnavailableError(AppError):
    """A part that the request needs is out of reach; nothing was done."""

    code, status, title = "unavailable", 503, "Temporarily unavailable"


class ConfigurationError(AppError):
    """The service is set up in a way that it refuses to run with."""

    code, status, title = "configuration", 500, "Configuration error"
