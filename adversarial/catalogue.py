"""Every case of the suite."""

from adversarial.attacks import http, ids, orders, restricted, rows, texts, tokens, uploads, workspaces
from adversarial.cases import Case, registered

MODULES = (http, ids, orders, restricted, rows, texts, tokens, uploads, workspaces)
"""Importing a module registers its cases."""


def every_case() -> tuple[Case, ...]:
    """Return all cases, families together."""
    return registered()
