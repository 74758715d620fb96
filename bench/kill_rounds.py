"""One round of kills: documents, a worker that dies at each point once, and the look at what is left."""

import asyncio
import contextlib
import random
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from uuid import UUID

from app.bootstrap import Services
from bench.composition import LEASE, TIMING
from bench.kill_points import KillPoint, Order, content_key
from bench.observing import ContentState, Observer, StoredChunk
from bench.servers import Servers, Worker, start_worker
from bench.shelf import Draft, Shelved, new_scope, shelve
from bench.watcher import Watcher, watching

LEASE_SECONDS = max(TIMING.stalled_after, LEASE.lease).total_seconds()
WORKSPACES = 3
PATIENCE_SECONDS = 300
_HITS_BEFORE_SPARED = 2
_PACE_SECONDS = 0.4
_KILL_SECONDS = 120
_JOBS_SECONDS = 30
_LOOK_SECONDS = 0.03
_NOBODY = UUID(int=0)

Rows = Mapping[str, Sequence[StoredChunk]]


@dataclass(slots=True)
class Tally:
    """What was seen in all rounds.

    Attributes:
        kills: How many workers died at each point.
        freed: Seconds from a kill until every content that it interrupted could be claimed again.
        late: Seconds of these beyond the lease, or beyond the start of the fresh worker when that took longer.
        recoveries: Seconds from a kill until every one was claimed again: a free slot had to come too.
        different: Contents whose passages or vectors are not the golden ones.
        unready: Contents that did not become ready.
        jobs: Jobs that were left in the queue.
        watchers: Who watched, one for each round.
    """

    kills: Counter[KillPoint] = field(default_factory=Counter)
    freed: list[float] = field(default_factory=list)
    late: list[float] = field(default_factory=list)
    recoveries: list[float] = field(default_factory=list)
    different: int = 0
    unready: int = 0
    jobs: int = 0
    watchers: list[Watcher] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Scene:
    """What rounds work with.

    Attributes:
        golden: Passages of an undisturbed run, by hash of the content.
    """

    servers: Servers
    services: Services
    observer: Observer
    drafts: Sequence[Draft]
    golden: Rows


@dataclass(frozen=True, slots=True)
class _Kill:
    """A worker died.

    Attributes:
        at: When, by a clock that never goes back.
        interrupted: The contents that were claimed and had not ended.
    """

    at: float
    interrupted: tuple[ContentState, ...]


