"""The extractive answerer: reads passages with the embedder only."""

from collections.abc import Sequence

from app.answering.candidates import find_candidates
from app.answering.claims import Draft
from app.answering.extractive import Scored, draft_part, score_candidates
from app.answering.questions import Question, read_question
from app.answering.thresholds import Thresholds
from app.llm.types import Embedder
from app.retrieval.types import Passage


class ExtractiveReader:
    """Finds the sentence of some passages that answers a question.

    The work is bounded: at most `candidates.MAX_SENTENCES` sentences are embedded.
    """

    def __init__(self, embedder: Embedder, thresholds: Thresholds) -> None:
        self._embedder = embedder
        self._thresholds = thresholds

    async def draft(self, text: str, passages: Sequence[Passage]) -> Draft:
        """Return one verbatim claim, or the question as missing."""
        question = read_question(text)
        return draft_part(question, await self.judge(question, passages), self._thresholds)

    async def judge(self, question: Question, passages: Sequence[Passage]) -> tuple[Scored, ...]:
        """Return every candidate of the passages, judged, best first."""
        candidates = find_candidates(question, passages)
        if not candidates:
            return ()
        question_vector = await self._embedder.embed_query(question.text)
        vectors = await self._embedder.embed_passages([candidate.text for candidate in candidates])
        return score_candidates(question, candidates, question_vector, vectors, self._thresholds)
