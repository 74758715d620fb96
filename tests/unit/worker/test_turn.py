"""How long a job keeps its slot, without a database: the looks are given."""

from collections.abc import Iterator
from datetime import timedelta
from uuid import UUID

import pytest

from app.core.ids import UserId, WorkspaceId
from app.core.tenancy import Role, WorkspaceScope
from app.jobs.fair_share import Lane
from app.worker.timing import WorkerTiming
from app.worker.turn import Turn

SCOPE = WorkspaceScope(WorkspaceId(UUID(int=1)), UserId(UUID(int=2)), Role.MEMBER, "job:1", "job:1")
TIMING = WorkerTiming(slice=timedelta(seconds=20), look_every=timedelta(seconds=1))


class WatchedTurn(Turn):
    """Looks at what is given, and counts the looks."""

    def __init__(self, seen: Iterator[bool]) -> None:
        self.time = 0.0
        super().__init__(None, None, SCOPE, Lane.LARGE, timing=TIMING, now=lambda: self.time)  # type: ignore[arg-type]  # neither is used
        self.looks = 0
        self._given = seen

    async def _look(self) -> bool:
        self.looks += 1
        return next(self._given)


async def asked(seen: list[bool], times: list[float]) -> tuple[list[bool], int]:
    """Return the answers at these times after the start, and the number of looks."""
    turn = WatchedTurn(iter(seen))
    answers = []
    for turn.time in times:
        answers.append(await turn.others_wait())
    return answers, turn.looks


async def test_a_run_has_its_slice_before_anybody_is_looked_for() -> None:
    assert await asked([], [0.0, 5.0, 19.9]) == ([False] * 3, 0)


async def test_two_looks_in_a_row_are_needed() -> None:
    assert await asked([True, True], [20.0, 21.0]) == ([False, True], 2)
    assert await asked([True, False, True], [20.0, 21.0, 22.0]) == ([False] * 3, 3)


async def test_looks_have_their_distance_however_often_a_run_asks() -> None:
    answers, looks = await asked([False] * 3, [20.0, 20.1, 20.9, 21.0, 21.5, 22.1])
    assert (answers, looks) == ([False] * 6, 3)


@pytest.mark.parametrize("later", [21.0, 21.5, 30.0])
async def test_who_waits_goes_on_waiting(later: float) -> None:
    answers, _ = await asked([True, True, True], [20.0, later, later + 0.1])
    assert answers == [False, True, True]
