"""Runs the lanes of a worker side by side until it is told to stop."""

import asyncio
import signal
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

import procrastinate
import structlog
from procrastinate.exceptions import ConnectorException
from procrastinate.worker import Worker

from app.jobs.fair_share import Lane
from app.worker.timing import WorkerTiming

log = structlog.get_logger(__name__)

_UNSORTED = "default"
"""Where jobs are that name no lane."""
# Lists: the driver takes a tuple for a row.
_QUEUES: Mapping[Lane, list[str]] = {
    Lane.SMALL: [Lane.SMALL.value],
    Lane.LARGE: [Lane.LARGE.value],
    Lane.BACKGROUND: [Lane.BACKGROUND.value, _UNSORTED],
}
# The worker's own heartbeat ends for good, and without a word, at the first one that fails: ours goes on.
_HEARTBEAT_OF_ITS_OWN = 3600.0


class LaneEndedError(RuntimeError):
    """A lane has stopped by itself; the process ends, so that whatever supervises it starts a new one."""


def slots(concurrency: int) -> Mapping[Lane, int]:
    """Return how many jobs of each lane a worker runs at a time.

    The lanes of files have as many slots each, so that neither takes from the other, and so that in each one file is
    parsed while another is embedded. The background has one: what it does can wait.
    """
    return {Lane.SMALL: concurrency, Lane.LARGE: concurrency, Lane.BACKGROUND: 1}


async def run_lanes(
    app: procrastinate.App, concurrency: int, timing: WorkerTiming, context: Mapping[str, object]
) -> None:
    """Fetch and run jobs until a signal comes; then running jobs have their grace time.

    Args:
        app: The opened queue.
        concurrency: Slots of each lane of files.
        timing: When to act.
        context: What the jobs find in their `additional_context`.

    Raises:
        LaneEndedError: A lane has stopped by itself.
        ConnectorException: The database is out of reach.
    """
    workers = [_worker(app, lane, count, timing, context) for lane, count in slots(concurrency).items()]
    running = [asyncio.create_task(_run(worker), name=f"lane {worker.worker_name}") for worker in workers]
    beating = asyncio.create_task(_beat(app, workers, timing.heartbeat_every.total_seconds()))
    told = asyncio.Event()
    stop = asyncio.create_task(told.wait())
    try:
        with _on_signal(told):
            done, _ = await asyncio.wait((*running, stop), return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (*running, stop):
            task.cancel()
        ends = await asyncio.gather(*running, return_exceptions=True)
        beating.cancel()
    if stop not in done:
        _raise_first(ends)


def _worker(
    app: procrastinate.App, lane: Lane, count: int, timing: WorkerTiming, context: Mapping[str, object]
) -> Worker:
    return Worker(
        app=app,
        queues=_QUEUES[lane],
        name=lane.value,
        concurrency=count,
        fetch_job_polling_interval=timing.poll_every.total_seconds(),
        shutdown_graceful_timeout=timing.grace.total_seconds(),
        update_heartbeat_interval=_HEARTBEAT_OF_ITS_OWN,
        stalled_worker_timeout=timing.stalled_after.total_seconds(),
        delete_jobs="successful",
        additional_context=dict(context),
        install_signal_handlers=False,
    )


async def _run(worker: Worker) -> None:
    await worker.run()  # type: ignore[no-untyped-call]  # the library leaves it without types


async def _beat(app: procrastinate.App, workers: Iterable[Worker], every: float) -> None:
    while True:
        await asyncio.sleep(every)
        for worker in workers:
            if worker.worker_id is None:
                continue
            try:
                await app.job_manager.update_heartbeat(worker.worker_id)
            except ConnectorException:
                log.warning("worker.heartbeat_missed", lane=worker.worker_name)


@contextmanager
def _on_signal(told: asyncio.Event) -> Iterator[None]:
    """Set an event at the first SIGTERM or SIGINT; a second one ends the process at once, as by default."""
    loop = asyncio.get_running_loop()
    signals = (signal.SIGTERM, signal.SIGINT)
    for each in signals:
        loop.add_signal_handler(each, told.set)
    try:
        yield
    finally:
        for each in signals:
            loop.remove_signal_handler(each)


def _raise_first(ends: Iterable[object]) -> None:
    for end in ends:
        if isinstance(end, Exception):
            raise end
    raise LaneEndedError("a lane of the worker stopped without being told to")
