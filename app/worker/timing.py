"""When a worker acts by the clock."""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class WorkerTiming:
    """The times of one worker; all workers of one database share them.

    Attributes:
        heartbeat_every: How often a worker says that it lives.
        stalled_after: Silence after which a worker counts as lost and its jobs start again.
        sweep_every: How often each worker looks for such jobs.
        left_behind_after: Time without progress after which a content that has not ended is queued again.
        poll_every: How often the queue is read when no notification comes.
        grace: How long running jobs may go on at a stop; then they go back to the queue.
    """

    heartbeat_every: timedelta = timedelta(seconds=5)
    stalled_after: timedelta = timedelta(seconds=30)
    sweep_every: timedelta = timedelta(seconds=15)
    left_behind_after: timedelta = timedelta(minutes=5)
    poll_every: timedelta = timedelta(seconds=2)
    grace: timedelta = timedelta(seconds=3)
