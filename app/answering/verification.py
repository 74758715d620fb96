"""Decides which drafted claims may be shown. Pure; each claim stands or falls alone."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from app.answering.claims import Citation, Claim, Draft, DraftClaim, DraftQuote
from app.answering.folding import fold
from app.answering.quotes import PageSpan, locate, split_by_page
from app.core.identifiers import missing_identifiers
from app.core.ids import ChunkId
from app.retrieval.types import Passage

_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")

Located = tuple[Passage, PageSpan]


def verify(draft: Draft, passages: Sequence[Passage], question: str) -> Iterator[Claim]:
    """Yield the claims that hold, with citations numbered by us from 1 in the order of appearance.

    Args:
        draft: What an answerer proposes.
        passages: What it was given; a quote from anything else does not count.
        question: Its identifiers and numbers may be repeated in a claim.
    """
    known = {passage.chunk_id: passage for passage in passages}
    number = 1
    for drafted in draft.claims:
        located = _evidence(drafted, known)
        if located and is_carried(drafted.text, [span.quote for _, span in located], question):
            citations = tuple(_cite(number + n, *found) for n, found in enumerate(located))
            number += len(citations)
            yield Claim(drafted.text, citations)


def is_carried(text: str, quotes: Iterable[str], question: str) -> bool:
    """Tell whether each identifier and number of a claim stands in its quotes or in the question."""
    ground = [*quotes, question]
    numbers = {number for part in ground for number in _NUMBER.findall(fold(part).text)}
    return not missing_identifiers(text, ground) and numbers.issuperset(_NUMBER.findall(fold(text).text))


def _evidence(claim: DraftClaim, passages: Mapping[ChunkId, Passage]) -> list[Located] | None:
    """Return where the quotes of a claim stand, or None when one of them stands nowhere."""
    located: list[Located] = []
    for quote in claim.quotes:
        found = _locate_quote(quote, passages)
        if not found:
            return None
        located.extend(found)
    return located


def _locate_quote(quote: DraftQuote, passages: Mapping[ChunkId, Passage]) -> list[Located]:
    passage = passages.get(quote.chunk_id)
    span = locate(quote.text, passage.text) if passage else None
    if passage is None or span is None:
        return []
    return [(passage, part) for part in split_by_page(passage, *span)]


def _cite(number: int, passage: Passage, span: PageSpan) -> Citation:
    return Citation(
        n=number,
        chunk_id=passage.chunk_id,
        document_id=passage.document_id,
        document_name=passage.document_name,
        version_id=passage.version_id,
        page=span.page,
        start=span.start,
        end=span.end,
        quote=span.quote,
    )
