"""How an answer is shown: claims with their quotes, or why there is none."""

from collections.abc import Mapping, Sequence
from typing import Any

from app.cli import output
from app.cli.words import abstention


def print_claim(claim: Mapping[str, Any]) -> None:
    """Print one claim with each quote and where it stands."""
    output.print_line(output.neutral(claim["text"]), "bold")
    if claim.get("conflict") is not None:
        output.print_line(f"The documents contradict each other here (conflict {claim['conflict']}).", "yellow", 2)
    for citation in claim["citations"]:
        output.print_line(f"[{citation['n']}] “{output.neutral(citation['quote'])}”", indent=2)
        output.print_line(f"{output.neutral(citation['document_name'])}, page {citation['page']}", "dim", 6)
    output.print_line()


def print_rest(answer: Mapping[str, Any], shown: int, unread: int = 0) -> None:
    """Print what of an answer was not shown while it came.

    Args:
        answer: The whole answer.
        shown: How many of its claims were printed already.
        unread: How many documents are still being read; matters when that is why there is no answer.
    """
    claims: Sequence[Mapping[str, Any]] = answer["claims"]
    for claim in claims[shown:]:
        print_claim(claim)
    if answer["status"] == "abstained":
        why, help_words = abstention(answer.get("reason"), unread)
        output.print_line(why)
        output.print_line(help_words)
        return
    for missing in answer.get("missing") or ():
        output.print_line(f"The documents do not say: {output.neutral(missing)}")
    output.print_line(provenance(answer), "dim")


def provenance(answer: Mapping[str, Any]) -> str:
    """Return where an answer came from, in one line."""
    quotes = sum(len(claim["citations"]) for claim in answer["claims"])
    cache = answer.get("cache") or {}
    layer = cache.get("layer", "none")
    age = f", stored {cache['stored_at']}" if cache.get("stored_at") else ""
    origin = "fresh" if layer == "none" else f"from the {layer} cache{age} (--no-cache for a fresh one)"
    return f"{output.plural(quotes, 'verified quote')} · {origin} · {answer.get('model')}"


def print_passage(number: int, passage: Mapping[str, Any]) -> None:
    """Print where one passage of a search stands, and the part of it that shows why it was found."""
    first, last = passage["page"], passage.get("page_end") or passage["page"]
    pages = f"page {first}" if last == first else f"pages {first} to {last}"
    heading = f" · {passage['heading']}" if passage.get("heading") else ""
    output.print_line(output.neutral(f"{number}. {passage['document_name']}, {pages}{heading}"), "bold")
    before = "… " if passage["snippet_start"] > 0 else ""
    after = " …" if passage["snippet_end"] < len(passage["text"]) else ""
    output.print_line(f"{before}{passage['snippet']}{after}", indent=3)
    output.print_line()
