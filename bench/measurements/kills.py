"""What is left after a worker was killed at every point of its work, again and again.

Each round uploads the same documents into fresh workspaces and kills a worker once at each point. A fresh worker takes
over each time and goes on. At the end of a round the passages must be those of a run that nobody disturbed.
"""

import contextlib
from collections.abc import AsyncIterator, Sequence

from app.worker.sweep import JITTER
from bench.composition import TIMING, open_services, settings_of
from bench.embedder import HashEmbedder
from bench.figures import Figure, at_least, at_most, exactly
from bench.kill_points import KillPoint
from bench.kill_rounds import (
    LEASE_SECONDS,
    PATIENCE_SECONDS,
    WORKSPACES,
    Round,
    Scene,
    Tally,
    by_content,
    order_file,
    running_victim,
)
from bench.observing import observing
from bench.runs import Measured, Options
from bench.servers import running_servers
from bench.shelf import Draft, drafts, new_scope, shelve

_POLL_SECONDS = (TIMING.sweep_every * (1 + JITTER) + TIMING.poll_every).total_seconds()
"""The longest that a sweep, and then a look at the queue, can let one wait."""


async def measure(options: Options) -> Measured:
    """Make the golden passages, then run the rounds."""
    rounds, tally = options.size(20, 1), Tally()
    async with _scene(drafts(options.size(50, 20))) as scene:
        for number in range(rounds):
            await Round(scene, number, tally).run()
        letters = await scene.observer.count("dead_letters")
    expected = rounds * len(KillPoint)
    figures = [
        Figure("kills", (tally.kills.total(),), "", exactly(expected), _by_point(tally)),
        Figure("contents that did not become ready", (tally.unready,), "", exactly(0)),
        Figure("contents whose passages or vectors are not the golden ones", (tally.different,), "", exactly(0)),
        Figure("jobs left in the queue, and dead letters", (tally.jobs + letters,), "", exactly(0)),
    ]
    return Measured((*figures, *_watched(tally), *_recovered(tally)), _breaches(tally))


@contextlib.asynccontextmanager
async def _scene(files: Sequence[Draft]) -> AsyncIterator[Scene]:
    """Start servers, and make the golden passages."""
    with running_servers() as servers:
        settings = settings_of(servers.settings)
        async with open_services(settings, HashEmbedder()) as services, observing(servers.superuser_url) as observer:
            await shelve(services, [await new_scope(services) for _ in range(WORKSPACES)], files)
            with running_victim(servers, order_file(servers, "golden"), pace=0.0) as worker:
                states = await observer.until_ended(seconds=PATIENCE_SECONDS, check=worker.require_alive)
            if any(each.status != "ready" for each in states):
                raise RuntimeError("not every document becomes ready even when nobody disturbs the worker")
            yield Scene(servers, services, observer, files, by_content(await observer.chunks()))


def _by_point(tally: Tally) -> str:
    return ", ".join(f"{tally.kills[point]} {point}" for point in KillPoint)


def _watched(tally: Tally) -> list[Figure]:
    hidden, seen = sum(each.hidden for each in tally.watchers), sum(each.seen for each in tally.watchers)
    return [
        Figure("looks that saw something of what was not ready", (len(_breaches(tally)),), "", exactly(0)),
        Figure("looks at what was not ready", (hidden,), "", at_least(1)),
        Figure("looks that saw what was ready", (seen,), "", at_least(1), "so the others could have seen something"),
    ]


def _recovered(tally: Tally) -> list[Figure]:
    note = f"longest distance of two sweeps, and poll: {_POLL_SECONDS:g} s"
    return [
        Figure("from a kill until all that it interrupted can be claimed", tuple(tally.freed), "s"),
        Figure(
            f"longest of these beyond the lease of {LEASE_SECONDS:g} s, or beyond the start of the fresh worker",
            (max(tally.late, default=0.0),),
            "s",
            at_most(_POLL_SECONDS),
            note,
        ),
        Figure("from a kill until all of it was claimed, by slots that came free", tuple(tally.recoveries), "s"),
    ]


def _breaches(tally: Tally) -> tuple[str, ...]:
    return tuple(breach for each in tally.watchers for breach in each.breaches)
