"""The sentences and numbered items of passages that might answer a question. Pure."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from app.answering.questions import Question, absent_identifiers, bare_name, name_identifiers
from app.answering.words import content_stems
from app.core.sentences import sentence_spans
from app.retrieval.types import Passage

MAX_SENTENCES = 16
"""Embedding them is most of the time of an answer. Measured on 343 answerable questions held out from tuning: the
right sentence comes first as often with 16 (0.68, 0.71, 0.66 on squad2-a, clapnq-a, mtrag-a) as with 24."""
_SHORTEST = 12  # characters; what is shorter is a heading or a stray table cell
_FEWEST_WORDS = 5  # of a sentence that does not end in a sign
_NEXT_NUMBER = re.compile(r"(?m)^[ \t]*(?:[A-Z]\d*\.)?\d+(?:\.\d+)+\b")
_ITEM_END = re.compile(r"[.!?](?=[\s\u201d\"')]|$)")


@dataclass(frozen=True, slots=True)
class Candidate:
    """One run of a passage.

    Attributes:
        place: Index of its passage in the search result, from 0.
        start: Offset in the passage's text.
        end: Offset after it.
        stems: Stems of its content words.
        context_stems: The same with the sentence before, the heading and the document's name.
        passage_stems: Those of the whole passage, with the heading and the document's name.
        is_item: Whether it is the whole of a numbered item that the question names.
    """

    passage: Passage
    place: int
    start: int
    end: int
    stems: frozenset[str]
    context_stems: frozenset[str]
    passage_stems: frozenset[str]
    is_item: bool = False

    @property
    def text(self) -> str:
        """The run, verbatim."""
        return self.passage.text[self.start : self.end]


def find_candidates(
    question: Question, passages: Sequence[Passage], limit: int = MAX_SENTENCES
) -> tuple[Candidate, ...]:
    """Return the runs that may answer: numbered items that the question names, then sentences.

    Sentences beyond the limit are left out by fewest shared words, so that the work for one question is bounded.
    """
    eligible = _holding_identifiers(question, passages)
    items = [item for place, passage in eligible for item in _items(question, passage, place)]
    covered = {(item.passage.chunk_id, item.start) for item in items}
    sentences = [
        sentence
        for place, passage in eligible
        for sentence in _sentences(passage, place)
        if (passage.chunk_id, sentence.start) not in covered and _says_something(sentence, question)
    ]
    sentences.sort(key=lambda each: -len(each.context_stems & question.stems) + each.place / 2)
    return tuple(islice((*items, *sentences), limit))


def _holding_identifiers(question: Question, passages: Sequence[Passage]) -> list[tuple[int, Passage]]:
    """Keep passages of the document that the question names, which hold all its other identifiers.

    A number is never a synonym: what 2.13 says is not answered by 2.14, nor ASVS 3.0 by ASVS 3.0.1.
    """
    names = [name_identifiers(passage.document_name) & question.identifiers for passage in passages]
    most = max(map(len, names), default=0)
    return [
        (place, passage)
        for place, passage in enumerate(passages)
        if len(names[place]) == most and not absent_identifiers(question, _surroundings(passage))
    ]


def _says_something(candidate: Candidate, question: Question) -> bool:
    """Whether a run says more than the question does, and is no heading."""
    is_heading = candidate.text[-1].isalnum() and len(candidate.text.split()) < _FEWEST_WORDS
    return not is_heading and not candidate.stems <= question.stems


def _surroundings(passage: Passage) -> tuple[str, ...]:
    return bare_name(passage.document_name), passage.heading, passage.text


def _sentences(passage: Passage, place: int) -> Iterator[Candidate]:
    around = content_stems(f"{passage.heading} {bare_name(passage.document_name)}")
    whole = content_stems(passage.text) | around
    before: frozenset[str] = frozenset()
    for start, end in sentence_spans(passage.text):
        run = passage.text[start:end]
        begin, stop = start + len(run) - len(run.lstrip()), start + len(run.rstrip())
        stems = content_stems(run)
        if stop - begin >= _SHORTEST:
            yield Candidate(passage, place, begin, stop, stems, stems | before | around, whole)
        before = stems


def _items(question: Question, passage: Passage, place: int) -> Iterator[Candidate]:
    """Yield the item that begins with an identifier of the question, up to where the next number begins."""
    around = content_stems(f"{passage.heading} {bare_name(passage.document_name)}")
    for identifier in sorted(question.identifiers - name_identifiers(passage.document_name)):
        if "." not in identifier or not (found := _item_start(identifier).search(passage.text)):
            continue
        following = _NEXT_NUMBER.search(passage.text, found.end())
        block = passage.text[found.end() : following.start() if following else len(passage.text)]
        if length := _item_length(block):
            stems = content_stems(block[:length])
            whole = content_stems(passage.text) | around
            end = found.end() + length
            yield Candidate(passage, place, found.end(), end, stems, stems | around, whole, is_item=True)


def _item_start(identifier: str) -> re.Pattern[str]:
    """Match an identifier at the start of a line, with what may stand before and after it in a list."""
    return re.compile(rf"(?im)^[ \t#*|(\[]*(?:[a-z]+[ \t]+)?{re.escape(identifier)}\b[.:)\]|]*\s+(?=\w)")


def _item_length(block: str) -> int:
    """Return how much of a block is its text: up to its last full stop, so that table cells after it are left out."""
    ends = [match.end() for match in _ITEM_END.finditer(block)]
    length = ends[-1] if ends else len(block.rstrip())
    return length if length >= _SHORTEST else 0
