"""Uploading and following files."""

import json
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from app.cli import uploading
from app.cli.credentials import CredentialStore, Login
from tests.integration.cli.conftest import Shell
from tests.integration.cli.standin import (
    DOCUMENT_ID,
    NO_ANSWER,
    WORKSPACE_ID,
    Reply,
    Request,
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
    refusal = problem(415, "Unsupported type", "PNG is not a document.", code="unsupported_media_type")
    service.on(
        "POST",
        "/v1/documents",
        *[lambda request: refusal if b"PNG" in request.body else reply(ACCEPTED, 202)],
    )
    ended = shell("upload", str(picture), str(manual), "--no-wait")
    assert ended.code == 1
    lines = ended.out.splitlines()
    assert sorted(lines[:2]) == [
        "manual.txt: new document, not yet ready",
        "picture.png: failed: Unsupported type: PNG is not a document.",
    ]
    assert lines[2] in {"2 files: 1 failed, 1 new.", "2 files: 1 new, 1 failed."}
    assert lines[3:] == [
        "1 failed: 1 of a type that cannot be read.",
        "  of a type that cannot be read: What to do depends on the type, and is said with each above. (picture.png)",
    ]


def test_json_is_one_line_for_each_file(shell: Shell, service: StandIn, manual: Path) -> None:
    service.on("POST", "/v1/documents", reply(ACCEPTED, 202))
    service.on("GET", EVENTS, events(("status", document("ready", pages_without_text=[4, 9]))))
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
        "pages_without_text": [4, 9],
        "reason": None,
        "error": None,
    }
    assert ended.err == ""


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


def folder_of(tmp_path: Path, count: int) -> Path:
    folder = tmp_path / "folder"
    folder.mkdir()
    for n in range(count):
        (folder / f"file-{n:04}.txt").write_text(f"text {n} {'x' * n}")
    return folder


class Shelf:
    """A service in which each file becomes a document of its own; counts what is open at once."""

    def __init__(self, service: StandIn, outcome: str = "created", status: str = "queued") -> None:
        self.final: dict[int, Reply] = {}
        self.order: list[int] = []
        self.most_open = self.open = 0
        self._service = service
        self._lock = threading.Lock()
        self._accepted = {**ACCEPTED, "outcome": outcome, "status": status}
        service.on("POST", "/v1/documents", self.accept)

    def accept(self, request: Request) -> Reply:
        with self.counted():
            time.sleep(0.002)
        name = re.search(rb'name="name"\r\n\r\n(.*?)\r\n', request.body)
        assert name
        n = int(name[1][5:9])
        with self._lock:
            self.order.append(n)
        document_id = f"22222222-2222-2222-2222-{n:012}"
        self._service.on("GET", f"/v1/documents/{document_id}/events", lambda _: self.followed(n))
        return reply({**self._accepted, "document_id": document_id}, 202)

    def followed(self, n: int) -> Reply:
        with self.counted():
            time.sleep(0.002)
        return self.final.get(n) or events(("status", document("ready")))

    @contextmanager
    def counted(self) -> Iterator[None]:
        with self._lock:
            self.open += 1
            self.most_open = max(self.most_open, self.open)
        yield
        with self._lock:
            self.open -= 1


def test_many_files_keep_few_requests_open_and_small_ones_go_first(
    shell: Shell, service: StandIn, tmp_path: Path
) -> None:
    shelf = Shelf(service)
    locked = document("failed", reason="encrypted", detail="It is locked.")
    scan = document("failed", reason="no_text", detail="It is a scan.")
    shelf.final = {3: events(("status", locked)), 5: events(("status", locked)), 7: events(("status", scan))}
    ended = shell("upload", str(folder_of(tmp_path, 200)))
    assert ended.code == 1
    lines = ended.out.splitlines()
    assert lines[200:] == [
        "200 files: 197 new, 3 failed.",
        "3 failed: 2 encrypted, 1 without text.",
        "  encrypted: Remove the password and upload them again. (file-0003.txt, file-0005.txt)",
        "  without text: Nothing in them can be quoted; a scan needs its text recognised (OCR). (file-0007.txt)",
    ]
    assert ended.err == ""
    assert shelf.most_open <= 11
    assert max(n - place for place, n in enumerate(shelf.order)) <= 2  # three are on their way at a time


