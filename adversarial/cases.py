"""Cases: each attacks the service once, says what it saw, and passes only when the service held."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum

from adversarial.world import World

Attack = Callable[[World], Awaitable[str]]


class Family(StrEnum):
    """What a case is about."""

    TOKENS = "tokens"
    WORKSPACES = "workspaces"
    IDS = "ids"
    RESTRICTED = "restricted"
    ROWS = "rows"
    ORDERS = "orders"
    TEXTS = "texts"
    UPLOADS = "uploads"
    HTTP = "http"


class Sabotage(StrEnum):
    """A way to break the service on purpose, in order to see that a case notices."""

    NO_WALLS = "no_walls"
    NO_SIGNATURES = "no_signatures"
    NO_RESTRICTIONS = "no_restrictions"
    OBEDIENT = "obedient"


@dataclass(frozen=True, slots=True)
class Case:
    """One attack.

    Attributes:
        expectation: What the service must do, in words.
        attack: Runs it; returns what was seen, or raises `Breach`.
        falls_to: The sabotage under which this case must fail, if it was chosen as a proof.
    """

    family: Family
    name: str
    expectation: str
    attack: Attack
    falls_to: Sabotage | None


_CASES: list[Case] = []


def case(family: Family, expectation: str, *, falls_to: Sabotage | None = None) -> Callable[[Attack], Attack]:
    """Register an attack under the name of its function."""

    def register(attack: Attack) -> Attack:
        name = getattr(attack, "__name__", "").replace("_", " ")
        if any(known.name == name for known in _CASES):
            raise ValueError(f"two cases are called {name}")
        _CASES.append(Case(family, name, expectation, attack, falls_to))
        return attack

    return register


def registered() -> tuple[Case, ...]:
    """Return the cases, families together."""
    order = list(Family)
    return tuple(sorted(_CASES, key=lambda known: order.index(known.family)))
