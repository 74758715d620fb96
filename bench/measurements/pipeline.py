"""How many pages a second the whole pipeline makes searchable, and what share that is of embedding alone.

Both are measured in turns over the same passages, so that what else the machine does hits both.
"""

import asyncio
import contextlib
import json
import os
import sys
import time

from bench import texts
from bench.client import Member
from bench.figures import Figure, at_least
from bench.observing import ContentState
from bench.runs import Measured, Options
from bench.servers import ROOT, Worker, cores, running_worker
from bench.stage import Stage, open_stage

_PAGES = (1, 2, 3, 5, 8, 13, 20, 28)
"""Of the documents of a round."""
_QUICK_PAGES = (1, 2, 5)
_PATIENCE_SECONDS = 900
_WARM_UP_SEED = 999


async def measure(options: Options) -> Measured:
    """Run rounds: the pipeline over fresh documents, then the embedder over the passages that came of them."""
    async with open_stage() as stage:
        with running_worker(stage.servers) as worker:
            return await _rounds(options, stage, worker)


async def _rounds(options: Options, stage: Stage, worker: Worker) -> Measured:
    sizes = _QUICK_PAGES if options.quick else _PAGES
    members = [await stage.clients.member() for _ in range(2)]
    await _ingest(stage, worker, members, {_WARM_UP_SEED: 1})
    pages_a_second, chunks_a_page, ratios = [], [], []
    for number in range(options.size(6, 2)):
        documents = {number * 100 + index: pages for index, pages in enumerate(sizes)}
        seconds, ended = await _ingest(stage, worker, members, documents)
        alone = await _embed_alone(stage, worker, await stage.observer.texts([each.sha256 for each in ended]))
        pages = sum(each.page_count for each in ended)
        pages_a_second.append(pages / seconds)
        chunks_a_page.append(sum(each.chunk_count for each in ended) / pages)
        ratios.append(alone / seconds)
    threads = f"worker and embedder with {cores()} threads of the model"
    return Measured(
        (
            Figure("whole pipeline", tuple(pages_a_second), "pages/s", at_least(8), threads),
            Figure("share of embedding alone", tuple(ratios), "", at_least(0.9)),
            Figure("passages", tuple(chunks_a_page), "a page"),
        )
    )


async def _ingest(
    stage: Stage, worker: Worker, members: list[Member], documents: dict[int, int]
) -> tuple[float, list[ContentState]]:
    """Fill the queue while the worker pauses, then take the time until everything has ended.

    Args:
        stage: Where.
        worker: The only worker.
        members: Who upload, in turns.
        documents: Numbers of pages by seed.
    """
    worker.pause()
    known = {(each.workspace_id, each.sha256) for each in await stage.observer.contents()}
    for index, (seed, pages) in enumerate(documents.items()):
        await members[index % len(members)].upload(f"{seed}.pdf", texts.pdf(pages, seed))
    began = time.perf_counter()
    worker.resume()
    ended = await stage.observer.until_ended(seconds=_PATIENCE_SECONDS, check=worker.require_alive)
    seconds = time.perf_counter() - began
    fresh = [each for each in ended if (each.workspace_id, each.sha256) not in known]
    if any(each.status != "ready" for each in fresh) or len(fresh) != len(documents):
        raise RuntimeError(f"not every document became ready: {sorted({each.reason or '' for each in fresh})}")
    return seconds, fresh


async def _embed_alone(stage: Stage, worker: Worker, passages: list[str]) -> float:
    """Return how many seconds the embedder takes for passages in a process that is as nice as the worker."""
    niceness = os.getpriority(os.PRIO_PROCESS, worker.process.pid)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bench.embedding", stage.servers.settings["MODEL_PATH"], str(cores()), str(niceness)),
        cwd=ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        output, _ = await process.communicate(json.dumps(passages).encode())
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
    return float(output)