class Round:
    """One round.

    Args:
        scene: What it works with.
        number: Of the round; other rounds kill in another order and hit other documents.
        tally: Where it adds what it saw.
    """

    def __init__(self, scene: Scene, number: int, tally: Tally) -> None:
        self._scene = scene
        self._number = number
        self._tally = tally
        self._choice = random.Random(number)  # noqa: S311 - which document is hit, not a secret
        self._hits: Counter[str] = Counter()
        self._workspaces: list[UUID] = []

    async def run(self) -> None:
        """Upload, kill, let the last worker finish, and compare."""
        scene = self._scene
        scopes = [await new_scope(scene.services) for _ in range(WORKSPACES)]
        self._workspaces = [scope.workspace_id for scope in scopes]
        shelved = await shelve(scene.services, scopes, scene.drafts)
        watcher = Watcher(scene.services, {key: [row.id for row in rows] for key, rows in scene.golden.items()})
        self._tally.watchers.append(watcher)
        async with watching(watcher, self._choice.sample(shelved, len(shelved))):
            await self._finish(await self._kill_at_every_point())
        await self._judge(watcher, shelved)

    async def _kill_at_every_point(self) -> _Kill | None:
        last: _Kill | None = None
        for place, point in enumerate(self._choice.sample(list(KillPoint), len(KillPoint))):
            path = order_file(self._scene.servers, f"{self._number}-{place}")
            with running_victim(self._scene.servers, path, pace=_PACE_SECONDS) as worker:
                await self._until_recovered(worker, last)
                self._order(point).write(path)
                last = await self._until_killed(worker)
            if last is None:
                break  # everything had ended before that point came
            self._tally.kills[point] += 1
        return last

    def _order(self, point: KillPoint) -> Order:
        spare = tuple(key for key, count in self._hits.items() if count >= _HITS_BEFORE_SPARED)
        chunks = {key: len(rows) for key, rows in self._scene.golden.items()}
        return Order(point, self._choice.randint(0, 2), spare, chunks)

    async def _until_killed(self, worker: Worker) -> _Kill | None:
        """Wait for the worker's death; None when there is nothing left that it could die of."""
        deadline = time.monotonic() + _KILL_SECONDS
        while worker.alive:
            if time.monotonic() > deadline or all(each.ended for each in await self._contents()):
                return None
            await asyncio.sleep(_LOOK_SECONDS)
        at = time.monotonic()
        interrupted = tuple(each for each in await self._contents() if not each.ended and each.status != "queued")
        self._hits.update(content_key(each.workspace_id, each.sha256) for each in interrupted)
        return _Kill(at, interrupted)

    async def _until_recovered(self, worker: Worker, kill: _Kill | None) -> None:
        """Wait until a fresh worker has claimed again what a kill interrupted."""
        if kill is None or not kill.interrupted:
            return
        await asyncio.to_thread(worker.wait_ready)
        ready_at = time.monotonic()
        wanted = {content_key(each.workspace_id, each.sha256): each.fence for each in kill.interrupted}
        free: set[str] = set()
        freed_at: float | None = None
        while not (taken := _claimed_again(wanted, await self._contents())).issuperset(wanted):
            free |= taken | await self._scene.observer.free()
            freed_at = freed_at or (time.monotonic() if free.issuperset(wanted) else None)
            worker.require_alive()
            if time.monotonic() > kill.at + PATIENCE_SECONDS:
                raise TimeoutError(f"{len(wanted) - len(taken)} contents were not claimed again after a kill")
            await asyncio.sleep(_LOOK_SECONDS)
        freed_at = freed_at or time.monotonic()
        self._tally.freed.append(freed_at - kill.at)
        self._tally.late.append(max(0.0, freed_at - max(kill.at + LEASE_SECONDS, ready_at)))
        self._tally.recoveries.append(time.monotonic() - kill.at)

    async def _finish(self, last: _Kill | None) -> None:
        path = order_file(self._scene.servers, f"{self._number}-last")  # never written: this worker lives
        with running_victim(self._scene.servers, path, pace=0.0) as worker:
            await self._until_recovered(worker, last)
            await self._scene.observer.until_ended(seconds=PATIENCE_SECONDS, check=worker.require_alive)
            self._tally.jobs += await self._jobs_left()

    async def _jobs_left(self) -> int:
        """Return how many jobs stay in the queue for good: what a job did is committed before its row is taken away."""
        deadline = time.monotonic() + _JOBS_SECONDS
        while True:
            jobs = await self._scene.observer.count("procrastinate_jobs")
            if not jobs or time.monotonic() > deadline:
                return jobs
            await asyncio.sleep(_LOOK_SECONDS)

    async def _judge(self, watcher: Watcher, shelved: Sequence[Shelved]) -> None:
        for document in shelved:
            await watcher.look(document)
        self._tally.unready += sum(each.status != "ready" for each in await self._contents())
        found = by_content(await self._scene.observer.chunks(self._workspaces))
        self._tally.different += sum(
            found.get(key) != self._scene.golden.get(key) for key in found.keys() | self._scene.golden.keys()
        )

    async def _contents(self) -> list[ContentState]:
        return [each for each in await self._scene.observer.contents() if each.workspace_id in self._workspaces]


def _claimed_again(fences: Mapping[str, int], states: Sequence[ContentState]) -> set[str]:
    """Return the contents that have ended, or have another fencing number than the given one."""
    keyed = {content_key(each.workspace_id, each.sha256): each for each in states}
    return {key for key, fence in fences.items() if keyed[key].ended or keyed[key].fence > fence}


def by_content(rows: Sequence[StoredChunk]) -> Rows:
    """Return rows by hash of their content, in order, without the workspace, which differs between runs."""
    found: dict[str, list[StoredChunk]] = {}
    for row in rows:
        found.setdefault(row.content_sha256, []).append(replace(row, workspace_id=_NOBODY))
    return found


def order_file(servers: Servers, name: str) -> Path:
    """Return where the order of one worker comes in."""
    return servers.home.run / f"order-{name}.json"


@contextlib.contextmanager
def running_victim(servers: Servers, order: Path, *, pace: float) -> Iterator[Worker]:
    """Run a worker that obeys an order until the block ends; it may still be starting when the block begins."""
    worker = start_worker(servers, ("-m", "bench.worker", str(order), str(pace)))
    try:
        yield worker
    finally:
        worker.stop()
