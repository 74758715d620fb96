"""Decides when there is no answer, and why. Pure."""

from collections.abc import Sequence

from app.answering.claims import Claim, Draft, Reason, Status
from app.retrieval.types import CorpusState, Passage


def before_answering(state: CorpusState, passages: Sequence[Passage]) -> Reason | None:
    """Return why the question cannot be answered from what was found, or None when it is worth a try."""
    if passages:
        return None
    if state.documents_in_progress:
        return Reason.STILL_INDEXING
    return Reason.NO_EVIDENCE if state.documents_ready else Reason.NO_DOCUMENTS


def after_answering(
    state: CorpusState, draft: Draft, claims: Sequence[Claim], passages: Sequence[Passage], near: float
) -> Reason | None:
    """Return why nothing can be shown, or None when a claim stands.

    Args:
        state: Says whether more documents are on their way.
        draft: What the answerer proposed.
        claims: What is left of it after verification.
        passages: What it was given.
        near: Least cosine at which a passage counts as near to the question.
    """
    if claims:
        return None
    if draft.claims:
        return Reason.UNVERIFIED
    if state.documents_in_progress:
        return Reason.STILL_INDEXING
    nearest = max((passage.similarity for passage in passages), default=-1.0)
    found_by_identifier = any(passage.arms.identifier for passage in passages)
    return Reason.INSUFFICIENT_EVIDENCE if nearest >= near or found_by_identifier else Reason.NO_EVIDENCE


def status_of(reason: Reason | None, missing: Sequence[str]) -> Status:
    """Return how an answer ended."""
    if reason:
        return Status.ABSTAINED
    return Status.PARTIAL if missing else Status.ANSWERED
