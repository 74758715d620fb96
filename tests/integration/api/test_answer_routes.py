import json
from collections.abc import Iterator
from hashlib import sha256
from uuid import UUID, uuid4

import httpx
import pytest

from app.bootstrap import Services
from app.core.ids import UserId, WorkspaceId
from app.core.tenancy import Role, WorkspaceScope
from tests.support.api import Caller
from tests.support.issuer import Issuer

RULES = "2.12 Verify that logs are kept.\n2.13 Verify that keys are kept in a safe.\n2.14 Verify that doors close.\n"
QUESTION = "What does requirement 2.13 say?"
QUOTE = "Verify that keys are kept in a safe."
ANSWER_FIELDS = {
    "id", "status", "reason", "question", "standalone_question", "claims", "missing", "cache", "path", "model",
    "prompt_version", "corpus_version", "usage", "trace_id",
}  # fmt: skip
CITATION_FIELDS = {
    "n", "chunk_id", "document_id", "document_name", "version_id", "page", "start", "end", "quote",
}  # fmt: skip
PASSAGE_FIELDS = {
    "chunk_id", "document_id", "document_name", "version_id", "page", "page_end", "text", "heading", "arms",
    "snippet", "snippet_start", "snippet_end",
}  # fmt: skip
EXPLANATION_FIELDS = {
    "answer_id", "question", "questions", "corpus_version", "documents_readable", "documents_ready",
    "absent_identifiers", "candidates", "not_shown",
}  # fmt: skip
CANDIDATE_FIELDS = {
    "chunk_id", "document_id", "document_name", "version_id", "page", "page_end", "heading", "part", "rank", "arms",
    "fate", "why", "duplicate_of",
}  # fmt: skip


@pytest.fixture
async def owner(caller: Caller, services: Services) -> Caller:
    """The owner of a workspace that holds one document."""
    inside = await caller.found()
    files = {"file": ("rules.txt", RULES.encode(), "text/plain")}
    uploaded = await inside.call("POST", "/v1/documents", files=files)
    assert uploaded.status_code == 202, uploaded.text
    await services.ingestion.run(await scope_of(inside), sha256(RULES.encode()).hexdigest())
    return inside


async def scope_of(caller: Caller) -> WorkspaceScope:
    me = (await caller.call("GET", "/v1/me")).json()
    assert caller.workspace_id
    return WorkspaceScope(
        WorkspaceId(UUID(caller.workspace_id)), UserId(UUID(me["user"]["id"])), Role.OWNER, "job", "job"
    )


@pytest.fixture
async def stranger(client: httpx.AsyncClient, issuer: Issuer) -> Caller:
    return await Caller(client, issuer, f"stranger-{uuid4()}").found()


async def ask(caller: Caller, question: str = QUESTION, **fields: object) -> httpx.Response:
    return await caller.call("POST", "/v1/ask", json={"question": question, **fields})


async def stream(caller: Caller, **fields: object) -> httpx.Response:
    headers = {**caller.headers(), "Accept": "text/event-stream"}
    body = {"question": QUESTION, **fields}
    return await caller.client.post("/v1/ask", headers=headers, json=body)


def events(text: str) -> Iterator[tuple[str, str, dict[str, object]]]:
    """Return the id, name and data of each event."""
    for block in text.replace("\r\n", "\n").strip().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if fields:
            yield fields["id"], fields["event"], json.loads(fields["data"])


async def test_an_answer_has_exactly_the_fields_of_the_contract_and_a_quote_at_its_place(owner: Caller) -> None:
    response = await ask(owner)
    assert response.status_code == 200, response.text
    answer = response.json()
    assert set(answer) == ANSWER_FIELDS
    assert (answer["status"], answer["reason"], answer["missing"]) == ("answered", None, [])
    assert answer["cache"] == {"layer": "none", "stored_at": None, "distance": None}
    assert answer["usage"] == {"input_tokens": 0, "output_tokens": 0, "cost_microusd": 0, "model_calls": 0}
    ((claim,), (citation,)) = answer["claims"], answer["claims"][0]["citations"]
    assert set(claim) == {"text", "conflict", "citations"}
    assert set(citation) == CITATION_FIELDS
    assert citation["quote"] == QUOTE
    page = await owner.call(
        "GET",
        f"/v1/documents/{citation['document_id']}/pages/{citation['page']}",
        params={"version_id": citation["version_id"]},
    )
    assert page.json()["text"][citation["start"] : citation["end"]] == QUOTE


