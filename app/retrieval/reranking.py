"""Puts the best passages of a search in the order of a reranker, and keeps their order when there is none to be had."""

import time
from collections.abc import Callable, Sequence

import structlog

from app.core.errors import UnavailableError
from app.llm.types import Reranker, RerankingRefusedError
from app.retrieval.types import Passage

MOST_RERANKED = 32
"""Passages that are reranked; those after them stay behind. 32 is also what servers take in one request by default."""
_REST_SECONDS = 5.0
_LOG_SECONDS = 60.0

log = structlog.get_logger(__name__)


class PassageReranker:
    """The reranker of a process, as the search uses it: it may fail, and the search does not.

    After an outage it is left alone for a few seconds, so that a server that hangs costs a few questions its time-out
    and not each of them. A question that it refuses says nothing of the next.

    Args:
        reranker: The model, or the one that keeps the order.
        monotonic: Seconds of a clock that never goes back.
    """

    def __init__(self, reranker: Reranker, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._reranker = reranker
        self._monotonic = monotonic
        self._rests_until = float("-inf")
        self._quiet_until = float("-inf")
        self._not_logged = 0

    async def rerank(self, question: str, passages: Sequence[Passage]) -> tuple[Passage, ...]:
        """Return the same passages, the first 32 of them best first by the reranker; equal ones keep their order.

        No transaction should be open: the reranker may take its whole time.

        Args:
            question: As it was asked.
            passages: Best first by the fusion of arms.
        """
        head = passages[:MOST_RERANKED]
        scores = await self._scores(question, head) if len(head) > 1 else None
        if scores is None:
            return tuple(passages)
        best_first = sorted(zip(scores, head, strict=True), key=lambda scored: -scored[0])
        return (*(passage for _, passage in best_first), *passages[MOST_RERANKED:])

    async def _scores(self, question: str, passages: Sequence[Passage]) -> Sequence[float] | None:
        if self._monotonic() < self._rests_until:
            return None
        try:
            return await self._reranker.rerank(question, [_text(passage) for passage in passages])
        except RerankingRefusedError as error:
            self._log(error)
        except UnavailableError as error:
            self._rests_until = self._monotonic() + _REST_SECONDS
            self._log(error)
        return None

    def _log(self, error: UnavailableError) -> None:
        """Tell of a failure at most once a minute, with the number of those that were not told since."""
        if self._monotonic() < self._quiet_until:
            self._not_logged += 1
            return
        log.warning("retrieval.not_reranked", detail=error.detail, not_logged=self._not_logged)
        self._quiet_until = self._monotonic() + _LOG_SECONDS
        self._not_logged = 0


def _text(passage: Passage) -> str:
    return f"{passage.heading}\n{passage.text}" if passage.heading else passage.text
