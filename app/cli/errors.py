"""Why a command ends without its result, with the exit code that scripts see."""

from collections.abc import Mapping
from typing import ClassVar

from app.core.errors import AppError


class CliError(AppError):
    """A command cannot go on; `detail` says what happened and what to do."""

    code, title = "cli", "Error"
    exit_code: ClassVar[int] = 1


class UsageError(CliError):
    """What was typed cannot be carried out as it stands."""

    code, title = "usage", "Usage"
    exit_code = 2


class NotSignedInError(CliError):
    """There is no token that the service accepts."""

    code, title = "not_signed_in", "Not signed in"
    exit_code = 3


class UnreachableError(CliError):
    """Nothing answers at an address."""

    code, title = "unreachable", "Out of reach"
    exit_code = 4


class BrokenConnectionError(UnreachableError):
    """The connection broke after a request went out; whether it was carried out is not known."""


class ForeignServiceError(CliError):
    """Something answers at the address, and it is not this service."""

    code, title = "not_groundeddocs", "Not GroundedDocs"

    def __init__(self, url: str) -> None:
        super().__init__(
            f"What answers at {url} is not GroundedDocs. Set GROUNDEDDOCS_URL or --url, or start it with `make up`."
        )


class ProblemError(CliError):
    """The service refused, as a problem document (RFC 9457).

    Attributes:
        problem_code: The service's stable code, such as `not_found`.
        http_status: Status of the answer; 0 when it came as an event of a stream.
        trace_id: Finds the request in the service's traces; None when the answer has none.
    """

    code, title = "problem", "Refused"

    def __init__(self, problem: Mapping[str, object], http_status: int) -> None:
        title, detail = str(problem.get("title") or f"HTTP {http_status}"), str(problem.get("detail") or "")
        super().__init__("\n".join([f"{title}: {detail}" if detail else title, *_fields(problem.get("errors"))]))
        self.problem_code = str(problem.get("code") or "")
        self.http_status = http_status
        trace = problem.get("trace_id")
        self.trace_id = str(trace) if trace else None


def _fields(errors: object) -> list[str]:
    """Return a line for each field that the service found wrong."""
    found = [each for each in errors if isinstance(each, dict)] if isinstance(errors, list) else []
    return [f"  {each.get('field')}: {each.get('message')}" for each in found]