async def test_an_answer_belongs_to_the_trace_of_its_request(caller: Caller) -> None:
    trace_id = "4bf92f3577b34da6a3ce929d0e0e4736"
    headers = {**caller.headers(), "traceparent": f"00-{trace_id}-00f067aa0ba902b7-01"}
    answer = await caller.client.post("/v1/ask", json={"question": QUESTION}, headers=headers)
    assert answer.json()["trace_id"] == trace_id


@pytest.mark.parametrize("path", ["/v1/ask", "/v1/search", "/v1/workspaces", "/v1/invitations/accept"])
async def test_broken_json_of_nobody_is_a_missing_token(client: httpx.AsyncClient, path: str) -> None:
    refused = await client.post(path, content=b"{", headers={"Content-Type": "application/json"})
    assert refused.status_code == 401


async def test_an_abstention_names_its_reason(caller: Caller) -> None:
    answer = (await ask(await caller.found())).json()
    assert (answer["status"], answer["reason"], answer["claims"]) == ("abstained", "no_documents", [])


async def test_a_stored_answer_is_read_by_its_asker_only(owner: Caller, stranger: Caller) -> None:
    answer = (await ask(owner)).json()
    path = f"/v1/answers/{answer['id']}"
    assert (await owner.call("GET", path)).json() == answer
    assert (await stranger.call("GET", path)).status_code == 404
    assert (await stranger.call("GET", f"/v1/answers/{uuid4()}")).status_code == 404


async def test_an_explanation_has_exactly_the_fields_of_the_contract(owner: Caller, stranger: Caller) -> None:
    answer = (await ask(owner)).json()
    path = f"/v1/answers/{answer['id']}/explain"
    explained = (await owner.call("GET", path)).json()
    assert set(explained) == EXPLANATION_FIELDS
    assert (explained["answer_id"], explained["question"], explained["questions"]) == (
        answer["id"], QUESTION, [QUESTION],
    )  # fmt: skip
    assert explained["corpus_version"] == answer["corpus_version"]
    assert (explained["documents_readable"], explained["documents_ready"], explained["not_shown"]) == (1, 1, 0)
    (candidate,) = explained["candidates"]
    assert set(candidate) == CANDIDATE_FIELDS
    citation = answer["claims"][0]["citations"][0]
    for field in ("chunk_id", "document_id", "document_name", "version_id", "page"):
        assert candidate[field] == citation[field]
    assert (candidate["fate"], candidate["rank"], candidate["part"], candidate["duplicate_of"]) == ("given", 1, 1, None)
    assert candidate["arms"] == {"identifier": 1, "keyword": 1, "vector": 1}
    assert (await stranger.call("GET", path)).status_code == 404
    assert (await owner.call("GET", f"/v1/answers/{uuid4()}/explain")).status_code == 404


async def test_the_events_of_an_answer_are_numbered_and_end_with_the_whole(owner: Caller) -> None:
    response = await stream(owner)
    assert response.headers["content-type"].startswith("text/event-stream")
    received = list(events(response.text))
    assert [number for number, _, _ in received] == [str(n + 1) for n in range(len(received))]
    assert [name for _, name, _ in received] == ["accepted", "status", "status", "status", "claim", "answer"]
    answer = received[-1][2]
    assert set(answer) == ANSWER_FIELDS
    assert answer["id"] == received[0][2]["answer_id"]
    assert answer["claims"] == [received[-2][2]]
    assert (await owner.call("GET", f"/v1/answers/{answer['id']}")).json() == answer


async def test_a_refusal_before_the_first_event_is_a_status(owner: Caller) -> None:
    response = await stream(owner, mode="agent")
    assert response.status_code == 422
    assert response.headers["content-type"] == "application/problem+json"