def test_the_same_folder_again_is_told_as_unchanged_with_one_request_a_file(
    shell: Shell, service: StandIn, tmp_path: Path
) -> None:
    Shelf(service, "identical", "ready")
    ended = shell("upload", str(folder_of(tmp_path, 50)))
    assert ended.code == 0
    assert ended.out.splitlines()[0].endswith(": already there, unchanged")
    assert ended.out.splitlines()[-1] == "50 files: 50 unchanged."
    assert not [request for request in service.requests if request.path.endswith("/events")]


def test_files_that_take_long_do_not_hide_the_end_of_others(
    shell: Shell, service: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploading, "_TURN_SECONDS", 0.05)
    shelf, ended_first = Shelf(service), threading.Event()

    def slow(n: int) -> Reply:
        if n < 8 and not ended_first.is_set():
            time.sleep(0.2)
            return events(("status", document("embedding", done=1, total=9)), drop=True)
        if n == 11:
            ended_first.set()
        return events(("status", document("ready")))

    monkeypatch.setattr(shelf, "followed", slow)
    ended = shell("upload", str(folder_of(tmp_path, 12)))
    assert ended.code == 0
    assert ended.out.splitlines()[-1] == "12 files: 12 new."


def test_a_service_without_room_is_asked_again_with_the_same_key(
    shell: Shell, service: StandIn, manual: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploading, "_BUSY_SECONDS", (0.0, 0.0))
    busy = problem(503, "Temporarily unavailable", "Try again.", code="unavailable")
    service.on("POST", "/v1/documents", busy, busy, reply(ACCEPTED, 202))
    assert shell("upload", str(manual), "--no-wait").code == 0
    sent = service.calls("POST", "/v1/documents")
    assert len({request.headers["Idempotency-Key"] for request in sent}) == 1
    assert len(sent) == 3


def test_notices_are_gathered_at_the_end(shell: Shell, service: StandIn, tmp_path: Path) -> None:
    shelf = Shelf(service)
    shelf._accepted["warnings"] = ["A similar document was uploaded a minute ago."]
    shelf.final = {1: events(("status", document("ready", pages_without_text=[4])))}
    ended = shell("upload", str(folder_of(tmp_path, 2)))
    assert ended.code == 0
    assert ended.out.splitlines()[-2:] == [
        "2 files much like one that was uploaded before. (file-0000.txt, file-0001.txt)",
        "1 file with pages that hold no text, which nothing can be quoted from. (file-0001.txt)",
    ]


def test_a_service_that_goes_away_leaves_a_word_on_what_was_sent(
    shell: Shell, service: StandIn, tmp_path: Path
) -> None:
    shelf = Shelf(service)
    accept = shelf.accept
    service.on("POST", "/v1/documents", *[accept] * 20, NO_ANSWER)
    ended = shell("upload", str(folder_of(tmp_path, 40)))
    assert ended.code == 4
    assert "Stopped. Of 40 files: 20 done" in ended.err
    assert "Run the same command again for the rest" in ended.err


