"""Uploading and following files."""

import json
from pathlib import Path

import pytest

from tests.integration.cli.conftest import Shell
from tests.integration.cli.standin import (
    DOCUMENT_ID,
    NO_ANSWER,
    WORKSPACE_ID,
    Reply,
    StandIn,
    document,
    events,
    problem,
    reply,
)

EVENTS = f"/v1/documents/{DOCUMENT_ID}/events"
ACCEPTED = {"document_id": DOCUMENT_ID, "version_id": "v", "outcome": "created", "status": "queued", "warnings": []}


@pytest.fixture
def manual(tmp_path: Path) -> Path:
    path = tmp_path / "manual.txt"
    path.write_text("T3410 runs for 15 seconds.")
    return path


def test_upload_follows_the_events_to_the_end(shell: Shell, service: StandIn, manual: Path) -> None:
    service.on("POST", "/v1/documents", reply(ACCEPTED, 202))
    stages = [document("parsing"), document("embedding", done=1, total=2), document("ready")]
    service.on("GET", EVENTS, events(*(("status", each) for each in stages)))
    ended = shell("upload", str(manual))
    assert ended.code == 0
    assert ended.out == "manual.txt: new document, 1 page, 2 passages\n"
    assert ended.err.splitlines() == [
        "manual.txt: sending",
        "manual.txt: reading",
        "manual.txt: making it searchable 1/2",
        "manual.txt: ready",
    ]
    (sent,) = service.calls("POST", "/v1/documents")
    assert sent.headers["X-Workspace-Id"] == WORKSPACE_ID
    assert sent.headers["Authorization"] == "Bearer environment-token"
    assert len(sent.headers["Idempotency-Key"]) >= 16
    assert b"T3410 runs for 15 seconds." in sent.body


def test_lost_answer_is_asked_for_again_with_the_same_key_and_body(
    shell: Shell, service: StandIn, manual: Path
) -> None:
    service.on("POST", "/v1/documents", NO_ANSWER, NO_ANSWER, reply(ACCEPTED, 202))
    assert shell("upload", str(manual), "--no-wait").code == 0
    sent = service.calls("POST", "/v1/documents")
    assert len(sent) == 3
    assert len({request.headers["Idempotency-Key"] for request in sent}) == 1
    assert all(b"T3410 runs for 15 seconds." in request.body for request in sent)


def test_upload_is_tried_three_times_at_most(shell: Shell, service: StandIn, manual: Path) -> None:
    service.on("POST", "/v1/documents", NO_ANSWER)
    assert shell("upload", str(manual)).code == 4
    assert len(service.calls("POST", "/v1/documents")) == 3


def test_two_files_have_two_keys(shell: Shell, service: StandIn, manual: Path) -> None:
    other = manual.with_name("other.txt")
    other.write_text("something else")
    service.on("POST", "/v1/documents", reply(ACCEPTED, 202))
    assert shell("upload", str(manual), str(other), "--no-wait").code == 0
    assert len({request.headers["Idempotency-Key"] for request in service.calls("POST", "/v1/documents")}) == 2


@pytest.mark.parametrize(
    "broken",
    [
        events(("status", document("parsing")), drop=True),
        events(("status", document("parsing"))),
        events(("error", {"title": "Temporarily unavailable", "status": 503})),
        Reply(200, b"<html>a proxy</html>", "text/html"),
    ],
)
def test_broken_stream_falls_back_to_asking(shell: Shell, service: StandIn, manual: Path, broken: Reply) -> None:
    service.on("POST", "/v1/documents", reply(ACCEPTED, 202))
    service.on("GET", EVENTS, broken)
    service.on("GET", f"/v1/documents/{DOCUMENT_ID}", reply(document("embedding")), reply(document("ready")))
    ended = shell("upload", str(manual))
    assert ended.code == 0
    assert ended.out == "manual.txt: new document, 1 page, 2 passages\n"
    assert len(service.calls("GET", f"/v1/documents/{DOCUMENT_ID}")) == 2


def test_failed_document_ends_with_its_reason_and_code_1(shell: Shell, service: StandIn, manual: Path) -> None:
    service.on("POST", "/v1/documents", reply(ACCEPTED, 202))
    failed = document("failed", reason="encrypted", detail="It is locked\x1b[2J with a password.")
    service.on("GET", EVENTS, events(("status", failed)))
    ended = shell("upload", str(manual))
    assert ended.code == 1
    assert ended.out == "manual.txt: failed: It is locked\\x1b[2J with a password.\n"


def test_refused_file_does_not_keep_the_others_from_being_taken(shell: Shell, service: StandIn, manual: Path) -> None:
    picture = manual.with_name("picture.png")
    picture.write_bytes(b"\x89PNG")
    refusal = problem(415, "Unsupported type", "PNG is not a document.")
    service.on(
        "POST",
        "/v1/documents",
        *[lambda request: refusal if b"PNG" in request.body else reply(ACCEPTED, 202)],
    )
    ended = shell("upload", str(picture), str(manual), "--no-wait")
    assert ended.code == 1
    assert sorted(ended.out.splitlines()) == [
        "2 files: 1 failed, 1 new." if "2 files: 1 failed, 1 new." in ended.out else "2 files: 1 new, 1 failed.",
        "manual.txt: new document, not yet ready",
        "picture.png: failed: Unsupported type: PNG is not a document.",
    ]


def test_json_is_one_line_for_each_file(shell: Shell, service: StandIn, manual: Path) -> None:
    service.on("POST", "/v1/documents", reply(ACCEPTED, 202))
    service.on("GET", EVENTS, events(("status", document("ready"))))
    ended = shell("upload", str(manual), "--json")
    (line,) = ended.out.splitlines()
    assert json.loads(line) == {
        "path": str(manual),
        "name": "manual.txt",
        "document_id": DOCUMENT_ID,
        "version_id": "v",
        "outcome": "created",
        "status": "ready",
        "warnings": [],
        "reason": None,
        "error": None,
    }


def test_file_that_is_too_large_is_not_sent(shell: Shell, service: StandIn, manual: Path) -> None:
    manual.write_bytes(b"x" * 5_001)
    ended = shell("upload", str(manual))
    assert ended.code == 1
    assert "takes up to 5.0 kB" in ended.out
    assert service.calls("POST", "/v1/documents") == []


def test_missing_file_is_a_usage_error_before_anything_is_sent(shell: Shell, service: StandIn) -> None:
    ended = shell("upload", "no-such-file.pdf")
    assert ended.code == 2
    assert "no-such-file.pdf" in ended.err
    assert service.calls("POST", "/v1/documents") == []


def test_broken_stream_is_told_in_words(shell: Shell, service: StandIn, manual: Path) -> None:
    service.on("POST", "/v1/documents", reply(ACCEPTED, 202))
    service.on("GET", EVENTS, events(("error", {"title": "Temporarily unavailable", "status": 503})))
    service.on("GET", f"/v1/documents/{DOCUMENT_ID}", reply(document("ready")))
    ended = shell("upload", str(manual))
    assert "manual.txt: the live progress broke off; asking now and then instead" in ended.err.splitlines()