async def test_a_conversation_of_another_member_is_not_found(owner: Caller, client: httpx.AsyncClient) -> None:
    conversation = str(uuid4())
    assert (await ask(owner, conversation_id=conversation)).status_code == 200
    invitation = await owner.call("POST", "/v1/workspaces/current/invitations", json={"role": "member"})
    guest = Caller(client, owner.issuer, f"guest-{uuid4()}")
    await guest.call("POST", "/v1/invitations/accept", json={"token": invitation.json()["token"]})
    member = guest.inside(owner.workspace_id or "")
    assert (await ask(member, conversation_id=conversation)).status_code == 404
    assert (await stream(member, conversation_id=conversation)).status_code == 404
    assert (await ask(owner, conversation_id=conversation)).status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"question": ""},
        {"question": "   "},
        {"question": "x" * 5_000},
        {"question": "x", "mode": "oracle"},
        {"question": "x", "workspace_id": str(uuid4())},
        {"question": "x", "conversation_id": "mine"},
    ],
)
async def test_a_body_that_breaks_a_rule_is_refused(owner: Caller, body: dict[str, object]) -> None:
    assert (await owner.call("POST", "/v1/ask", json=body)).status_code == 422


async def test_a_search_gives_passages_without_an_answer(owner: Caller) -> None:
    response = await owner.call("POST", "/v1/search", json={"query": "2.13", "limit": 3})
    (passage,) = response.json()["passages"]
    assert set(passage) == PASSAGE_FIELDS
    assert passage["arms"] == {"identifier": 1, "keyword": 1, "vector": 1}
    assert QUOTE in passage["text"]
    assert passage["text"][passage["snippet_start"] : passage["snippet_end"]] == passage["snippet"]
    assert QUOTE in passage["snippet"]


async def test_the_snippet_of_a_long_passage_is_the_part_that_was_asked_for(caller: Caller, services: Services) -> None:
    inside = await caller.found()
    text = f"{'The harbour is quiet at night. ' * 20}The lantern of pier 7 is lit at dusk. {'Boats come in. ' * 20}"
    await inside.call("POST", "/v1/documents", files={"file": ("pier.txt", text.encode(), "text/plain")})
    await services.ingestion.run(await scope_of(inside), sha256(text.encode()).hexdigest())
    response = await inside.call("POST", "/v1/search", json={"query": "When is the lantern of pier 7 lit?"})
    passage = response.json()["passages"][0]
    assert "The lantern of pier 7 is lit at dusk." in passage["snippet"]
    assert len(passage["snippet"]) <= 300 < len(passage["text"])
    assert passage["text"][passage["snippet_start"] : passage["snippet_end"]] == passage["snippet"]


async def test_a_search_is_as_long_as_a_question_may_be(owner: Caller) -> None:
    full = " ".join(f"w{n}x.{n}" for n in range(1_000))[:4_000]
    assert (await owner.call("POST", "/v1/search", json={"query": full})).status_code == 200
    refused = await owner.call("POST", "/v1/search", json={"query": full + "x" * 10})
    assert refused.status_code == 422


async def test_a_search_finds_nothing_of_another_workspace(owner: Caller, stranger: Caller) -> None:
    assert (await stranger.call("POST", "/v1/search", json={"query": "2.13"})).json() == {"passages": []}


async def test_a_cited_chunk_is_read_with_its_place_and_by_members_only(owner: Caller, stranger: Caller) -> None:
    citation = (await ask(owner)).json()["claims"][0]["citations"][0]
    path = f"/v1/chunks/{citation['chunk_id']}"
    chunk = (await owner.call("GET", path)).json()
    page = await owner.call("GET", f"/v1/documents/{chunk['document_id']}/pages/{chunk['page']}")
    assert page.json()["text"][chunk["start"] : chunk["end"]] == chunk["text"]
    assert (await stranger.call("GET", path)).status_code == 404
    assert (await stranger.call("GET", f"/v1/chunks/{uuid4()}")).status_code == 404
