"""The order of jobs, with a queue in memory that fetches like the real one: least tag first, then the oldest."""

from collections import Counter
from dataclasses import dataclass, field
from itertools import count, pairwise

import pytest

from app.jobs.fair_share import (
    LAST_TAG,
    MAX_COST,
    MIN_COST,
    SMALL_BYTES,
    Lane,
    Standing,
    cost_of,
    lane_of,
    rest_tag,
    tag_of,
)

KIB, MIB = 1024, 1024 * 1024


@dataclass(order=True)
class Job:
    tag: int
    id: int
    workspace: str = field(compare=False)
    size: int = field(compare=False)


class Queue:
    """One lane with some slots."""

    def __init__(self, slots: int = 2) -> None:
        self.slots = slots
        self.waiting: list[Job] = []
        self.running: list[Job] = []
        self.started: list[Job] = []
        self._ids = count()

    @property
    def clock(self) -> int:
        if self.running:
            return max(job.tag for job in self.running)
        return min((job.tag for job in self.waiting), default=0)

    def put(self, workspace: str, size: int = KIB) -> Job:
        mine = [job for job in (*self.waiting, *self.running) if job.workspace == workspace]
        last = max(mine, key=lambda job: job.tag, default=None)
        standing = Standing(self.clock, last.tag, last.size) if last else Standing(self.clock)
        job = Job(tag_of(standing), next(self._ids), workspace, size)
        self.waiting.append(job)
        return job

    def put_rest(self, job: Job) -> None:
        """Let a running job give way: what is left of it waits again."""
        rest = Job(rest_tag(self.clock, job.tag, job.size), next(self._ids), job.workspace, job.size)
        for other in self.waiting:
            if other.workspace == job.workspace:
                other.tag += cost_of(job.size)
        self.running.remove(job)
        self.waiting.append(rest)

    def fill(self) -> None:
        while self.waiting and len(self.running) < self.slots:
            job = min(self.waiting)
            self.waiting.remove(job)
            self.running.append(job)
            self.started.append(job)

    def end_one(self) -> Job:
        """End the job that has run longest, and start others in free slots."""
        self.fill()
        ended = self.running.pop(0)
        self.fill()
        return ended

    def drain(self, jobs: int | None = None) -> list[str]:
        return [
            self.end_one().workspace for _ in range(len(self.waiting) + len(self.running) if jobs is None else jobs)
        ]


def test_lanes_are_by_size() -> None:
    assert {lane_of(size) for size in (0, 1, SMALL_BYTES)} == {Lane.SMALL}
    assert {lane_of(size) for size in (SMALL_BYTES + 1, 50 * MIB)} == {Lane.LARGE}


def test_costs_grow_with_size_within_their_bounds() -> None:
    for sizes in ([0, 200 * KIB, 500 * KIB, 700 * KIB, SMALL_BYTES], [2 * MIB, 5 * MIB, 9 * MIB, 16 * MIB]):
        costs = [cost_of(size) for size in sizes]
        assert all(one < other for one, other in pairwise(costs))
        assert MIN_COST <= costs[0] <= costs[-1] == MAX_COST
    assert cost_of(2**52) == MAX_COST
    assert MIN_COST >= 2, "else a newcomer does not come before the next job of a backlog"


def test_one_file_waits_for_nothing_but_what_runs() -> None:
    queue = Queue()
    for _ in range(1_000):
        queue.put("crowd", 100 * KIB)
    queue.drain(100)
    queue.put("single", SMALL_BYTES)
    assert queue.drain(3).index("single") <= queue.slots


def test_a_workspace_keeps_the_order_of_its_files() -> None:
    queue = Queue(slots=1)
    sizes = [900 * KIB, KIB, 300 * KIB, KIB, 5 * KIB]
    for size in sizes:
        queue.put("one", size)
    queue.drain()
    assert [job.size for job in queue.started] == sizes


def test_ten_backlogs_share_the_slots_evenly() -> None:
    queue = Queue()
    for n in range(10):
        for _ in range(100):
            queue.put(f"w{n}")
    shares = Counter(queue.drain(500))
    assert {name: 45 <= jobs <= 55 for name, jobs in shares.items()} == {f"w{n}": True for n in range(10)}


def test_who_sends_larger_files_gets_fewer_of_them() -> None:
    queue = Queue(slots=1)
    for _ in range(300):
        queue.put("small files", 1)
        queue.put("large files", SMALL_BYTES)
    shares = Counter(queue.drain(240))
    assert shares["small files"] / shares["large files"] == pytest.approx(MAX_COST / MIN_COST, rel=0.1)


def test_newcomers_without_end_do_not_starve_a_backlog() -> None:
    queue = Queue()
    for _ in range(100):
        queue.put("backlog", SMALL_BYTES)
    done, turns, most_waiting = 0, [0], 0
    for n in range(800):
        queue.put(f"newcomer {n}")
        most_waiting = max(most_waiting, len({job.workspace for job in queue.waiting}))
        done += 1
        if queue.end_one().workspace == "backlog":
            turns.append(done)
    assert max(later - earlier for earlier, later in pairwise([*turns, done])) <= MAX_COST * most_waiting
    assert most_waiting <= 20, "as many of the newcomers wait as jobs of the backlog were done"


def test_somebody_who_sends_one_file_after_the_other_gets_no_more_than_a_backlog() -> None:
    queue = Queue(slots=1)
    for _ in range(200):
        queue.put("backlog")
    queue.put("steady")
    done = []
    for _ in range(100):
        done.append(queue.end_one().workspace)
        if done[-1] == "steady":
            queue.put("steady")
    assert 40 <= done.count("backlog") <= 60


def test_a_file_that_gives_way_is_finished_before_later_ones_of_its_workspace() -> None:
    queue = Queue(slots=1)
    for size in (40 * MIB, 20 * MIB, 30 * MIB):
        queue.put("books", size)
    for _ in range(20):
        queue.put("others", 2 * MIB)
    left = {40 * MIB: 4, 20 * MIB: 2, 30 * MIB: 3}
    finished = []
    while queue.waiting or queue.running:
        queue.fill()
        (job,) = queue.running
        if job.workspace == "books" and left[job.size] > 1 and queue.waiting:
            left[job.size] -= 1
            queue.put_rest(job)
        else:
            finished.append(queue.end_one())
    assert [job.size // MIB for job in finished if job.workspace == "books"] == [40, 20, 30]


def test_a_file_that_gives_way_takes_no_more_than_the_share_of_its_workspace() -> None:
    queue = Queue(slots=1)
    for _ in range(30):
        queue.put("books", 16 * MIB)
        queue.put("others", 16 * MIB)
    for _ in range(100):
        queue.fill()
        (job,) = queue.running
        if job.workspace == "books":
            queue.put_rest(job)
        else:
            queue.running.remove(job)
            queue.put("others", 16 * MIB)
    shares = Counter(job.workspace for job in queue.started)
    assert 45 <= shares["books"] <= 55


def test_tags_stay_priorities_of_the_queue() -> None:
    assert tag_of(Standing(clock=LAST_TAG)) == LAST_TAG
    assert tag_of(Standing(LAST_TAG, LAST_TAG, SMALL_BYTES)) == LAST_TAG
    assert rest_tag(LAST_TAG, LAST_TAG, SMALL_BYTES) == LAST_TAG


def test_tags_begin_anew_when_a_lane_was_empty() -> None:
    queue = Queue()
    for _ in range(10):
        queue.put("one")
    queue.drain()
    assert queue.put("one").tag == 1
