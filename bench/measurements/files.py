"""How every file of a folder ends when all are uploaded together, and whether doing it again changes anything."""

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from bench.client import Member, Uploaded
from bench.figures import Figure, at_most, exactly
from bench.observing import ContentState, Observer
from bench.runs import Measured, NotMeasurableError, Options
from bench.servers import Worker, running_worker
from bench.stage import Stage, open_stage

_SLOWEST_SECONDS = 30
_PATIENCE_SECONDS = 1_800
_AT_ONCE = 16
_LOOK_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class _End:
    """How a file ended: refused, failed or ready, why, and how long after it was begun."""

    status: str
    reason: str
    seconds: float
    chunks: int

    @property
    def typed(self) -> bool:
        """Whether its owner can tell what happened."""
        return self.status == "ready" or bool(self.reason)


@dataclass(slots=True)
class _Watch:
    """When each content was first seen at work, and when it was first seen at its end."""

    begun: dict[str, float] = field(default_factory=dict)
    ended: dict[str, float] = field(default_factory=dict)

    def see(self, states: list[ContentState]) -> None:
        """Note what has changed."""
        now = time.monotonic()
        for each in states:
            if each.status != "queued":
                self.begun.setdefault(each.sha256, now)
            if each.ended:
                self.ended.setdefault(each.sha256, now)

    def seconds(self, digest: str) -> float:
        """Return how long a content was at work, to a look's precision."""
        return self.ended.get(digest, 0.0) - self.begun.get(digest, 0.0)


async def measure(options: Options) -> Measured:
    """Upload all files together, twice, to one worker."""
    if options.data is None:
        raise NotMeasurableError("name a folder: --data FOLDER")
    files = await asyncio.to_thread(_read, options.data)
    async with open_stage() as stage:
        member = await stage.clients.member()
        with running_worker(stage.servers) as worker:
            first, ends = await _pass(stage, member, worker, files)
            chunks = {each.id for each in await stage.observer.chunks()}
            again, ends_again = await _pass(stage, member, worker, files)
            new = {each.id for each in await stage.observer.chunks()} ^ chunks
            died = int(not worker.alive)
    changed = [name for name in files if _difference(ends[name], ends_again[name])]
    others = [name for name, each in again.items() if each.document_id and each.outcome != "identical"]
    return Measured(
        (
            Figure("files", (len(files),), note=_counted(ends)),
            Figure("files without a typed end", (sum(not each.typed for each in ends.values()),), "", exactly(0)),
            Figure("longest from its own start", (_longest(ends),), "s", at_most(_SLOWEST_SECONDS)),
            Figure("ready without passages", (_empty(ends),), "", exactly(0)),
            Figure("deaths of the worker", (died,), "", exactly(0)),
            Figure("passages that came or went the second time", (len(new),), "", exactly(0)),
            Figure("files that ended otherwise the second time", (len(changed),), "", exactly(0), ", ".join(changed)),
            Figure("second uploads that were not `identical`", (len(others),), "", exactly(0), ", ".join(others)),
        ),
        _table(first, ends),
    )


def _read(folder: Path) -> dict[str, bytes]:
    """Return every file by its path in the folder, in a form that is a document's name."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    if not paths:
        raise NotMeasurableError(f"{folder} holds no files")
    return {str(path.relative_to(folder)).replace("/", "__"): path.read_bytes() for path in paths}


async def _pass(
    stage: Stage, member: Member, worker: Worker, files: Mapping[str, bytes]
) -> tuple[dict[str, Uploaded], dict[str, _End]]:
    async with _watching(stage.observer) as watch:
        uploads = await member.upload_all(list(files.items()), at_once=_AT_ONCE)
        states = await stage.observer.until_ended(seconds=_PATIENCE_SECONDS, check=worker.require_alive)
        watch.see(states)
    by_digest = {each.sha256: each for each in states}
    uploaded = dict(zip(files, uploads, strict=True))
    return uploaded, {name: _end(uploaded[name], data, by_digest, watch) for name, data in files.items()}


@contextlib.asynccontextmanager
async def _watching(observer: Observer) -> AsyncIterator[_Watch]:
    watch = _Watch()

    async def look_on() -> None:
        while True:
            watch.see(await observer.contents())
            await asyncio.sleep(_LOOK_SECONDS)

    looking = asyncio.create_task(look_on())
    try:
        yield watch
    finally:
        looking.cancel()
        await asyncio.wait([looking])


def _end(uploaded: Uploaded, data: bytes, states: Mapping[str, ContentState], watch: _Watch) -> _End:
    digest = sha256(data).hexdigest()
    if digest not in states:
        return _End("refused", uploaded.outcome, uploaded.seconds, 0)
    state = states[digest]
    return _End(state.status, state.reason or "", watch.seconds(digest), state.chunk_count)


def _difference(one: _End, other: _End) -> bool:
    return (one.status, one.reason, one.chunks) != (other.status, other.reason, other.chunks)


def _counted(ends: Mapping[str, _End]) -> str:
    counts = Counter(f"{each.status} {each.reason}".strip() for each in ends.values())
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))


def _longest(ends: Mapping[str, _End]) -> float:
    return max(each.seconds for each in ends.values())


def _empty(ends: Mapping[str, _End]) -> int:
    return sum(each.status == "ready" and each.chunks == 0 for each in ends.values())


def _table(uploads: Mapping[str, Uploaded], ends: Mapping[str, _End]) -> tuple[str, ...]:
    width = max(map(len, ends))
    return tuple(
        f"{name:<{width}}  {uploads[name].outcome:<13} {end.status:<8} {end.reason:<22} {end.chunks:>5} passages "
        f"{end.seconds:6.1f} s"
        for name, end in sorted(ends.items())
    )
