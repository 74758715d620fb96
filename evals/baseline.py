"""A plain hybrid search to compare with: words and meaning fused, and no more. In memory; knows nothing of the service.

Passages are runs of 160 words without overlap or structure. Words are what stands between characters that are not
letters, digits or underscores, in lower case, so that 11.4.1 is three numbers. BM25 has its usual constants, the
vectors are those of the local embedder, and both rankings weigh the same. Identifiers are read nowhere.
"""

import asyncio
import itertools
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from app.llm.types import Embedder, Vectors
from evals.matching import Found

_PASSAGE_WORDS = 160
_K1 = 1.2
_B = 0.75
_RRF_K = 60
_ARM_LIMIT = 50
"""Passages that each ranking brings, as many as in the service."""
_BATCH = 32
_WORD = re.compile(r"\w+")
_RUN = re.compile(r"\S+")

Scores = NDArray[np.float64]


class PlainHybrid:
    """BM25 and vectors over the same passages, fused by reciprocal ranks (Cormack et al. 2009).

    Args:
        passages: All passages.
        vectors: Their unit vectors, in the same order; shape `(len(passages), dimension)`.
        embedder: The model that made them.
    """

    def __init__(self, passages: Sequence[Found], vectors: Vectors, embedder: Embedder) -> None:
        self._passages = passages
        self._vectors = vectors
        self._embedder = embedder
        self._words = Bm25([passage.text for passage in passages])

    @classmethod
    async def build(cls, texts: Mapping[str, str], embedder: Embedder, progress: Callable[[str], None]) -> Self:
        """Cut and embed texts; takes as long as loading them did.

        Args:
            texts: The text of each file by its name.
            embedder: The model.
            progress: Told how far the embedding has come.
        """
        passages = [Found(file, passage) for file, text in texts.items() for passage in cut(text)]
        parts = [np.zeros((0, embedder.dimension), np.float32)]
        for start in range(0, len(passages), _BATCH):
            batch = passages[start : start + _BATCH]
            parts.append(await embedder.embed_passages([passage.text for passage in batch]))
            progress(f"plain: embedded {start + len(batch)}/{len(passages)} passages")
        return cls(passages, np.concatenate(parts), embedder)

    async def search(self, question: str, limit: int) -> list[Found]:
        """Return the best passages, best first."""
        vector = await self._embedder.embed_query(question)
        return await asyncio.to_thread(self._ranked, question, vector, limit)

    def _ranked(self, question: str, vector: Vectors, limit: int) -> list[Found]:
        by_words = self._words.scores(question)
        by_meaning = self._vectors @ vector
        rankings = ([at for at in best(by_words, _ARM_LIMIT) if by_words[at] > 0], best(by_meaning, _ARM_LIMIT))
        return [self._passages[at] for at in fuse(rankings)[:limit]]


class Bm25:
    """Scores passages by the words that they share with a question (Robertson and Zaragoza 2009, without negatives)."""

    def __init__(self, texts: Sequence[str]) -> None:
        counts = [Counter(words(text)) for text in texts]
        lengths = np.array([each.total() for each in counts], np.float64)
        norms = _K1 * (1 - _B + _B * lengths / max(lengths.mean(), 1.0)) if texts else lengths
        places: defaultdict[str, list[int]] = defaultdict(list)
        for at, each in enumerate(counts):
            for word in each:
                places[word].append(at)
        self._size = len(texts)
        self._postings = {
            word: (np.array(at), _weights(np.array([counts[n][word] for n in at]), norms[at], len(texts)))
            for word, at in places.items()
        }

    def scores(self, question: str) -> Scores:
        """Return the score of each passage; 0 where it shares no word."""
        total = np.zeros(self._size)
        for word in dict.fromkeys(words(question)):
            if word in self._postings:
                at, weights = self._postings[word]
                total[at] += weights
        return total


def cut(text: str) -> list[str]:
    """Cut a text after every 160 words; the white space between two passages is in neither."""
    runs = list(_RUN.finditer(text))
    pieces = itertools.groupby(enumerate(runs), key=lambda numbered: numbered[0] // _PASSAGE_WORDS)
    matches = [[match for _, match in piece] for _, piece in pieces]
    return [text[piece[0].start() : piece[-1].end()] for piece in matches]


def words(text: str) -> list[str]:
    """Return the words of a text as the plain search reads them."""
    return _WORD.findall(text.lower())


def best(scores: NDArray[np.floating], limit: int) -> list[int]:
    """Return the places of the highest scores, highest first; equal ones in their order."""
    return [int(at) for at in np.argsort(-scores, kind="stable")[:limit]]


def fuse(rankings: Sequence[Sequence[int]]) -> list[int]:
    """Return what several rankings hold, by the sum of `1 / (60 + rank)`; equal sums in the order of the rankings."""
    total: defaultdict[int, float] = defaultdict(float)
    for ranking in rankings:
        for rank, at in enumerate(ranking, 1):
            total[at] += 1 / (_RRF_K + rank)
    return sorted(total, key=lambda at: -total[at])


def _weights(counts: NDArray[np.int64], norms: Scores, size: int) -> Scores:
    rarity = math.log(1 + (size - len(counts) + 0.5) / (len(counts) + 0.5))
    return np.asarray(rarity * counts * (_K1 + 1) / (counts + norms))
