import pytest

from app.answering.claims import Reason
from app.cli import words
from app.cli.commands.documents import StatusChoice
from app.documents.types import Outcome, Status
from app.ingestion.parsing.types import ParseReason


@pytest.mark.parametrize("reason", list(Reason))
def test_every_abstention_of_the_contract_has_words_of_its_own(reason: Reason) -> None:
    why, help_words = words.abstention(reason.value)
    assert (why, help_words) != words.abstention("a reason that does not exist")
    assert why.endswith(".")
    assert help_words.endswith(".")


@pytest.mark.parametrize("outcome", list(Outcome))
def test_every_outcome_of_the_contract_has_words(outcome: Outcome) -> None:
    assert words.outcome(outcome.value) != outcome.value


@pytest.mark.parametrize("status", list(Status))
def test_every_state_of_the_contract_has_words(status: Status) -> None:
    told = words.state_of({"status": status.value, "done": 3, "total": 7, "detail": "It is locked."})
    assert ("3/7" in told) is (not status.final)


def test_a_document_that_waits_says_for_what() -> None:
    waiting = {"status": "queued", "done": 3, "total": 7, "detail": "Waiting for the embedding model."}
    assert words.state_of(waiting).endswith("Waiting for the embedding model. 3/7")


def test_counted_is_singular_for_one_and_in_words() -> None:
    assert [words.counted(n, "old_versions") for n in (0, 1, 1_200)] == [
        "0 old versions",
        "1 old version",
        "1,200 old versions",
    ]


def test_documents_that_are_still_read_promise_no_time() -> None:
    _, help_words = words.abstention("still_indexing")
    assert "minute" not in help_words
    assert "groundeddocs documents" in help_words


def test_failed_document_tells_why() -> None:
    assert words.state_of({"status": "failed", "reason": "encrypted", "detail": "It is locked."}) == (
        "failed: It is locked."
    )
    assert words.failure_of({"reason": "encrypted", "detail": None}) == "encrypted"


@pytest.mark.parametrize(
    "reason", [*ParseReason, "internal", "worker_lost", "file_missing", "embedding_failed", "unsupported_media_type"]
)
def test_every_reason_of_a_failure_has_words_and_what_to_do(reason: str) -> None:
    why, remedy = words.failure(reason)
    assert (why, remedy) != words.failure("a reason that does not exist")
    assert remedy.endswith(".")


def test_the_states_to_list_are_those_of_documents() -> None:
    assert {choice.value for choice in StatusChoice} == {status.value for status in Status}


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (0, "less than a minute left"),
        (59.9, "less than a minute left"),
        (89, "about 1 minute left"),
        (600, "about 10 minutes left"),
        (5_400, "about 2 hours left"),
    ],
)
def test_times_are_told_in_round_numbers(seconds: float, told: str) -> None:
    assert words.time_left(seconds) == told


def test_embedders_are_told_with_their_models() -> None:
    offered: list[dict[str, str | None]] = [{"name": "default", "model": "e5"}, {"name": "remote", "model": None}]
    assert words.embedders(offered) == "default (e5), remote (its server has not answered yet)"
