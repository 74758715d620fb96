"""Ids as people type them."""

import uuid


def canonical(text: str) -> str | None:
    """Return an id in the one form that the service writes, or None when the text is no id."""
    try:
        return str(uuid.UUID(text.strip()))
    except ValueError:
        return None
