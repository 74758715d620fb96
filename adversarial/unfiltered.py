"""Takes the application's own filters away, so that row-level security stands alone.

Statements are rewritten just before the driver gets them, whoever wrote them: what SQLAlchemy made of Python, and
what stands in `.sql` files. A condition that compares the workspace with a parameter becomes `true`, and the function
that tells what a user may read gives all documents.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncEngine

_PARAMETER = r"%\(\w+\)s(?:::\w+)?"
_WORKSPACE = re.compile(rf"\b(?:\w+\.)?workspace_id = {_PARAMETER}|\b(?:workspaces|w)\.id = {_PARAMETER}")
_RESTRICTED = re.compile(rf"\b(?:documents|d)\.visibility = (?:{_PARAMETER}|'workspace')")
_READABLE = re.compile(rf"\breadable_documents\((?P<workspace>{_PARAMETER}), {_PARAMETER}\)")
_ALL = "(SELECT documents.* FROM documents)"
_ALL_OF_WORKSPACE = r"(SELECT documents.* FROM documents WHERE documents.workspace_id = \g<workspace>)"


@dataclass(slots=True)
class Removed:
    """How many conditions were taken away so far."""

    conditions: int = 0


@contextmanager
def without_workspace_filters(engine: AsyncEngine) -> Iterator[Removed]:
    """Let every statement run without its conditions on the workspace."""
    with _rewritten(engine, ((_READABLE, _ALL), (_WORKSPACE, "true"))) as removed:
        yield removed


@contextmanager
def without_reader_filters(engine: AsyncEngine) -> Iterator[Removed]:
    """Let every statement treat each document of the workspace as readable by all of its members."""
    with _rewritten(engine, ((_READABLE, _ALL_OF_WORKSPACE), (_RESTRICTED, "true"))) as removed:
        yield removed


@contextmanager
def _rewritten(engine: AsyncEngine, changes: Sequence[tuple[re.Pattern[str], str]]) -> Iterator[Removed]:
    removed = Removed()

    def rewrite(
        _connection: Any, _cursor: Any, statement: str, parameters: Any, _context: Any, _many: bool
    ) -> tuple[str, Any]:
        for condition, instead in changes:
            statement, count = condition.subn(instead, statement)
            removed.conditions += count
        return statement, parameters

    event.listen(engine.sync_engine, "before_cursor_execute", rewrite, retval=True)
    try:
        yield removed
    finally:
        event.remove(engine.sync_engine, "before_cursor_execute", rewrite)
