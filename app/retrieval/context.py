"""Which of the passages that were found an answerer gets, and what becomes of the others. Pure.

A passage is left out as a repetition only when it says nothing new: two documents that contradict each other in one
word are both needed to notice it, and numbers are never near to each other. Of passages that are almost the same,
two are given, so that a tenth revision of one page does not take the places of everything else.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from app.core.identifiers import extract_identifiers, name_identifiers
from app.core.ids import ChunkId, DocumentId
from app.retrieval.types import Passage

_SHINGLE = 3
_COMPARES = re.compile(
    r"\b(?:compar|differ|versus\b|vs\b|contrast|vergl|untersch(?:ied|eid)|différ|diferen)"
    r"|\bchang\w*\s+(?:between|from|since)\b|比[較较]|差[異异]|違い|区[別别]",
    re.IGNORECASE,
)
# Punctuation says nothing, but for what stands at a number: "-5" and "1.5" are neither "5" nor "15".
_UNSAID = re.compile(
    r"[-\u2010-\u2015.,:;!?'\"\u2018-\u201f\u00ab\u00bb()\[\]{}|*#\u2022\u00b7\u2026]"
    r"(?:(?<!\d.)(?!\s?\d)|(?<=[.,:;!?])(?!\S))"
)
_DIGIT = re.compile(r"\d")


@dataclass(frozen=True, slots=True)
class ContextSettings:
    """How much an answerer gets for one question.

    Attributes:
        candidates: Passages that are looked at, best first.
        hits: Most of them that are given for their rank.
        tokens: Most tokens of all that is given, as `Passage.token_count` counts them. A passage has at most 240, so
            that eight always fit.
        neighbours: Most passages that are added from beside the best ones; 0 adds none. They are for answerers that
            read: one that picks a sentence gets more sentences to pick wrongly from.
        centres: How many of the best passages get neighbours.
        alike: Most passages with almost the same words that are given.
        likeness: Share of the runs of three words that two passages must have in common for that.
    """

    candidates: int = 24
    hits: int = 8
    tokens: int = 2_400
    neighbours: int = 0
    centres: int = 3
    alike: int = 2
    likeness: float = 0.85

    def __post_init__(self) -> None:
        if min(self.hits, self.tokens, self.centres, self.alike) < 1 or self.candidates < self.hits:
            raise ValueError("limits must be at least 1, and candidates at least as many as hits")
        if self.neighbours < 0 or not 0 < self.likeness <= 1:
            raise ValueError("neighbours must not be negative, likeness is a share above 0")


class Fate(StrEnum):
    """What became of a passage."""

    GIVEN = "given"
    NEIGHBOUR = "neighbour"
    DUPLICATE = "duplicate"
    BUDGET = "budget"
    RANK = "rank"


@dataclass(frozen=True, slots=True)
class Considered:
    """A passage and what became of it.

    Attributes:
        rank: Its place in the search, from 1; None for a neighbour that the search did not bring.
        duplicate_of: For a repetition, the passage that was given instead.
    """

    passage: Passage
    rank: int | None
    fate: Fate
    duplicate_of: ChunkId | None = None


@dataclass(frozen=True, slots=True)
class Context:
    """What an answerer gets for one question.

    Attributes:
        passages: Hits by rank, then neighbours.
        fates: Every passage that was looked at, by rank, each once; then neighbours that the search did not bring.
    """

    passages: tuple[Passage, ...]
    fates: tuple[Considered, ...]


def choose(question: str, ranked: Sequence[Passage], settings: ContextSettings) -> Context:
    """Return the passages that are given for their rank, without repetitions.

    When the question compares, or names several documents, each document gets a fair share of the places before any
    gets more, the best passage of each named document is given, and documents do not repeat each other.

    Args:
        question: What is asked; its words tell whether it compares.
        ranked: What was found, best first, each passage once.
        settings: Limits.
    """
    asked = frozenset(extract_identifiers(question))
    names = {passage.document_id: asked.intersection(name_identifiers(passage.document_name)) for passage in ranked}
    named = _named_documents(names)
    compares = bool(named) or _COMPARES.search(question) is not None
    ranks = {passage.chunk_id: rank for rank, passage in enumerate(ranked, 1)}
    given: list[_Folded] = []
    fates: list[Considered] = []
    tokens = 0
    for passage in _spread(ranked, named, settings.hits) if compares else ranked:
        rank, folded = ranks[passage.chunk_id], _fold(passage)
        rivals = [each for each in given if _may_repeat(passage, each.passage, names, compares=compares)]
        if repeated := _repeated(folded, rivals, settings):
            fates.append(Considered(passage, rank, Fate.DUPLICATE, repeated.passage.chunk_id))
        elif len(given) == settings.hits:
            fates.append(Considered(passage, rank, Fate.RANK))
        elif tokens + passage.token_count > settings.tokens:
            fates.append(Considered(passage, rank, Fate.BUDGET))
        else:
            given.append(folded)
            tokens += passage.token_count
            fates.append(Considered(passage, rank, Fate.GIVEN))
    fates.sort(key=lambda each: each.rank or 0)
    return Context(tuple(each.passage for each in fates if each.fate is Fate.GIVEN), tuple(fates))


def widen(context: Context, around: Iterable[Passage], settings: ContextSettings) -> Context:
    """Return the context with what stands beside its best passages under the same headings, while there is room.

    Args:
        context: What `choose` returned.
        around: Chunks of the same contents, among them the neighbours.
        settings: Limits.
    """
    known = {each.passage.chunk_id: each for each in context.fates}
    beside = {(passage.content_sha256, passage.ordinal): passage for passage in around}
    given = [_fold(passage) for passage in context.passages]
    added: dict[ChunkId, Considered] = {}
    tokens = sum(passage.token_count for passage in context.passages)
    for centre in context.passages[: settings.centres]:
        for step in (1, -1):  # what follows explains more often than what goes before
            found = beside.get((centre.content_sha256, centre.ordinal + step))
            if found is None or _path(found.heading) != _path(centre.heading) or len(added) == settings.neighbours:
                continue
            before = known.get(found.chunk_id, Considered(found, None, Fate.RANK))
            if found.chunk_id in added or before.fate in {Fate.GIVEN, Fate.DUPLICATE}:
                continue
            folded = _fold(before.passage)
            own = [each for each in given if each.passage.document_id == centre.document_id]
            if tokens + found.token_count <= settings.tokens and not _repeated(folded, own, settings):
                given.append(folded)
                tokens += found.token_count
                added[found.chunk_id] = Considered(before.passage, before.rank, Fate.NEIGHBOUR)
    fates = {**known, **added}
    return Context(tuple(each.passage for each in given), tuple(fates.values()))


def _named_documents(names: Mapping[DocumentId, frozenset[str]]) -> frozenset[DocumentId]:
    """Return the documents that a question tells apart by its identifiers; none when it names one or none.

    Of "3.1 of 2024" and documents called 2024 and 2024-3.1, only the second is named: it is called by more of it.
    """
    called = {names_of for names_of in names.values() if names_of}
    fullest = {each for each in called if not any(each < other for other in called)}
    if len(fullest) < 2:  # noqa: PLR2004 - one name tells nothing apart
        return frozenset()
    return frozenset(document for document, called_by in names.items() if called_by in fullest)


def _spread(ranked: Sequence[Passage], named: frozenset[DocumentId], hits: int) -> tuple[Passage, ...]:
    """Return the best passage of each named document, then a share of each document, then the rest; each by rank."""
    share = math.ceil(hits / max(2, len(named)))
    first: list[Passage] = []
    within: list[Passage] = []
    rest: list[Passage] = []
    taken: Counter[DocumentId] = Counter()
    for passage in ranked:
        document = passage.document_id
        if document in named and not taken[document]:
            first.append(passage)
        elif taken[document] < share:
            within.append(passage)
        else:
            rest.append(passage)
        taken[document] += 1
    return (*first, *within, *rest)


@dataclass(frozen=True, slots=True)
class _Folded:
    """A passage in the form in which it is compared.

    Attributes:
        text: Its words in lower case with single spaces, one at each end.
        heading: The same of its heading.
        numbers: Those of its words that hold a digit, of the heading too.
        shingles: Its runs of three words.
    """

    passage: Passage
    text: str
    heading: str
    numbers: frozenset[str]
    shingles: frozenset[tuple[str, ...]]


def _fold(passage: Passage) -> _Folded:
    words, heading = _words(passage.text), _words(passage.heading)
    return _Folded(
        passage,
        f" {' '.join(words)} ",
        f" {' '.join(heading)} ",
        frozenset(word for word in (*words, *heading) if _DIGIT.search(word)),
        frozenset(zip(*(words[n:] for n in range(min(_SHINGLE, len(words)))), strict=False)),
    )


def _words(text: str) -> list[str]:
    return _UNSAID.sub(" ", text.casefold()).split()


def _may_repeat(
    passage: Passage, given: Passage, names: Mapping[DocumentId, frozenset[str]], *, compares: bool
) -> bool:
    """Whether one passage could stand for the other: not when the question tells their documents apart."""
    if passage.document_id == given.document_id:
        return True
    return not compares and names[passage.document_id] == names[given.document_id]


def _repeated(folded: _Folded, given: Sequence[_Folded], settings: ContextSettings) -> _Folded | None:
    """Return which given passage one repeats: it says nothing that the other does not, or is one of too many alike."""
    for other in given:
        if folded.text in other.text and (folded.heading in other.heading or not folded.heading.strip()):
            return other
    alike = [other for other in given if _is_alike(folded, other, settings.likeness)]
    return alike[0] if len(alike) >= settings.alike else None


def _is_alike(one: _Folded, other: _Folded, likeness: float) -> bool:
    if one.numbers != other.numbers or one.heading != other.heading:
        return False
    shared = len(one.shingles & other.shingles)
    return shared >= likeness * (len(one.shingles) + len(other.shingles) - shared)


def _path(heading: str) -> tuple[str, ...]:
    """Return the headings of a chunk without the table header that a part of a cut table has after them."""
    parts = heading.split(" > ")
    return tuple(parts[: next((n for n, part in enumerate(parts) if " | " in part), len(parts))])
