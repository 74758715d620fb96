"""The ids of one request, made by us."""

import re
import secrets
from contextvars import ContextVar
from dataclasses import dataclass
from uuid import uuid4

from starlette.datastructures import Headers
from starlette.types import Scope

_TRACEPARENT = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")
_KEY = "request_context"
_current: ContextVar["RequestContext"] = ContextVar("request_context")


@dataclass(frozen=True, slots=True)
class RequestContext:
    """Names of one request.

    Attributes:
        request_id: Random; work done for this request is unique under it, so a client never chooses it.
        trace_id: The caller's, when it sent a well-formed `traceparent` (W3C Trace Context); else random.
    """

    request_id: str
    trace_id: str


def begin(scope: Scope) -> RequestContext:
    """Make the context of a request and keep it in its scope."""
    values = Headers(scope=scope).getlist("traceparent")
    sent = _TRACEPARENT.fullmatch(values[0]) if len(values) == 1 else None
    context = RequestContext(str(uuid4()), sent.group(1) if sent else secrets.token_hex(16))
    scope.setdefault("state", {})[_KEY] = context
    _current.set(context)
    return context


def of(scope: Scope) -> RequestContext:
    """Return the context that `begin` kept."""
    context: RequestContext = scope["state"][_KEY]
    return context


def current() -> RequestContext:
    """Return the context of the request that this code runs for."""
    return _current.get()
