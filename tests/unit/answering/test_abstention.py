import pytest

from app.answering.abstention import after_answering, before_answering, status_of
from app.answering.claims import Claim, Draft, DraftClaim, Reason, Status
from app.retrieval.types import ArmRanks, CorpusState
from tests.unit.answering.examples import passage

NONE = CorpusState(0, 0, 0, "v")
FAILED = CorpusState(2, 0, 0, "v")
INDEXING = CorpusState(2, 0, 1, "v")
READY = CorpusState(2, 2, 0, "v")
GROWING = CorpusState(3, 2, 1, "v")
NEAR = 0.3


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        (NONE, Reason.NO_DOCUMENTS),
        (FAILED, Reason.NO_DOCUMENTS),
        (INDEXING, Reason.STILL_INDEXING),
        (GROWING, Reason.STILL_INDEXING),
        (READY, Reason.NO_EVIDENCE),
    ],
)
def test_nothing_found_is_explained_by_the_state_of_the_corpus(state: CorpusState, reason: Reason) -> None:
    assert before_answering(state, ()) is reason


def test_something_found_is_worth_a_try_even_while_indexing() -> None:
    assert before_answering(GROWING, (passage("Some text."),)) is None


def test_a_claim_that_stands_is_no_abstention() -> None:
    assert after_answering(READY, Draft(()), (Claim("text", ()),), (), NEAR) is None


def test_claims_that_all_failed_are_unverified() -> None:
    draft = Draft((DraftClaim("text", ()),))
    assert after_answering(GROWING, draft, (), (passage("Some text."),), NEAR) is Reason.UNVERIFIED


def test_nothing_drafted_while_documents_are_on_their_way_is_still_indexing() -> None:
    assert after_answering(GROWING, Draft(()), (), (passage("Some text."),), NEAR) is Reason.STILL_INDEXING


def test_near_passages_without_an_answer_are_insufficient() -> None:
    near = (passage("far", similarity=0.1), passage("near", similarity=0.3))
    assert after_answering(READY, Draft(()), (), near, NEAR) is Reason.INSUFFICIENT_EVIDENCE


def test_only_far_passages_are_no_evidence() -> None:
    assert after_answering(READY, Draft(()), (), (passage("far", similarity=0.29),), NEAR) is Reason.NO_EVIDENCE


def test_a_passage_found_by_identifier_counts_as_near() -> None:
    found = passage("T3410", similarity=0.0, arms=ArmRanks(identifier=1))
    assert after_answering(READY, Draft(()), (), (found,), NEAR) is Reason.INSUFFICIENT_EVIDENCE


def test_status_follows_from_reason_and_missing() -> None:
    assert status_of(Reason.NO_EVIDENCE, ()) is Status.ABSTAINED
    assert status_of(None, ("a part",)) is Status.PARTIAL
    assert status_of(None, ()) is Status.ANSWERED
