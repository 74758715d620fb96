"""The one place where errors become responses."""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from app.api import context, problem
from app.core.errors import AppError


class MalformedRequestError(AppError):
    """A header that the route needs is missing or cannot be read."""

    code, status, title = "malformed_request", 400, "Malformed request"


def install(app: FastAPI) -> None:
    """Let the application answer every expected error as a problem document; `middleware` answers the others."""
    app.add_exception_handler(AppError, _render_own)
    app.add_exception_handler(HTTPException, _render_http)
    app.add_exception_handler(RequestValidationError, _render_validation)


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the `responses` of routes that may fail with these statuses."""
    content = {problem.MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {status: {"description": HTTPStatus(status).phrase, "content": content} for status in statuses}


async def _render_own(request: Request, error: Exception) -> Response:
    assert isinstance(error, AppError)  # noqa: S101  (the handler is registered for this class)
    return problem.response(problem.of_error(error, context.of(request.scope).trace_id), error.headers)


async def _render_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101
    document = problem.of_status(error.status_code, error.detail, context.of(request.scope).trace_id)
    return problem.response(document, error.headers)


async def _render_validation(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101
    document = problem.of_status(422, "Some fields are not as they should be.", context.of(request.scope).trace_id)
    return problem.response({**document, "errors": _fields(error.errors())})


def _fields(errors: Sequence[Any]) -> list[dict[str, str]]:
    """Return which field breaks which rule, without the value."""
    return [
        {
            "field": ".".join(str(part) for part in error["loc"]),
            "code": str(error["type"]),
            "message": str(error["msg"]),
        }
        for error in errors
    ]
