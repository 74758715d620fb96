"""What the command line sends, against the API's own description."""

import json
from typing import Any

import pytest

from app.cli import openapi
from app.cli.commands.documents import _LIST_LIMIT
from app.cli.commands.workspaces import EmbedderOption

USED = [
    ("get", "/v1/config"),
    ("get", "/v1/me"),
    ("post", "/v1/workspaces"),
    ("get", "/v1/workspaces/current"),
    ("patch", "/v1/workspaces/current"),
    ("get", "/v1/workspaces/current/members"),
    ("post", "/v1/workspaces/current/invitations"),
    ("post", "/v1/invitations/accept"),
    ("post", "/v1/documents"),
    ("get", "/v1/documents"),
    ("get", "/v1/documents/{document_id}"),
    ("get", "/v1/documents/{document_id}/events"),
    ("post", "/v1/documents/{document_id}/retry"),
    ("patch", "/v1/documents/{document_id}"),
    ("delete", "/v1/documents/{document_id}"),
    ("post", "/v1/ask"),
    ("post", "/v1/search"),
]


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    described: dict[str, Any] = json.loads(openapi.document())
    return described


@pytest.mark.parametrize(("method", "path"), USED)
def test_route_that_a_command_calls_exists(document: dict[str, Any], method: str, path: str) -> None:
    assert method in document["paths"][path]


def test_length_of_a_listing_is_allowed(document: dict[str, Any]) -> None:
    parameters = document["paths"]["/v1/documents"]["get"]["parameters"]
    limit = next(each for each in parameters if each["name"] == "limit")
    assert limit["schema"]["maximum"] >= _LIST_LIMIT


@pytest.mark.parametrize(
    ("schema", "fields"),
    [
        ("AskCreate", {"question", "use_cache", "conversation_id"}),
        ("SearchCreate", {"query", "limit"}),
        ("DocumentUpdate", {"name", "visibility", "grants"}),
        ("WorkspaceCreate", {"name"}),
        ("WorkspaceUpdate", {"name", "embedder"}),
        ("InvitationCreate", {"role"}),
        ("InvitationAccept", {"token"}),
    ],
)
def test_body_that_a_command_sends_is_known(document: dict[str, Any], schema: str, fields: set[str]) -> None:
    assert fields <= document["components"]["schemas"][schema]["properties"].keys()


def test_every_embedder_can_be_chosen(document: dict[str, Any]) -> None:
    assert document["components"]["schemas"]["EmbedderChoice"]["enum"] == [option.value for option in EmbedderOption]


@pytest.mark.parametrize(
    ("schema", "fields"),
    [
        ("ConfigRead", {"issuer", "cli_client_id", "audience", "api_scope", "limits", "formats"}),
        ("WorkspaceRead", {"id", "name", "role"}),
        ("CurrentWorkspaceRead", {"id", "name", "role", "embedding_model", "reembedding"}),
        ("MemberRead", {"user_id", "display_name", "email", "role", "joined_at"}),
        ("CurrentWorkspaceRead", {"embedder", "embedders", "embedder_problem"}),
        ("EmbedderRead", {"name", "model"}),
        ("ReembeddingRead", {"model", "done", "total"}),
        ("InvitationCreated", {"token", "expires_at"}),
        ("DocumentRead", {"id", "name", "status", "done", "total", "reason", "detail", "warnings", "size_bytes"}),
        ("DocumentRead", {"grants", "visibility"}),
        ("DeletionReceiptRead", {"removed", "detail"}),
        ("DocumentRead", {"estimate_seconds", "pages_without_text", "page_count", "chunk_count"}),
        ("UploadAccepted", {"document_id", "version_id", "outcome", "status", "warnings"}),
        ("AnswerRead", {"status", "reason", "claims", "missing", "cache", "model"}),
        ("CitationRead", {"n", "quote", "document_name", "page"}),
        ("PassageRead", {"document_name", "page", "page_end", "text", "heading"}),
    ],
)
def test_answer_that_a_command_reads_has_its_fields(document: dict[str, Any], schema: str, fields: set[str]) -> None:
    assert fields <= document["components"]["schemas"][schema]["properties"].keys()
