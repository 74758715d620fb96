"""The most memory that a worker, and the largest of its parsing processes, take for huge files."""

import sys

from bench import texts
from bench.figures import Figure, at_most
from bench.memory import Peaks, watched
from bench.runs import Measured, NotMeasurableError, Options
from bench.servers import Worker, running_worker
from bench.stage import Stage, open_stage

_MEGABYTE = 1_000_000
_PATIENCE_SECONDS = 3 * 3_600
_PDF_CHARACTERS = 700
"""Of a page of the huge PDF, about one passage: the number of its pages is what is large about it."""
_CSV_ROW_BYTES = 115


async def measure(options: Options) -> Measured:
    """Ingest a mix of huge and ordinary files with one worker, and look at its memory all the while."""
    if sys.platform != "linux":
        raise NotMeasurableError("the peak of another process's memory can be read on Linux only")
    async with open_stage() as stage:
        member = await stage.clients.member()
        with running_worker(stage.servers) as worker:
            async with watched(worker.process.pid) as peaks:
                idle = Peaks(worker.process.pid)
                idle.look()
                await member.upload_all(_files(options), at_once=2)
                lines = await _ended(stage, worker)
    return Measured(
        (
            Figure("worker, before the first file", (idle.own / _MEGABYTE,), "MB"),
            Figure("worker, at its peak", (peaks.own / _MEGABYTE,), "MB", at_most(700)),
            Figure("largest parsing process", (peaks.largest_child / _MEGABYTE,), "MB"),
        ),
        lines,
    )


def _files(options: Options) -> list[tuple[str, bytes]]:
    characters, csv_bytes = options.size(19_900_000, 150_000), options.size(5_000_000, 60_000)
    return [
        ("huge.pdf", texts.pdf(options.size(5_000, 120), 1, characters=_PDF_CHARACTERS)),
        ("huge.txt", texts.prose(characters, 2)[:characters].encode()),
        ("huge.csv", texts.table(csv_bytes // _CSV_ROW_BYTES, 3)),
        *((f"plain-{seed}.pdf", texts.pdf(12, seed)) for seed in range(10, 10 + options.size(8, 2))),
    ]


async def _ended(stage: Stage, worker: Worker) -> tuple[str, ...]:
    states = await stage.observer.until_ended(seconds=_PATIENCE_SECONDS, check=worker.require_alive)
    return tuple(
        f"{each.status} {each.reason or ''}: {each.page_count} pages, {each.chunk_count} passages"
        for each in sorted(states, key=lambda each: -each.chunk_count)
    )
