"""Whose job comes next: lanes by size, and in each lane a fair share for every workspace. Pure.

Start-time fair queueing (Goyal, Vin and Cheng, SIGCOMM 1996): each job gets a start tag, and the least tag runs first.
A workspace's next tag is its last one plus the cost of that job, so that whoever asks for much moves back by as much.
Somebody who comes anew starts at the lane's clock, the tag of the job that began last: ahead of all backlogs, and
behind nothing but the jobs that run already. Tags are kept as negated priorities of the queue.

Two things differ from the paper. Whoever comes starts one after the clock, so that a stream of newcomers moves the
clock on and a backlog gets its turn after at most `MAX_COST` rounds of them. And tags start again at 0 whenever a lane
is empty, since the clock is read from the jobs that are there.
"""

from dataclasses import dataclass
from enum import StrEnum

SMALL_BYTES = 1024 * 1024
"""The largest file of the lane for small ones: a few seconds of work as a PDF, about 15 as plain text."""
_SLICE_BYTES = 16 * 1024 * 1024
"""About what a run of a large file reads before it gives way; a larger file costs more runs, not a dearer one."""
MIN_COST, MAX_COST = 2, 10
"""Cost of a run in steps of the clock: opening a file costs by itself, its bytes the rest. At least 2, see above."""
LAST_TAG = 2**31 - 1
"""Priorities are 32-bit integers. A lane that was never empty for hundreds of millions of jobs ends as first come,
first served."""


class Lane(StrEnum):
    """A queue with slots of its own in each worker."""

    SMALL = "small"
    LARGE = "large"
    BACKGROUND = "background"


@dataclass(frozen=True, slots=True)
class Standing:
    """What a new tag depends on.

    Attributes:
        clock: The lane's virtual time.
        last_tag: Largest tag of the workspace's waiting and running jobs in the lane; None when there are none.
        last_size_bytes: Size of the file of that job.
    """

    clock: int
    last_tag: int | None = None
    last_size_bytes: int = 0


def lane_of(size_bytes: int) -> Lane:
    """Return the lane of a file: a small one never waits behind a huge one."""
    return Lane.SMALL if size_bytes <= SMALL_BYTES else Lane.LARGE


def cost_of(size_bytes: int) -> int:
    """Return what one run for a file of this size counts in its lane."""
    whole = SMALL_BYTES if lane_of(size_bytes) is Lane.SMALL else _SLICE_BYTES
    return MIN_COST + min(size_bytes, whole) * (MAX_COST - MIN_COST) // whole


def tag_of(standing: Standing) -> int:
    """Return the start tag of a workspace's new job."""
    if standing.last_tag is None:
        return min(standing.clock + 1, LAST_TAG)
    return rest_tag(standing.clock, standing.last_tag, standing.last_size_bytes)


def rest_tag(clock: int, tag: int, size_bytes: int) -> int:
    """Return the start tag of what comes after a job with this tag and size, such as the rest of the same file."""
    return min(max(clock + 1, tag + cost_of(size_bytes)), LAST_TAG)
