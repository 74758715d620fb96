"""Structured logs as JSON lines, without texts, tokens or the values that exceptions carry.

An exception's message may hold SQL parameters, a document's text or a whole token. So only its type, the places that
it passed through, and the codes that Postgres gives are logged.
"""

import logging
import sys
import traceback
from types import TracebackType

import structlog
from structlog.typing import EventDict, ExcInfo, Processor, WrappedLogger

# Some of these write addresses with their queries, or at debug level whole answers.
_NOISY = dict.fromkeys(
    ("httpx", "httpx2", "httpcore", "httpcore2", "openai", "uvicorn.access", "sse_starlette", "python_multipart"),
    logging.WARNING,
)
_MAX_FRAMES = 30


def configure_logging(level: str) -> None:
    """Send the logs of this process, ours and those of libraries, to standard error.

    Args:
        level: Least severe level that is written, such as `INFO`.
    """
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _describe_exception,
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    finish: list[Processor] = [
        structlog.stdlib.ProcessorFormatter.remove_processors_meta,
        structlog.processors.JSONRenderer(),
    ]
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(foreign_pre_chain=shared, processors=finish))
    logging.root.handlers[:] = [handler]
    logging.root.setLevel(level.upper())
    for name, least in _NOISY.items():
        logging.getLogger(name).setLevel(least)


def _describe_exception(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Replace `exc_info` by what can be told without values."""
    error = _exception_of(event.pop("exc_info", None))
    if error is not None:
        event["error"] = [describe(link) for link in _chain(error)]
    return event


def describe(error: BaseException) -> dict[str, object]:
    """Return an exception's type, its code in Postgres if it has one, and the places that it passed through."""
    frames = traceback.extract_tb(error.__traceback__)[-_MAX_FRAMES:]
    described: dict[str, object] = {
        "type": f"{type(error).__module__}.{type(error).__qualname__}",
        "at": [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames],
    }
    if sqlstate := getattr(error, "sqlstate", None):
        described["sqlstate"] = sqlstate
    return described


def _exception_of(info: ExcInfo | BaseException | bool | None) -> BaseException | None:
    if isinstance(info, BaseException):
        return info
    if isinstance(info, tuple):
        return info[1]
    found: tuple[type[BaseException] | None, BaseException | None, TracebackType | None] = sys.exc_info()
    return found[1] if info else None


def _chain(error: BaseException) -> list[BaseException]:
    links: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in links:
        links.append(link)
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)
    return links
