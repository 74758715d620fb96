import math
from collections.abc import Sequence

import numpy as np
import pytest

from app.llm.types import Vectors
from evals.baseline import Bm25, PlainHybrid, best, cut, fuse, words
from evals.matching import Found

TEXTS = {
    "canal.txt": "The canal joins two lakes.",
    "mill.txt": "The mill saws timber, and timber floats down the canal.",
    "permit.txt": "Boats need a permit from the harbour office.",
}


class ByLetter:
    """Texts that begin with the same letter mean the same."""

    model_id = "by-letter"
    dimension = 26

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return np.array([await self.embed_query(text) for text in texts], np.float32)

    async def embed_query(self, text: str) -> Vectors:
        vector = np.zeros(self.dimension, np.float32)
        vector[ord(text[0].lower()) - ord("a")] = 1
        return vector


async def plain(texts: dict[str, str]) -> PlainHybrid:
    return await PlainHybrid.build(texts, ByLetter(), lambda _line: None)


def test_a_text_is_cut_after_every_160_words_and_no_word_is_lost() -> None:
    text = "  ".join(f"w{n}" for n in range(350)) + "\n"
    pieces = cut(text)
    assert [len(piece.split()) for piece in pieces] == [160, 160, 30]
    assert " ".join(pieces).split() == text.split()
    assert all(piece in text for piece in pieces)
    assert cut(" \n") == []


def test_a_number_of_a_clause_is_several_words() -> None:
    assert words("Clause 11.4.1: T3410_x") == ["clause", "11", "4", "1", "t3410_x"]


def test_bm25_scores_by_the_formula() -> None:
    rarity = math.log(1 + (2 - 1 + 0.5) / (1 + 0.5))
    scores = Bm25(["saw saw timber timber", "boat boat"]).scores("A boat? Boat!")
    assert scores.tolist() == [0, pytest.approx(rarity * 2 * 2.2 / (2 + 1.2 * (0.25 + 0.75 * 2 / 3)))]


def test_a_rare_word_scores_more_than_a_common_one() -> None:
    scores = Bm25(list(TEXTS.values()))
    assert best(scores.scores("the timber"), 3)[0] == 1
    assert best(scores.scores("the permit"), 3)[0] == 2


def test_reciprocal_ranks_are_added() -> None:
    assert fuse([[7, 5, 1], [5, 7, 3]]) == [7, 5, 1, 3]
    assert fuse([[1, 2], [2]]) == [2, 1]


async def test_what_both_rankings_find_comes_first() -> None:
    search = await plain(TEXTS)
    assert await search.search("Timber", 1) == [Found("mill.txt", TEXTS["mill.txt"])]
    found = await search.search("Boats on the canal", 3)
    assert found[0].file == "permit.txt"
    assert {each.file for each in found} == set(TEXTS)


async def test_nothing_is_found_where_there_is_nothing() -> None:
    assert await (await plain({"empty.txt": ""})).search("canal", 8) == []
