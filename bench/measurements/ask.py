"""How long an answer takes through the api, when nothing else happens and while the worker ingests.

Idle and busy phases alternate over the same questions. Half of what is ingested meanwhile goes to the asked workspace.
"""

import asyncio
import itertools
from collections.abc import Iterator

from bench import texts
from bench.client import Member
from bench.figures import Figure, at_most, percentile
from bench.runs import Measured, NotMeasurableError, Options
from bench.servers import running_worker
from bench.stage import Stage, open_stage

_PAGES_A_DOCUMENT = 10
_PATIENCE_SECONDS = 900
_BACKLOG_SEED = 10_000
_QUESTIONS = (
    "Who replaces the emergency valve?",
    "When does the auditor verify the session register?",
    "What happens within 12 minutes of the alarm?",
    "Which part is inspected when the reading exceeds 40 kilopascals?",
    "What does the control room do if the redundant channel is unavailable?",
    "Who approves all outstanding work permits?",
    "How often is the conductivity probe recalibrated?",
    "What does timer T123 mean?",
    "Is the fuel manifold isolated during the annual overhaul?",
    "What does clause 14.2 require of the network gateway?",
    "What is the capital of France?",
)


async def measure(options: Options) -> Measured:
    """Load a corpus, then ask in turns with and without a worker at work."""
    async with open_stage() as stage:
        asked, other = await stage.clients.member(), await stage.clients.member()
        await _load(stage, asked, options.size(30, 3))
        questions = itertools.cycle(_QUESTIONS)
        await _ask(asked, questions, len(_QUESTIONS))  # the first answers find nothing in any memory
        idle, busy = [], []
        for number in range(options.size(5, 2)):
            idle.append(await _ask(asked, questions, options.size(110, 22)))
            await _fill(stage, (asked, other), options.size(24, 8), _BACKLOG_SEED * (number + 1))
            busy.append(await _ask_while_ingesting(stage, asked, questions, options.size(110, 22)))
    return Measured(_figures(idle, busy))


def _figures(idle: list[list[float]], busy: list[list[float]]) -> tuple[Figure, ...]:
    def at(share: float, phases: list[list[float]]) -> tuple[float, ...]:
        return tuple(percentile(phase, share) for phase in phases)

    ratios = tuple(percentile(under, 0.95) / percentile(calm, 0.95) for calm, under in zip(idle, busy, strict=True))
    return (
        Figure("p50 when idle", at(0.5, idle), "s"),
        Figure("p95 when idle", at(0.95, idle), "s"),
        Figure("p50 while ingesting", at(0.5, busy), "s"),
        Figure("p95 while ingesting", at(0.95, busy), "s"),
        Figure("p95 while ingesting, over idle", ratios, "", at_most(2), f"{len(idle[0])} questions a phase"),
    )


async def _load(stage: Stage, member: Member, documents: int) -> None:
    await _upload(member, documents, seed=1)
    with running_worker(stage.servers) as worker:
        await stage.observer.until_ended(seconds=_PATIENCE_SECONDS, check=worker.require_alive)


async def _fill(stage: Stage, members: tuple[Member, ...], documents: int, seed: int) -> None:
    """Bring the backlog to at least so many documents."""
    waiting = sum(not each.ended for each in await stage.observer.contents())
    for place, member in enumerate(members):
        await _upload(member, max(0, documents - waiting) // len(members), seed + place * 1_000)


async def _upload(member: Member, documents: int, seed: int) -> None:
    files = [(f"{number}.pdf", texts.pdf(_PAGES_A_DOCUMENT, number)) for number in range(seed, seed + documents)]
    await member.upload_all(files)


async def _ask(member: Member, questions: Iterator[str], count: int) -> list[float]:
    return [await member.ask(next(questions)) for _ in range(count)]


async def _ask_while_ingesting(stage: Stage, member: Member, questions: Iterator[str], count: int) -> list[float]:
    with running_worker(stage.servers) as worker:
        while not any(each.status == "embedding" for each in await stage.observer.contents()):
            worker.require_alive()
            await asyncio.sleep(0.05)
        seconds = await _ask(member, questions, count)
        if all(each.ended for each in await stage.observer.contents()):
            raise NotMeasurableError("the worker ran out of work before all questions were asked")
    return seconds
