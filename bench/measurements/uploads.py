"""The same bytes from many at once, and a file that always fails over and over."""

import asyncio
from hashlib import sha256

from bench import texts
from bench.client import Member, Uploaded
from bench.figures import Figure, at_most, exactly, percentile
from bench.observing import ContentState
from bench.runs import Measured, Options
from bench.servers import Worker, running_worker
from bench.stage import Stage, open_stage

_CLIENTS = 50
_MAX_ATTEMPTS = 3
"""Tries that one upload may cause; see `app.ingestion.pipeline`."""
_PATIENCE_SECONDS = 300
_ACCEPTED = 202
_DAMAGED = b"%PDF-1.7\n" + b"this was cut off in the middle " * 40


async def measure(options: Options) -> Measured:
    """Measure both with one worker that works meanwhile."""
    async with open_stage() as stage:
        with running_worker(stage.servers) as worker:
            same = await _same_bytes(stage, worker, await stage.clients.member(), options.size(20, 4))
            failing = await _failing(stage, worker, await stage.clients.member(), options.size(1_000, 60))
    return Measured((*same, *failing))


async def _same_bytes(stage: Stage, worker: Worker, member: Member, pages: int) -> list[Figure]:
    data = texts.pdf(pages, 1)
    answers = await asyncio.gather(*(member.upload("same.pdf", data) for _ in range(_CLIENTS)))
    state = await _ended(stage, worker, data)
    stored = await stage.observer.chunks()
    accepted = [each for each in answers if each.status == _ACCEPTED]
    passes = max((each.vectors for each in stored), default=0)
    return [
        Figure(f"answers to {_CLIENTS} uploads at once that are no 202", (_CLIENTS - len(accepted),), "", exactly(0)),
        Figure("different answers", (len({(e.document_id, e.version_id) for e in accepted}),), "", exactly(1)),
        Figure("versions", (await stage.observer.count("versions"),), "", exactly(1)),
        Figure(
            "claims of the content", (state.fence,), "", exactly(1), f"{state.status}, {state.chunk_count} passages"
        ),
        Figure("passages beyond those of one pass", (len(stored) - state.chunk_count,), "", exactly(0)),
        Figure("vectors of a passage", (passes,), "", exactly(1)),
        Figure("slowest of them", (max(each.seconds for each in answers),), "s"),
    ]


async def _failing(stage: Stage, worker: Worker, member: Member, times: int) -> list[Figure]:
    documents, versions = await stage.observer.count("documents"), await stage.observer.count("versions")
    answers: list[Uploaded] = [await member.upload("broken.pdf", _DAMAGED) for _ in range(times)]
    state = await _ended(stage, worker, _DAMAGED)
    seconds = [each.seconds for each in answers]
    return [
        Figure(f"{times} uploads of a failing file that are no 202", (_refused(answers),), "", exactly(0)),
        Figure("documents of them", (await stage.observer.count("documents") - documents,), "", exactly(1)),
        Figure("versions of them", (await stage.observer.count("versions") - versions,), "", exactly(1)),
        Figure("tries of the last", (state.attempts,), "", at_most(_MAX_ATTEMPTS), f"{state.status}: {state.reason}"),
        Figure("claims in all", (state.fence,), "", at_most(times)),
        Figure("half of the uploads within", (percentile(seconds, 0.5),), "s"),
        Figure("95 of 100 uploads within", (percentile(seconds, 0.95),), "s"),
    ]


def _refused(answers: list[Uploaded]) -> int:
    return sum(each.status != _ACCEPTED for each in answers)


async def _ended(stage: Stage, worker: Worker, data: bytes) -> ContentState:
    digest = sha256(data).hexdigest()
    (state,) = await stage.observer.until_ended([digest], seconds=_PATIENCE_SECONDS, check=worker.require_alive)
    return state
