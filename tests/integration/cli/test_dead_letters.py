"""Jobs that were given up, by the command line."""

from typing import Any

from tests.integration.cli.conftest import Shell
from tests.integration.cli.standin import StandIn, problem, reply

IDS = [f"{n}{n}{n}{n}{n}{n}{n}{n}-1111-1111-1111-111111111111" for n in range(3)]


def letter(letter_id: str) -> dict[str, Any]:
    return {
        "id": letter_id,
        "task": "ingest",
        "reason": "worker_lost",
        "detail": "Processing this file stopped the worker several times.",
        "attempts": 4,
        "document_ids": [],
        "created_at": "2026-01-01T00:00:00Z",
        "requeued_at": None,
        "requeued_by": None,
    }


def listed(service: StandIn, *ids: str) -> None:
    service.on("GET", "/v1/dead-letters", reply({"items": [letter(each) for each in ids], "next_cursor": None}))


def requeued(service: StandIn, letter_id: str) -> None:
    service.on("POST", f"/v1/dead-letters/{letter_id}/requeue", reply(letter(letter_id), 202))


def test_letters_are_listed_with_their_reason(shell: Shell, service: StandIn) -> None:
    listed(service, *IDS)
    for arguments in (("dead-letters",), ("dead-letters", "list")):
        lines = shell(*arguments).out.splitlines()
        assert len(lines) == 1 + len(IDS)
        assert lines[1].split("\t")[:2] == ["ingest", "worker_lost"]
        assert lines[1].endswith(IDS[0])
    assert shell("dead-letters", "--json").json() == {"items": [letter(each) for each in IDS]}


def test_no_letters_are_told(shell: Shell, service: StandIn) -> None:
    listed(service)
    ended = shell("dead-letters")
    assert (ended.code, ended.out) == (0, "")
    assert "Nothing was given up" in ended.err


def test_one_letter_is_put_back(shell: Shell, service: StandIn) -> None:
    requeued(service, IDS[0])
    assert "back in the queue" in shell("dead-letters", "requeue", IDS[0]).out
    assert shell("dead-letters", "requeue", IDS[0].upper(), "--json").json() == letter(IDS[0])


def test_all_letters_are_put_back_and_what_cannot_be_is_told(shell: Shell, service: StandIn) -> None:
    listed(service, *IDS)
    requeued(service, IDS[0])
    service.on("POST", f"/v1/dead-letters/{IDS[1]}/requeue", problem(409, "Job cannot be run", "It does not fit."))
    requeued(service, IDS[2])
    ended = shell("dead-letters", "requeue", "--all")
    assert (ended.code, ended.out) == (1, "2 jobs put back into the queue.\n")
    assert IDS[1] in ended.err
    assert "It does not fit." in ended.err
    told = shell("dead-letters", "requeue", "--all", "--json").json()
    assert [each["id"] for each in told["items"]] == [IDS[0], IDS[2]]
    assert [each["id"] for each in told["refused"]] == [IDS[1]]


def test_an_id_or_all_is_needed_and_not_both(shell: Shell, service: StandIn) -> None:
    for arguments in ((), (IDS[0], "--all"), ("not-an-id",)):
        assert shell("dead-letters", "requeue", *arguments).code == 2
    assert not service.calls("POST", f"/v1/dead-letters/{IDS[0]}/requeue")


def test_a_member_is_told_that_it_is_for_owners(shell: Shell, service: StandIn) -> None:
    service.on("GET", "/v1/dead-letters", problem(403, "Not allowed", "Only an owner of the workspace may do this."))
    ended = shell("dead-letters")
    assert ended.code == 1
    assert "Only an owner" in ended.err
