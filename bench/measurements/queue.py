"""What a long queue costs whoever uploads, and how long a small file of another workspace waits behind one."""

import asyncio
import time
from hashlib import sha256

from bench import texts
from bench.client import Member
from bench.figures import Figure, percentile
from bench.runs import Measured, Options
from bench.servers import Worker, running_worker
from bench.stage import Stage, open_stage

_AT_ONCE = 8
_PATIENCE_SECONDS = 1_800
_HUGE_FILES = 6
_SMALL_SEED = 5_000_000


async def measure(options: Options) -> Measured:
    """Fill the queue with small files, then, on fresh servers, with huge ones."""
    return Measured((*await _behind_many(options), *await _behind_huge(options)))


async def _behind_many(options: Options) -> list[Figure]:
    waiting, sample = options.size(10_000, 300), options.size(200, 40)
    async with open_stage() as stage:
        member = await stage.clients.member()
        empty = await _upload(member, 0, sample)
        await member.upload_all([_small(seed) for seed in range(sample, waiting - sample)], at_once=_AT_ONCE)
        full = await _upload(member, waiting - sample, sample)
        with running_worker(stage.servers) as worker:
            waits = [await _until_ready(stage, worker, number) for number in range(options.size(10, 2))]
    return [
        Figure("upload into an empty queue, half within", (percentile(empty, 0.5),), "s"),
        Figure(f"upload into a queue of {waiting}, half within", (percentile(full, 0.5),), "s"),
        Figure("the one over the other", (percentile(full, 0.5) / percentile(empty, 0.5),)),
        Figure(f"small file of another workspace behind {waiting} files, ready after", tuple(waits), "s"),
    ]


async def _behind_huge(options: Options) -> list[Figure]:
    async with open_stage() as stage:
        member = await stage.clients.member()
        huge = [(f"{seed}.pdf", texts.pdf(options.size(400, 60), seed)) for seed in range(_HUGE_FILES)]
        await member.upload_all(huge, at_once=2)
        with running_worker(stage.servers) as worker:
            await _all_slots_busy(stage, worker)
            waits = [await _until_ready(stage, worker, number) for number in range(options.size(10, 2))]
    return [Figure("small file of another workspace behind huge files, ready after", tuple(waits), "s")]


def _small(seed: int) -> tuple[str, bytes]:
    return f"{seed}.txt", texts.prose(300, seed).encode()


async def _upload(member: Member, first: int, count: int) -> list[float]:
    return [(await member.upload(*_small(seed))).seconds for seed in range(first, first + count)]


async def _all_slots_busy(stage: Stage, worker: Worker) -> None:
    while sum(each.status == "embedding" for each in await stage.observer.contents()) < 2:  # noqa: PLR2004
        worker.require_alive()
        await asyncio.sleep(0.05)


async def _until_ready(stage: Stage, worker: Worker, number: int) -> float:
    """Return how many seconds after its upload a small file of a fresh workspace is ready."""
    member = await stage.clients.member()
    name, data = _small(_SMALL_SEED + number)
    began = time.perf_counter()
    await member.upload(name, data)
    digest = sha256(data).hexdigest()
    await stage.observer.until_ended([digest], seconds=_PATIENCE_SECONDS, check=worker.require_alive)
    return time.perf_counter() - began
