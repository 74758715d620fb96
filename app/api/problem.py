"""Errors as `application/problem+json` (RFC 9457)."""

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from pydantic import BaseModel, Field
from starlette.responses import Response

from app.core.errors import AppError

MEDIA_TYPE = "application/problem+json"

_CODES = {
    400: "malformed_request",
    401: "unauthenticated",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    408: "request_timeout",
    413: "too_large",
    415: "unsupported_media_type",
    422: "invalid_request",
}


class FieldProblem(BaseModel):
    """One field that breaks a rule. What was sent is not repeated."""

    field: str = Field(examples=["body.name"])
    code: str = Field(examples=["string_too_long"])
    message: str


class Problem(BaseModel):
    """What went wrong, for programs (`code`) and for people (`detail`)."""

    type: str = Field(examples=["urn:groundeddocs:problem:not_found"])
    title: str
    status: int
    code: str
    detail: str
    trace_id: str
    errors: list[FieldProblem] | None = None


def of_error(error: AppError, trace_id: str) -> dict[str, Any]:
    """Return the problem document of one of our errors; its own members never replace the standard ones."""
    return {**error.extra, **_members(error.status, error.code, error.title, error.detail, trace_id)}


def of_status(status: int, detail: str, trace_id: str) -> dict[str, Any]:
    """Return the problem document of an error that the framework found."""
    return _members(status, _CODES.get(status, "http_error"), HTTPStatus(status).phrase, detail, trace_id)


def internal(trace_id: str) -> dict[str, Any]:
    """Return the problem document of a defect: it tells nothing but where to look."""
    return _members(500, "internal", "Internal error", "Something went wrong here. It has been logged.", trace_id)


def response(problem: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Response:
    """Return the HTTP response of a problem document."""
    # Escaped to ASCII: a field's name may hold what UTF-8 cannot.
    body = json.dumps(problem, ensure_ascii=True)
    return Response(body, status_code=problem["status"], headers=dict(headers or {}), media_type=MEDIA_TYPE)


def _members(status: int, code: str, title: str, detail: str, trace_id: str) -> dict[str, Any]:
    kind = f"urn:groundeddocs:problem:{code}"
    return {"type": kind, "title": title, "status": status, "code": code, "detail": detail, "trace_id": trace_id}