def test_ctrl_c_says_what_was_sent_and_how_to_follow_it(
    shell: Shell, service: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf = Shelf(service)
    still_at_it = Reply(200, b": still at it\n\n", "text/event-stream", hang=True)
    monkeypatch.setattr(shelf, "followed", lambda _: still_at_it)
    command = [sys.executable, "-c", "from app.cli.main import run; run()", "upload", str(folder_of(tmp_path, 30))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        deadline = time.monotonic() + 20
        while len(service.calls("POST", "/v1/documents")) < 30 and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(0.5)
        running.send_signal(signal.SIGINT)
        _, told = running.communicate(timeout=20)
    assert running.returncode == 130
    assert "Stopped. Of 30 files: 0 done, 30 sent and still worked on, 0 not sent." in told
    assert "`groundeddocs documents list --status queued` shows what waits" in told
    assert "Traceback" not in told


def test_unchanged_file_with_pages_without_text_is_told_as_the_first_time(
    shell: Shell, service: StandIn, manual: Path
) -> None:
    warning = "Page 2 holds no text."
    accepted = {**ACCEPTED, "outcome": "identical", "status": "ready", "warnings": [warning]}
    service.on("POST", "/v1/documents", reply(accepted, 202))
    ready = document("ready", pages_without_text=[2], warnings=[warning])
    service.on("GET", f"/v1/documents/{DOCUMENT_ID}", reply(ready))
    other = manual.with_name("other.txt")
    other.write_text("something else")
    told = shell("upload", str(manual), str(other)).out
    assert "much like" not in told
    assert "2 files with pages that hold no text" in told
    assert "manual.txt: already there, unchanged\n" in told
    assert json.loads(shell("upload", str(manual), "--json").out)["pages_without_text"] == [2]


def test_document_that_is_deleted_while_it_is_followed_is_told_as_such(
    shell: Shell, service: StandIn, manual: Path
) -> None:
    service.on("POST", "/v1/documents", reply(ACCEPTED, 202))
    service.on("GET", EVENTS, events(("error", {"title": "Not found", "status": 404, "code": "not_found"})))
    other = manual.with_name("other.txt")
    other.write_text("something else")
    ended = shell("upload", str(manual), str(other))
    assert ended.code == 1
    assert "manual.txt: failed: The document was deleted meanwhile" in ended.out
    assert "2 failed: 2 deleted meanwhile." in ended.out
    assert "broke off" not in ended.err
    assert json.loads(shell("upload", str(manual), "--json").out)["reason"] == "deleted"


def test_ended_sign_in_comes_first_and_nothing_is_told_as_sent(
    stranger: Shell, service: StandIn, store: CredentialStore, tmp_path: Path
) -> None:
    store.save_workspace(service.url, WORKSPACE_ID)
    store.save_login(service.url, Login("old", None, 0.0, f"{service.url}/token", "cli", "", None, demo_user="alice"))
    service.on("POST", "/token", reply({"error": "invalid_grant"}, 400))
    ended = stranger("upload", str(folder_of(tmp_path, 36)))
    assert ended.code == 3
    first, second, *_ = ended.err.splitlines()
    assert "groundeddocs token alice --save" in first
    assert second == "Stopped. Of 36 files: 0 done, 36 not sent."
    assert service.calls("POST", "/v1/documents") == []


def test_refused_token_leaves_no_file_as_perhaps_sent(shell: Shell, service: StandIn, manual: Path) -> None:
    service.on("POST", "/v1/documents", problem(401, "Not signed in", ""))
    ended = shell("upload", str(manual))
    assert ended.code == 3
    assert "0 done, 1 not sent" in ended.err


def test_program_gets_json_and_no_other_word(shell: Shell, service: StandIn, tmp_path: Path) -> None:
    shelf = Shelf(service)
    shelf.final = {1: events(("status", document("failed", reason="encrypted", detail="It is locked.")))}
    folder = folder_of(tmp_path, 3)
    (folder / "photo.jpg").write_text("x")
    ended = shell("upload", str(folder), "--json")
    assert (ended.code, ended.err) == (1, "")
    assert [json.loads(line)["error"] for line in ended.out.splitlines()].count("It is locked.") == 1


def test_what_a_folder_holds_besides_is_told_at_the_end(shell: Shell, service: StandIn, tmp_path: Path) -> None:
    Shelf(service)
    folder = folder_of(tmp_path, 2)
    for name in ("photo.jpg", "LICENSE", ".hidden.md"):
        (folder / name).write_text("x")
    last = shell("upload", str(folder)).out.splitlines()[-2:]
    assert last[0].startswith("2 files left out, since the name does not end like a document's.")
    assert "LICENSE" in last[0]
    assert last[1].startswith("1 hidden file or folder left out.")


def test_everything_that_is_missing_is_named_at_once(shell: Shell, service: StandIn) -> None:
    ended = shell("upload", "missing.pdf", "notthere/", "none-*.pdf")
    assert ended.code == 2
    for word in ("missing.pdf", "notthere/", "none-*.pdf"):
        assert f"'{word}'" in ended.err
