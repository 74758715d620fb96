"""Workspaces, members, documents, and how refusals are told."""

import io
import json

import pytest

from app.cli import output
from app.cli.credentials import CredentialStore
from tests.integration.cli.conftest import Shell
from tests.integration.cli.standin import DOCUMENT_ID, WORKSPACE_ID, Reply, StandIn, document, problem, reply

SECOND_ID = "99999999-9999-9999-9999-999999999999"
MINE = {"id": WORKSPACE_ID, "name": "Field service", "role": "owner", "created_at": "2026-01-01T00:00:00Z"}
SECOND = {"id": SECOND_ID, "name": "Legal", "role": "member", "created_at": "2026-01-01T00:00:00Z"}
USER = {"id": "u", "email": "alice@example.com", "display_name": "Alice Example"}
EMPTY: dict[str, object] = {"items": [], "next_cursor": None}
MEMBERS = "/v1/workspaces/current/members"


def two_workspaces(service: StandIn) -> None:
    service.on("GET", "/v1/me", reply({"user": USER, "workspaces": [MINE, SECOND]}))


def test_chosen_workspace_is_used_by_later_commands(shell: Shell, service: StandIn) -> None:
    two_workspaces(service)
    service.on("GET", "/v1/documents", reply(EMPTY))
    assert shell("documents").code == 1
    assert shell("workspaces", "use", "Legal").code == 0
    assert shell("documents").code == 0
    assert shell("workspaces", "--json").json() == {"items": [MINE, SECOND], "default": SECOND_ID}
    (sent,) = service.calls("GET", "/v1/documents")
    assert sent.headers["X-Workspace-Id"] == SECOND_ID


def test_option_and_environment_outrank_the_chosen_workspace(
    shell: Shell, service: StandIn, store: CredentialStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    two_workspaces(service)
    service.on("GET", "/v1/documents", reply(EMPTY))
    store.save_workspace(service.url, SECOND_ID)
    shell("documents", "--workspace", "Field service")
    monkeypatch.setenv("GROUNDEDDOCS_WORKSPACE", WORKSPACE_ID)
    shell("documents")
    shell("documents", "-w", "Legal")
    sent = [request.headers["X-Workspace-Id"] for request in service.calls("GET", "/v1/documents")]
    assert sent == [WORKSPACE_ID, WORKSPACE_ID, SECOND_ID]


def test_user_without_workspace_is_told_how_to_make_one(shell: Shell, service: StandIn) -> None:
    service.on("GET", "/v1/me", reply({"user": USER, "workspaces": []}))
    ended = shell("documents")
    assert ended.code == 1
    assert "workspaces create" in ended.err


def test_workspace_is_made_and_listed(shell: Shell, service: StandIn) -> None:
    service.on("POST", "/v1/workspaces", reply(MINE, 201))
    made = shell("workspaces", "create", "Field service", "--json")
    assert (made.json(), made.err) == (MINE, "")
    assert service.calls("POST", "/v1/workspaces")[0].json() == {"name": "Field service"}
    assert shell("workspaces").out.splitlines()[1].split("\t")[:3] == ["Field service", "owner", WORKSPACE_ID]


def test_new_workspace_is_the_one_that_commands_use(shell: Shell, service: StandIn, store: CredentialStore) -> None:
    store.save_workspace(service.url, WORKSPACE_ID)
    service.on("POST", "/v1/workspaces", reply(SECOND, 201))
    ended = shell("workspaces", "create", "Legal")
    assert SECOND_ID in ended.out
    assert ended.err == "Commands now use it; `groundeddocs workspaces use` changes that.\n"
    assert store.workspace(service.url) == SECOND_ID


@pytest.mark.parametrize(
    ("model", "reembedding", "told"),
    [
        ("", None, "none yet"),
        ("e5-small", None, "e5-small"),
        ("e5-small", {"done": 1_200, "total": 4_000}, "1,200 of 4,000 passages embedded with another model"),
        ("e5-small", {"model": "e5-large", "done": 0, "total": 1}, "0 of 1 passage embedded with e5-large, which"),
    ],
)
def test_workspace_is_shown_with_the_model_that_it_is_searched_by(
    shell: Shell, service: StandIn, model: str, reembedding: object, told: str
) -> None:
    current = {"id": SECOND_ID, "name": "Legal", "role": "owner", "embedding_model": model, "reembedding": reembedding}
    service.on("GET", "/v1/workspaces/current", reply(current))
    shown = shell("workspaces", "show").out
    assert told in shown
    assert ("Change" in shown) is (reembedding is not None)
    assert shell("workspaces", "show", "--json").json() == current


CHANGED = {
    "id": WORKSPACE_ID, "name": "Lab", "role": "owner", "embedding_model": "e5-small", "reembedding": None,
    "embedder": "remote", "embedder_problem": "Choose another one.",
    "embedders": [{"name": "default", "model": "e5-small"}, {"name": "remote", "model": None}],
}  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "body"),
    [
        (("--name", "Lab"), {"name": "Lab"}),
        (("--embedder", "local"), {"embedder": "local"}),
        (("--name", "Lab", "--embedder", "default"), {"name": "Lab", "embedder": "default"}),
    ],
)
def test_workspace_is_changed_and_shown(
    shell: Shell, service: StandIn, arguments: tuple[str, ...], body: object
) -> None:
    service.on("PATCH", "/v1/workspaces/current", reply(CHANGED))
    shown = shell("workspaces", "change", *arguments).out
    for told in (
        "Lab",
        "remote",
        "default (e5-small), remote (its server has not answered yet)",
        "Choose another one.",
    ):
        assert told in shown
    (sent,) = service.calls("PATCH", "/v1/workspaces/current")
    assert (sent.json(), sent.headers["X-Workspace-Id"]) == (body, WORKSPACE_ID)
    assert shell("workspaces", "change", *arguments, "--json").json() == CHANGED


