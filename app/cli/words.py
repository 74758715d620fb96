"""What the service's codes mean, in words."""

from collections.abc import Iterable, Mapping
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
_FAILURES = {
    "encrypted": ("encrypted", "Remove the password and upload them again."),
    "no_text": ("without text", "Nothing in them can be quoted; a scan needs its text recognised (OCR)."),
    "low_text_quality": ("unreadable text", "Export them anew, or recognise their text (OCR)."),
    "corrupt": ("damaged", "Save or export them anew and upload them again."),
    "too_many_pages": ("too many pages", "Split them and upload the parts."),
    "too_many_characters": ("too much text", "Split them and upload the parts."),
    "too_many_passages": ("too many passages", "Split them and upload the parts."),
    "unpacked_too_large": ("too large when unpacked", "Save them anew, or split them."),
    "parse_timeout": ("took too long to read", "Split them, or save them anew."),
    "parse_memory": ("took too much memory to read", "Split them, or save them anew."),
    "unsupported": ("of a type that cannot be read", "What to do depends on the type, and is said with each above."),
    "unsupported_media_type": (
        "of a type that cannot be read",
        "What to do depends on the type, and is said with each above.",
    ),
    "document_too_large": ("too large", "Split them and upload the parts."),
    "document_empty": ("empty", "There is nothing in them to upload."),
    "unreadable": ("not readable on this machine", "Check that they are still there and that you may read them."),
    "deleted": ("deleted meanwhile", "Upload them again if that was not meant."),
    "unavailable": ("refused while the service was busy", "Run the same command again."),
    "worker_lost": ("stopped the worker", "Save them anew; if that does not help, tell an operator."),
    "file_missing": ("lost by the service", "Delete the documents and upload them again."),
    "embedding_failed": ("refused by the embedding model", "Upload them again later, or tell an operator."),
    "internal": ("failed inside the service", "Try `groundeddocs documents retry ID` later."),
}
_OTHER_FAILURE = ("for other reasons", "What was said about each is above.")
_MINUTE, _HOUR = 60, 3_600
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
    if status == "queued" and document.get("detail"):
        words = f"{words}; {document['detail']}"
    return f"{words} {document.get('done') or 0}/{total}" if total and status != "ready" else words


def changing_model(reembedding: Mapping[str, Any]) -> str:
    """Return how far a workspace's change to another embedding model is."""
    done, total = reembedding["done"], counted(reembedding["total"], "passages")
    model = reembedding.get("model") or "another model"
    return f"{done:,} of {total} embedded with {model}, which replaces this one when all are"


def embedders(offered: Iterable[Mapping[str, Any]]) -> str:
    """Return what a workspace can choose to be embedded by."""
    return ", ".join(f"{each['name']} ({each['model'] or 'its server has not answered yet'})" for each in offered)


def failure(reason: str | None) -> tuple[str, str]:
    """Return why files failed in a few words that follow a count, and what to do about them.

    Args:
        reason: The service's code for a document or a refusal.
    """
    return _FAILURES.get(reason or "", _OTHER_FAILURE)


def time_left(seconds: float) -> str:
    """Return a time in the round numbers that an estimate deserves."""
    if seconds < _MINUTE:
        return "less than a minute left"
    if seconds < _HOUR:
        return f"about {counted(round(seconds / _MINUTE), 'minutes')} left"
    return f"about {counted(round(seconds / _HOUR), 'hours')} left"


def failure_of(document: Mapping[str, Any]) -> str:
    """Return why a document failed."""
    return str(document.get("detail") or document.get("reason") or "the service gave no reason")
