"""Asking and searching."""

import pytest

from tests.integration.cli.conftest import Shell
from tests.integration.cli.standin import NO_ANSWER, Reply, StandIn, answer, claim, document, events, problem, reply

FIRST = claim("The timer runs for 15 seconds.", "T3410 runs for 15 seconds.")
SECOND = claim("It starts at the request.", "It is started\x1b[2J by the request.", n=2)


def test_claims_come_with_quote_document_and_page(shell: Shell, service: StandIn) -> None:
    service.on(
        "POST",
        "/v1/ask",
        events(
            ("accepted", {"answer_id": "a"}),
            ("status", {"stage": "reading", "detail": "Reading 8 passages"}),
            ("claim", FIRST),
            ("claim", SECOND),
            ("answer", answer("partial", FIRST, SECOND, missing=["who stops it"])),
        ),
    )
    ended = shell("ask", "How long does T3410 run?")
    assert ended.code == 0
    assert ended.err == "Reading 8 passages\n"
    assert ended.out.splitlines() == [
        "The timer runs for 15 seconds.",
        "  [1] “T3410 runs for 15 seconds.”",
        "      manual.txt, page 3",
        "",
        "It starts at the request.",
        "  [2] “It is started\\x1b[2J by the request.”",
        "      manual.txt, page 3",
        "",
        "The documents do not say: who stops it",
        "2 verified quotes · fresh · extractive",
    ]


def test_claims_that_came_only_with_the_answer_are_shown_once(shell: Shell, service: StandIn) -> None:
    service.on("POST", "/v1/ask", events(("claim", FIRST), ("answer", answer("answered", FIRST, SECOND))))
    ended = shell("ask", "How long?")
    assert ended.out.count(str(FIRST["text"])) == 1
    assert ended.out.count(str(SECOND["text"])) == 1


def test_abstention_says_why_and_what_would_help(shell: Shell, service: StandIn) -> None:
    service.on("POST", "/v1/ask", events(("answer", answer("abstained", reason="no_documents"))))
    ended = shell("ask", "How long?")
    assert ended.code == 0
    assert "has no documents that you may read" in ended.out
    assert "groundeddocs upload" in ended.out


@pytest.mark.parametrize(("unread", "told"), [(1, "1 document is still"), (2, "2 documents are still")])
def test_documents_that_are_still_read_are_counted(shell: Shell, service: StandIn, unread: int, told: str) -> None:
    listed = [document("ready"), document("failed"), *[document("embedding")] * unread]
    service.on("GET", "/v1/documents", reply({"items": listed, "next_cursor": None}))
    service.on("POST", "/v1/ask", events(("answer", answer("abstained", reason="still_indexing"))))
    assert f"{told} being read." in shell("ask", "How long?").out


def test_options_reach_the_service(shell: Shell, service: StandIn) -> None:
    service.on("POST", "/v1/ask", reply(answer("answered", FIRST)))
    conversation = "77777777-7777-7777-7777-777777777777"
    ended = shell("ask", "How long?", "--no-cache", "--conversation", conversation, "--json")
    assert ended.json() == answer("answered", FIRST)
    assert ended.err == ""
    (sent,) = service.calls("POST", "/v1/ask")
    assert sent.json() == {"question": "How long?", "use_cache": False, "conversation_id": conversation}


def test_broken_stream_brings_the_answer_of_the_same_request(shell: Shell, service: StandIn) -> None:
    service.on("POST", "/v1/ask", events(("claim", FIRST), drop=True), reply(answer("answered", FIRST, SECOND)))
    ended = shell("ask", "How long?")
    assert ended.code == 0
    assert ended.out.count(str(FIRST["text"])) == 1
    first, second = service.calls("POST", "/v1/ask")
    assert first.headers["Idempotency-Key"] == second.headers["Idempotency-Key"]
    assert first.body == second.body


def test_stream_without_an_answer_is_no_answer(shell: Shell, service: StandIn) -> None:
    service.on("POST", "/v1/ask", events(("claim", FIRST)))
    ended = shell("ask", "How long?")
    assert ended.code == 1
    assert "before it was complete" in ended.err


def test_error_event_is_told_with_its_trace(shell: Shell, service: StandIn) -> None:
    error = {"title": "Internal error", "detail": "It has been logged.", "status": 500, "trace_id": "trace-9"}
    service.on("POST", "/v1/ask", events(("accepted", {}), ("error", error)))
    ended = shell("ask", "How long?")
    assert ended.code == 1
    assert ended.err.splitlines() == ["Internal error: It has been logged.", "Trace id: trace-9"]


def test_our_own_running_request_is_waited_for(shell: Shell, service: StandIn) -> None:
    running = problem(409, "Conflict", "The first request with this key is still running.")
    busy = Reply(409, running.body, running.media_type, headers={"Retry_After": "0"})
    service.on("POST", "/v1/ask", NO_ANSWER, busy, reply(answer("answered", FIRST)))
    assert shell("ask", "How long?", "--json").code == 0


def test_empty_question_is_a_usage_error(shell: Shell, service: StandIn) -> None:
    ended = shell("ask", "  ")
    assert (ended.code, ended.err) == (2, "The question is empty.\n")
    assert service.requests == []


def test_conversation_that_is_no_id_is_told_without_asking(shell: Shell, service: StandIn) -> None:
    ended = shell("ask", "How long?", "--conversation", "xyz")
    assert (ended.code, ended.err) == (2, "'xyz' is not a conversation id.\n")
    assert service.requests == []


def test_search_shows_passages(shell: Shell, service: StandIn) -> None:
    passage = {
        "chunk_id": "c",
        "document_id": "d",
        "document_name": "manual.txt",
        "version_id": "v",
        "page": 3,
        "page_end": 4,
        "text": "The first one.\nT3410 runs.\nIt ends.\nThe last one.",
        "heading": "Timers",
        "arms": {"identifier": 1, "keyword": None, "vector": 2},
        "snippet": "T3410 runs.\nIt ends.",
        "snippet_start": 15,
        "snippet_end": 35,
    }
    service.on("POST", "/v1/search", reply({"passages": [passage]}))
    ended = shell("search", "T3410", "--limit", "3")
    assert ended.out.splitlines() == [
        "1. manual.txt, pages 3 to 4 · Timers",
        "   … T3410 runs.",
        "   It ends. …",
        "",
    ]
    assert service.calls("POST", "/v1/search")[0].json() == {"query": "T3410", "limit": 3}
    assert shell("search", "T3410", "--json").json() == {"passages": [passage]}