def test_embedder_that_the_service_does_not_offer_is_told_in_its_words(shell: Shell, service: StandIn) -> None:
    refused = problem(409, "Embedder not offered", "Choose `local` or `default`.", "embedder_not_offered")
    service.on("PATCH", "/v1/workspaces/current", refused)
    ended = shell("workspaces", "change", "--embedder", "remote")
    assert ended.code != 0
    assert "Choose `local` or `default`." in ended.err


@pytest.mark.parametrize("arguments", [(), ("--name", " "), ("--embedder", "cloud")])
def test_change_without_a_usable_wish_is_told_without_asking(
    shell: Shell, service: StandIn, arguments: tuple[str, ...]
) -> None:
    assert shell("workspaces", "change", *arguments).code == 2
    assert service.requests == []


def test_joined_workspace_is_the_one_that_commands_use(shell: Shell, service: StandIn, store: CredentialStore) -> None:
    service.on("POST", "/v1/invitations/accept", reply(SECOND))
    assert "Commands now use it" in shell("join", "one-time").err
    assert store.workspace(service.url) == SECOND_ID


def test_workspace_of_the_environment_goes_on_and_that_is_said(
    shell: Shell, service: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GROUNDEDDOCS_WORKSPACE", WORKSPACE_ID)
    service.on("POST", "/v1/workspaces", reply(SECOND, 201))
    ended = shell("workspaces", "create", "Legal")
    assert "Commands now use it;" not in ended.err
    assert "GROUNDEDDOCS_WORKSPACE" in ended.err


@pytest.mark.parametrize("arguments", [("workspaces", "create", " "), ("join", "")])
def test_empty_names_and_tokens_are_told_without_asking(
    shell: Shell, service: StandIn, arguments: tuple[str, ...]
) -> None:
    ended = shell(*arguments)
    assert ended.code == 2
    assert "is empty" in ended.err
    assert service.requests == []


def test_invitation_is_one_line_that_the_other_person_types(shell: Shell, service: StandIn) -> None:
    made = {"id": "i", "token": "one-time", "role": "member", "expires_at": "2026-01-08T00:00:00.123456Z"}
    service.on("POST", "/v1/workspaces/current/invitations", reply(made, 201))
    service.on("POST", "/v1/invitations/accept", reply(SECOND))
    ended = shell("invite")
    assert ended.out == "groundeddocs join one-time\n"
    assert f"until {output.local_time(made['expires_at'])}, and" in ended.err
    assert shell("join", "one-time").code == 0
    assert service.calls("POST", "/v1/invitations/accept")[0].json() == {"token": "one-time"}


def test_every_page_of_documents_is_listed(shell: Shell, service: StandIn) -> None:
    first = {"items": [document("ready")], "next_cursor": "more"}
    second = {"items": [document("failed", name="a\x1b[2J.pdf", detail="It is locked.")], "next_cursor": None}
    service.on("GET", "/v1/documents", reply(first), reply(second))
    lines = shell("documents").out.splitlines()
    assert len(lines) == 3
    assert lines[2].split("\t")[:2] == ["a\\x1b[2J.pdf", "failed: It is locked."]


@pytest.mark.parametrize(
    ("arguments", "method", "path"),
    [
        (("show", DOCUMENT_ID), "GET", f"/v1/documents/{DOCUMENT_ID}"),
        (("retry", DOCUMENT_ID), "POST", f"/v1/documents/{DOCUMENT_ID}/retry"),
    ],
)
def test_one_document_is_shown(
    shell: Shell, service: StandIn, arguments: tuple[str, ...], method: str, path: str
) -> None:
    service.on(method, path, reply(document("ready")))
    assert shell("documents", *arguments, "--json").json() == document("ready")
    assert shell("documents", "--json", *arguments).json() == document("ready")
    assert "manual.txt" in shell("documents", *arguments).out


def test_deletion_tells_its_receipt(shell: Shell, service: StandIn) -> None:
    removed = {"documents": 1, "versions": 2, "citations": 0, "chunks": 31, "blobs": 2, "cache_entries": None}
    receipt = {
        "document_id": DOCUMENT_ID,
        "removed": removed,
        "remaining": {**dict.fromkeys(removed, 0), "blobs": 1},
        "detail": "Deleted. 1 stored file was not removed yet.",
    }
    service.on("DELETE", f"/v1/documents/{DOCUMENT_ID}", reply(receipt))
    assert shell("documents", "delete", DOCUMENT_ID).out == (
        "Deleted. 1 stored file was not removed yet.\nRemoved: 1 document, 2 versions, 31 passages, 2 stored files.\n"
    )
    assert shell("documents", "delete", DOCUMENT_ID, "--json").json() == receipt


ONE, TWO, THREE = (f"{n}" * 8 + f"-{str(n) * 4}" * 3 + "-" + f"{n}" * 12 for n in (1, 2, 3))


@pytest.mark.parametrize(
    ("options", "body"),
    [
        (("--name", "b.txt"), {"name": "b.txt"}),
        (("--visibility", "restricted"), {"visibility": "restricted"}),
        (("--grant", THREE), {"grants": [ONE, TWO, THREE]}),
        (("--revoke", TWO), {"grants": [ONE]}),
        (("--revoke", ONE, "--revoke", TWO), {"grants": []}),
        (
            ("--visibility", "restricted", "--grant", THREE.upper(), "--revoke", ONE),
            {"visibility": "restricted", "grants": [TWO, THREE]},
        ),
    ],
)
def test_document_is_changed_in_what_was_said_and_in_nothing_else(
    shell: Shell, service: StandIn, options: tuple[str, ...], body: dict[str, object]
) -> None:
    path = f"/v1/documents/{DOCUMENT_ID}"
    service.on("GET", path, reply(document("ready", grants=[ONE, TWO])))
    service.on("PATCH", path, reply(document("ready", name="b.txt", grants=[THREE])))
    service.on("GET", MEMBERS, reply(EMPTY))
    ended = shell("documents", "change", DOCUMENT_ID, *options)
    assert ended.code == 0, ended.err
    assert "b.txt" in ended.out
    assert THREE in ended.out
    (sent,) = service.calls("PATCH", path)
    assert sent.json() == body


def test_change_that_says_nothing_is_told_without_asking(shell: Shell, service: StandIn) -> None:
    ended = shell("documents", "change", DOCUMENT_ID)
    assert ended.code == 2
    assert "Say what to change" in ended.err
    assert service.requests == []


def members(*emails: str | None) -> Reply:
    people = [
        {"user_id": each, "display_name": "Bob\x1b[2J", "email": email, "role": "member", "joined_at": "2026-01-01"}
        for each, email in zip((ONE, TWO, THREE), emails, strict=False)
    ]
    return reply({"items": people, "next_cursor": None})


def test_members_are_listed_with_what_grants_take(shell: Shell, service: StandIn) -> None:
    service.on("GET", MEMBERS, members("alice@example.com", None))
    lines = shell("workspaces", "members").out.splitlines()
    assert [line.split("\t")[1] for line in lines] == ["E-mail", "alice@example.com", ""]
    assert lines[1].split("\t")[-1] == ONE
    assert "\x1b" not in lines[1]
    assert [each["user_id"] for each in shell("workspaces", "members", "--json").json()["items"]] == [ONE, TWO]


def test_member_is_granted_by_address_and_shown_by_name(shell: Shell, service: StandIn) -> None:
    path = f"/v1/documents/{DOCUMENT_ID}"
    service.on("GET", MEMBERS, members("alice@example.com", "bob@example.com"))
    service.on("GET", path, reply(document("ready", grants=[ONE])))
    service.on("PATCH", path, reply(document("ready", grants=[TWO, THREE])))
    ended = shell("documents", "change", DOCUMENT_ID, "--grant", "Bob@Example.com", "--revoke", "alice@example.com")
    assert service.calls("PATCH", path)[0].json() == {"grants": [TWO]}
    assert f"Bob\\x1b[2J <bob@example.com>, {THREE}" in ended.out


@pytest.mark.parametrize(
    ("typed", "told"), [("carol@example.com", "workspaces members"), ("", "is not"), ("twin@example.com", TWO)]
)
def test_address_of_nobody_or_of_several_changes_nothing(shell: Shell, service: StandIn, typed: str, told: str) -> None:
    service.on("GET", MEMBERS, members("twin@example.com", "twin@example.com", None))
    ended = shell("documents", "change", DOCUMENT_ID, "--grant", typed)
    assert ended.code == 1
    assert told in ended.err
    assert not [request for request in service.requests if request.method == "PATCH"]


def test_empty_document_is_told_without_asking(shell: Shell, service: StandIn) -> None:
    assert shell("documents", "delete", " ").code == 2
    assert service.requests == []


@pytest.mark.parametrize("typed", ["../workspaces/current", "xyz", "2222", "manual"])
def test_what_is_no_id_and_no_name_never_becomes_an_address(shell: Shell, service: StandIn, typed: str) -> None:
    service.on("GET", "/v1/documents", reply({"items": [document("ready")], "next_cursor": None}))
    ended = shell("documents", "delete", typed)
    assert ended.code == 1
    assert f"no document with the id or name '{typed}'" in ended.err
    assert {request.path for request in service.requests} == {"/v1/me", "/v1/documents"}


@pytest.mark.parametrize(
    ("command", "method", "suffix"),
    [
        (("show",), "GET", ""),
        (("retry",), "POST", "/retry"),
        (("delete",), "DELETE", ""),
        (("change", "--name", "b"), "PATCH", ""),
    ],
)
def test_document_is_meant_by_its_name_too(
    shell: Shell, service: StandIn, command: tuple[str, ...], method: str, suffix: str
) -> None:
    service.on("GET", "/v1/documents", reply({"items": [document("ready")], "next_cursor": None}))
    service.on(method, f"/v1/documents/{DOCUMENT_ID}{suffix}", reply({**document("ready"), "removed": {}}))
    assert shell("documents", *command, "manual.txt").code == 0


def test_name_of_two_documents_is_refused_with_the_ids_to_use(shell: Shell, service: StandIn) -> None:
    twins = [document("ready"), document("ready", id=SECOND_ID, visibility="restricted")]
    service.on("GET", "/v1/documents", reply({"items": twins, "next_cursor": None}))
    ended = shell("documents", "delete", "manual.txt")
    assert ended.code == 1
    assert DOCUMENT_ID in ended.err
    assert SECOND_ID in ended.err


def test_receipt_says_what_stays_since_another_document_uses_it(shell: Shell, service: StandIn) -> None:
    removed = {"documents": 1, "versions": 1, "citations": 1, "chunks": 0, "blobs": 0, "cache_entries": None}
    service.on("DELETE", f"/v1/documents/{DOCUMENT_ID}", reply({"detail": "Deleted.", "removed": removed}))
    assert shell("documents", "delete", DOCUMENT_ID).out == (
        "Deleted.\nRemoved: 1 document, 1 version, 1 citation.\n"
        "Kept: the file and the passages of 1 version, which another document uses too.\n"
    )


@pytest.mark.parametrize(("typed", "options"), [("n\n", ()), ("y\n", ()), ("", ("--yes",)), ("", ("--json",))])
def test_deletion_asks_on_a_terminal_unless_told_not_to(
    shell: Shell, service: StandIn, monkeypatch: pytest.MonkeyPatch, typed: str, options: tuple[str, ...]
) -> None:
    deleted = 0 if typed == "n\n" else 1
    path = f"/v1/documents/{DOCUMENT_ID}"
    service.on("GET", path, reply(document("ready", name="a\x1b[2J.txt")))
    service.on("DELETE", path, reply({"detail": "Deleted.", "removed": {"documents": 1}}))
    monkeypatch.setattr("app.cli.commands.documents._is_terminal", lambda: True)
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    ended = shell("documents", "delete", DOCUMENT_ID, *options)
    assert len(service.calls("DELETE", path)) == deleted
    assert ended.code == 1 - deleted
    assert "\x1b" not in ended.err
    assert ("Delete 'a\\x1b[2J.txt' (2 passages)" in ended.err) is (not options)


def test_documents_list_is_the_same_as_documents(shell: Shell, service: StandIn) -> None:
    service.on("GET", "/v1/documents", reply({"items": [document("ready")], "next_cursor": None}))
    assert shell("documents", "list").out == shell("documents").out
    assert shell("documents", "list", "--json").json() == shell("documents", "--json").json()


def test_refusal_is_told_with_its_trace(shell: Shell, service: StandIn) -> None:
    service.on("GET", "/v1/documents", problem(403, "Not allowed", "You are\x1b[2J no member."))
    ended = shell("documents")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.splitlines() == ["Not allowed: You are\\x1b[2J no member.", "Trace id: trace-7"]


def test_refusal_for_a_program_is_a_json_object_on_standard_error(shell: Shell, service: StandIn) -> None:
    service.on("GET", "/v1/documents", problem(403, "Not allowed", "You are\x1b[2J no member."))
    ended = shell("documents", "--json")
    assert (ended.code, ended.out) == (1, "")
    assert json.loads(ended.err) == {
        "code": "test",
        "detail": "Not allowed: You are\x1b[2J no member.",
        "status": 403,
        "trace_id": "trace-7",
    }


def test_failure_before_any_request_is_json_too(shell: Shell) -> None:
    told = json.loads(shell("documents", "show", "", "--json").err)
    assert (told["code"], told["status"]) == ("usage", None)


def test_refused_token_of_the_environment_is_named(shell: Shell, service: StandIn) -> None:
    service.on("GET", "/v1/me", problem(401, "Not signed in", ""))
    ended = shell("whoami")
    assert ended.code == 3
    assert "GROUNDEDDOCS_TOKEN" in ended.err
    assert "environment-token" not in ended.err


def test_nothing_that_answers_is_told_with_how_to_start_it(shell: Shell, service: StandIn) -> None:
    address = service.url
    ended = shell("whoami", "--url", "http://127.0.0.1:1")
    assert ended.code == 4
    assert ended.err == (
        "Nothing answers at http://127.0.0.1:1. Start it with `make up` or `groundeddocs up`, "
        "or set GROUNDEDDOCS_URL.\n"
    )
    assert address not in ended.err


def test_page_of_another_program_is_not_taken_for_an_answer(shell: Shell, service: StandIn) -> None:
    service.on("GET", "/v1/me", Reply(200, b"<html>", "text/html"))
    ended = shell("whoami")
    assert ended.code == 1
    assert f"What answers at {service.url} is not GroundedDocs" in ended.err


@pytest.mark.parametrize("status", [301, 404, 405, 501])
def test_refusal_of_another_program_is_told_as_such(shell: Shell, service: StandIn, status: int) -> None:
    service.on("GET", "/v1/documents", Reply(status, b"<html>File not found</html>", "text/html"))
    ended = shell("documents")
    assert ended.code == 1
    assert ended.err == (
        f"What answers at {service.url} is not GroundedDocs. Set GROUNDEDDOCS_URL or --url, "
        "or start it with `make up`.\n"
    )


def test_proxy_without_the_service_behind_it_is_told_by_its_status(shell: Shell, service: StandIn) -> None:
    service.on("GET", "/v1/documents", Reply(502, b"<html>Bad gateway</html>", "text/html"))
    assert shell("documents").err == "HTTP 502\n"


@pytest.mark.parametrize(("path", "arguments"), [("/v1/config", ("token", "alice")), ("/v1/me", ("whoami",))])
def test_json_of_another_program_is_told_as_such(
    shell: Shell, service: StandIn, path: str, arguments: tuple[str, ...]
) -> None:
    service.on("GET", path, reply({"status": "fine"}))
    assert "is not GroundedDocs" in shell(*arguments).err


def test_creating_is_never_sent_twice(shell: Shell, service: StandIn) -> None:
    service.on("POST", "/v1/workspaces", Reply(status=0))
    assert shell("workspaces", "create", "Legal").code == 4
    assert len(service.calls("POST", "/v1/workspaces")) == 1


def test_documents_of_one_state_are_asked_for(shell: Shell, service: StandIn) -> None:
    service.on("GET", "/v1/documents", reply({"items": [], "next_cursor": None}))
    ended = shell("documents", "list", "--status", "failed")
    assert (ended.code, ended.err) == (0, "No document is in the state 'failed'.\n")
    (sent,) = service.calls("GET", "/v1/documents")
    assert "status=failed" in sent.query
