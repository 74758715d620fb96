"""Every tenant table in every SQL file of the service is limited to one workspace, under each of its aliases."""

import re
from pathlib import Path

import pytest

import app
from app.db.models.base import Base, TenantRow

FILES = sorted(Path(app.__file__).parent.rglob("*.sql"))
TENANT_TABLES = {
    mapper.class_.__tablename__ for mapper in Base.registry.mappers if issubclass(mapper.class_, TenantRow)
}
# Views that row-level security does not bind.
VIEWS = {"searched_words", "searched_names"}
_NO_ALIAS = {"on", "where", "join", "left", "right", "inner", "cross", "order", "group", "limit", "set", "using", "for"}
# A row that is inserted begins with the workspace.
_INSERTED = re.compile(r"into\s+\w+\s*\(\s*workspace_id\b[^()]*\)\s*select\s+:workspace_id\b", re.IGNORECASE)
_MENTION = re.compile(r"\b(?:from|join|update|into)\s+(?:only\s+)?(\w+)(?:\s+(?:as\s+)?(\w+))?", re.IGNORECASE)


def unlimited(sql: str) -> list[str]:
    """Return the mentions of tenant tables that have no condition on the workspace."""
    sql = re.sub(r"--[^\n]*", "", sql)
    wrong = []
    for match in _MENTION.finditer(sql):
        table, alias = match[1].lower(), (match[2] or "").lower()
        owner = table if not alias or alias in _NO_ALIAS else alias
        column = "id" if table == "workspaces" else "workspace_id"
        limited = re.search(rf"\b{owner}\.{column}\s*=\s*:workspace_id\b", sql) or _INSERTED.match(sql, match.start())
        if table in TENANT_TABLES | VIEWS | {"workspaces"} and not limited:
            wrong.append(match[0])
    return wrong


def test_there_are_files_and_tables_to_look_at() -> None:
    assert any(path.name == "hybrid.sql" for path in FILES)
    assert {"chunks", "documents", "chunk_embeddings", "chunk_words", "answers"} <= TENANT_TABLES


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_tenant_table_is_limited_to_the_workspace(path: Path) -> None:
    assert unlimited(path.read_text("utf-8")) == []


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1 FROM chunks c WHERE c.id = :id",
        "SELECT 1 FROM chunks c JOIN documents d ON d.id = c.id WHERE c.workspace_id = :workspace_id",
        "SELECT 1 FROM workspaces w",
        "SELECT 1 FROM searched_words s WHERE s.words @> ARRAY[:word]",
        "INSERT INTO chunks (workspace_id, id) SELECT d.workspace_id, d.id FROM given d",
        "INSERT INTO chunks (id, workspace_id) SELECT :workspace_id, :id",
        "SELECT 1 FROM chunks c WHERE c.id = :id -- c.workspace_id = :workspace_id",
    ],
)
def test_a_statement_without_the_condition_is_noticed(sql: str) -> None:
    assert unlimited(sql)
