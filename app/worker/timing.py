"""When a worker acts by the clock."""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class WorkerTiming:
    """The times of one worker; all workers of one database share them.

    Attributes:
        heartbeat_every: How often a worker says that it lives.
        stalled_after: Silence after which a worker counts as lost and its jobs start again.
        forgotten_after: Silence after which the row of a worker is removed. A worker that only was cut off for a while
            cannot go on without its row.
        sweep_every: How often each worker looks for such jobs, on average.
        left_behind_after: Time without progress after which a content that has not ended is queued again.
        unused_blob_after: Age at which stored bytes that no content refers to are removed.
        poll_every: How often the queue is read when no notification comes.
        grace: How long running jobs may go on at a stop; then they go back to the queue.
        slice: How long a job runs before it may have to give way to other workspaces.
        look_every: How often a running job then looks whether another workspace waits.
    """

    heartbeat_every: timedelta = timedelta(seconds=5)
    stalled_after: timedelta = timedelta(seconds=30)
    forgotten_after: timedelta = timedelta(minutes=10)
    sweep_every: timedelta = timedelta(seconds=15)
    left_behind_after: timedelta = timedelta(minutes=5)
    unused_blob_after: timedelta = timedelta(hours=1)
    poll_every: timedelta = timedelta(seconds=2)
    grace: timedelta = timedelta(seconds=3)
    slice: timedelta = timedelta(seconds=20)
    look_every: timedelta = timedelta(seconds=1)
