import asyncio

from app.api.readiness import ReadinessProbe
from app.core.errors import ConfigurationError


class Part:
    """A part that can be broken; counts how often it is looked at."""

    def __init__(self) -> None:
        self.looks = 0
        self.broken = False

    async def __call__(self) -> None:
        self.looks += 1
        await asyncio.sleep(0)
        if self.broken:
            raise ConfigurationError("It is broken.")


async def test_a_hundred_questions_within_a_second_cause_one_look() -> None:
    part, now = Part(), [0.0]
    probe = ReadinessProbe({"part": part}, lambda: now[0])
    answers = await asyncio.gather(*(probe.readiness() for _ in range(100)))
    assert all(answer.ready for answer in answers)
    assert part.looks == 1
    part.broken, now[0] = True, 1.0
    answer = await probe.readiness()
    assert (answer.ready, dict(answer.checks)) == (False, {"part": "It is broken."})


async def test_one_broken_part_is_enough() -> None:
    good, bad = Part(), Part()
    bad.broken = True
    answer = await ReadinessProbe({"good": good, "bad": bad}).readiness()
    assert not answer.ready
    assert answer.checks["good"] == "ok"


async def test_a_spared_part_is_told_and_does_not_decide() -> None:
    good, bad = Part(), Part()
    bad.broken = True
    answer = await ReadinessProbe({"good": good, "bad": bad}, spared=frozenset({"bad"})).readiness()
    assert answer.ready
    assert answer.checks["bad"] == "It is broken."
    good.broken = True
    assert not (await ReadinessProbe({"good": good, "bad": bad}, spared=frozenset({"bad"})).readiness()).ready
