"""What the service's codes mean, in words."""

from collections.abc import Mapping
from typing import Any

_OUTCOMES = {
    "created": "new document",
    "identical": "already there, unchanged",
    "new_version": "new version of a document",
    "same_content": "same content as another document",
}
STILL_INDEXING = "still_indexing"
FINAL_STATES = frozenset({"ready", "failed"})
_ABSTENTIONS = {
    "no_documents": (
        "There is nothing to answer from: this workspace has no documents that you may read.",
        "Add some with `groundeddocs upload FILES...`.",
    ),
    STILL_INDEXING: (
        "The documents are still being read.",
        "Ask again when `groundeddocs documents` shows them as ready.",
    ),
    "no_evidence": (
        "Nothing in the documents is about this question.",
        "Upload the document you have in mind, or ask with words that it uses.",
    ),
    "insufficient_evidence": (
        "The documents touch on this question, but none of them answers it.",
        "Ask more narrowly, or upload the document that says it. `groundeddocs search` shows the nearest passages.",
    ),
    "unverified": (
        "An answer was drafted, but no quote in the documents proves it, so it is not shown.",
        "`groundeddocs search` shows the nearest passages; judge for yourself.",
    ),
    "budget": (
        "The budget for answers is used up.",
        "Wait until it resets, or ask an owner of the workspace to raise it.",
    ),
    "out_of_scope": (
        "This is not a question that documents can answer.",
        "Ask about what your documents say.",
    ),
}
_STAGES = {
    "queued": "waiting for a worker",
    "parsing": "reading",
    "chunking": "splitting into passages",
    "embedding": "making it searchable",
    "ready": "ready",
    "failed": "failed",
}
_UNKNOWN = ("The service gave no answer.", "Ask in other words, or try again later.")


def outcome(code: str) -> str:
    """Return what an upload turned out to be."""
    return _OUTCOMES.get(code, code)


def counted(count: int, names: str) -> str:
    """Return a count with its noun, which is given in the plural: `1 version`, `2 versions`.

    Args:
        count: How many.
        names: The noun in the plural, as the service names a place.
    """
    noun = names.replace("_", " ")
    return f"{count:,} {noun.removesuffix('s') if count == 1 else noun}"


def abstention(reason: str | None, unread: int = 0) -> tuple[str, str]:
    """Return why there is no answer, and what would help.

    Args:
        reason: The service's code.
        unread: How many documents are still being read; 0 when that was not asked.
    """
    why, help_words = _ABSTENTIONS.get(reason or "", _UNKNOWN)
    if reason == STILL_INDEXING and unread:
        why = f"{counted(unread, 'documents')} {'is' if unread == 1 else 'are'} still being read."
    return why, help_words


def state_of(document: Mapping[str, Any]) -> str:
    """Return how far a document is, with the reason when it failed."""
    status = str(document["status"])
    if status == "failed":
        return f"failed: {failure_of(document)}"
    words, total = _STAGES.get(status, status), document.get("total") or 0
    return f"{words} {document.get('done') or 0}/{total}" if total and status != "ready" else words


def failure_of(document: Mapping[str, Any]) -> str:
    """Return why a document failed."""
    return str(document.get("detail") or document.get("reason") or "the service gave no reason")
