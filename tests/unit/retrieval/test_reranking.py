from collections.abc import Sequence

import pytest
from structlog.testing import capture_logs

from app.core.errors import UnavailableError
from app.llm.reranking import NullReranker
from app.llm.types import ModelSetupError, RerankingRefusedError
from app.retrieval.reranking import MOST_RERANKED, PassageReranker
from app.retrieval.types import Passage
from tests.unit.answering.examples import passage

PASSAGES = tuple(passage(f"confidential text {n}") for n in range(MOST_RERANKED + 8))
FAILURES = [
    UnavailableError("The reranker did not answer in time."),
    ModelSetupError("The reranker refuses the key (401)."),
    RerankingRefusedError("The reranker refuses the question or the passages (413)."),
]


class Reversing:
    """Likes the last text best; notes what it is asked, and raises what it is told to."""

    def __init__(self, error: UnavailableError | None = None) -> None:
        self.error = error
        self.asked: list[tuple[str, list[str]]] = []

    async def rerank(self, question: str, texts: Sequence[str]) -> list[float]:
        self.asked.append((question, list(texts)))
        if self.error:
            raise self.error
        return [float(n) for n in range(len(texts))]

    async def aclose(self) -> None:
        """Hold nothing."""


class Undecided(Reversing):
    async def rerank(self, question: str, texts: Sequence[str]) -> list[float]:
        return [0.0 for _ in await super().rerank(question, texts)]


class Broken(Reversing):
    async def rerank(self, question: str, texts: Sequence[str]) -> list[float]:
        await super().rerank(question, texts)
        raise ZeroDivisionError


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def texts(passages: Sequence[Passage]) -> list[str]:
    return [each.text for each in passages]


async def test_the_first_passages_come_best_first_and_the_others_stay_behind() -> None:
    reranker = Reversing()
    found = await PassageReranker(reranker).rerank("question", PASSAGES)
    assert found == (*PASSAGES[MOST_RERANKED - 1 :: -1], *PASSAGES[MOST_RERANKED:])
    assert reranker.asked == [("question", texts(PASSAGES[:MOST_RERANKED]))]


async def test_the_heading_is_read_with_the_text() -> None:
    reranker = Reversing()
    await PassageReranker(reranker).rerank("question", [passage("T3410 is 15 s.", heading="4.2 Timers"), PASSAGES[0]])
    assert reranker.asked[0][1] == ["4.2 Timers\nT3410 is 15 s.", PASSAGES[0].text]


async def test_equal_passages_keep_their_order() -> None:
    assert await PassageReranker(Undecided()).rerank("question", PASSAGES) == PASSAGES


async def test_without_a_reranker_the_order_is_kept() -> None:
    assert await PassageReranker(NullReranker()).rerank("question", PASSAGES) == PASSAGES


@pytest.mark.parametrize("count", [0, 1])
async def test_what_has_one_order_only_is_not_sent(count: int) -> None:
    reranker = Reversing()
    assert await PassageReranker(reranker).rerank("question", PASSAGES[:count]) == PASSAGES[:count]
    assert not reranker.asked


@pytest.mark.parametrize("error", FAILURES, ids=["away", "setup", "refused"])
async def test_a_failure_keeps_the_order_and_is_logged_without_a_text(error: UnavailableError) -> None:
    with capture_logs() as logs:
        assert await PassageReranker(Reversing(error)).rerank("confidential question", PASSAGES) == PASSAGES
    assert [(line["event"], line["log_level"], line["detail"]) for line in logs] == [
        ("retrieval.not_reranked", "warning", error.detail)
    ]
    assert "confidential" not in str(logs)


async def test_an_error_of_ours_is_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError):
        await PassageReranker(Broken()).rerank("question", PASSAGES)


async def test_after_an_outage_it_rests_and_is_then_asked_again() -> None:
    clock, reranker = Clock(), Reversing(FAILURES[0])
    passages = PassageReranker(reranker, monotonic=clock)
    for _ in range(10):
        assert await passages.rerank("question", PASSAGES) == PASSAGES
    assert len(reranker.asked) == 1
    reranker.error = None
    clock.now += 5.0
    assert await passages.rerank("question", PASSAGES) != PASSAGES
    assert len(reranker.asked) == 2


async def test_a_refused_question_does_not_cost_the_next_its_order() -> None:
    reranker = Reversing(FAILURES[2])
    passages = PassageReranker(reranker)
    assert await passages.rerank("too long", PASSAGES) == PASSAGES
    reranker.error = None
    assert await passages.rerank("question", PASSAGES) != PASSAGES


async def test_failures_are_logged_once_a_minute_with_the_number_of_the_others() -> None:
    clock, reranker = Clock(), Reversing(FAILURES[2])
    passages = PassageReranker(reranker, monotonic=clock)
    with capture_logs() as logs:
        for _ in range(120):
            await passages.rerank("question", PASSAGES)
            clock.now += 1.0
    assert [line["not_logged"] for line in logs] == [0, 59]
