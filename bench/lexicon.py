"""Made-up words with the frequencies of real ones, and identifiers. Pure.

A word ends in a letter that no English stemmer takes off, so that its lexeme is the word itself.
"""

import math
from functools import cached_property

import numpy as np
import numpy.typing as npt

from app.core.identifiers import extract_identifiers

Tokens = npt.NDArray[np.int32]

WORDS = 200_000
_FLATNESS = 50
"""Of the law of Zipf and Mandelbrot; with this one the commonest word stands in a quarter of the passages."""
_SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprtvz" for vowel in "aeiou"]
_CHAPTERS, _SECTIONS, _CLAUSES, _TIMERS, _YEARS = 40, 25, 4, 4_000, 30


class Lexicon:
    """Numbers tokens: first the words, commonest first, then clause numbers, timers and years."""

    first_clause = WORDS
    first_timer = first_clause + _CHAPTERS * _SECTIONS * _CLAUSES
    first_year = first_timer + _TIMERS
    size = first_year + _YEARS

    @cached_property
    def tokens(self) -> list[str]:
        """Every token as it is written."""
        clauses = [
            f"{chapter}.{section}.{clause}"
            for chapter in range(1, _CHAPTERS + 1)
            for section in range(1, _SECTIONS + 1)
            for clause in range(1, _CLAUSES + 1)
        ]
        timers = [f"T{3_000 + number}" for number in range(_TIMERS)]
        years = [str(1_997 + number) for number in range(_YEARS)]
        return [*(_word(rank) for rank in range(WORDS)), *clauses, *timers, *years]

    @cached_property
    def lexemes(self) -> list[str]:
        """Every token as a text search configuration keeps it."""
        return [token.lower() for token in self.tokens]

    @cached_property
    def identifiers(self) -> list[str]:
        """The form of every identifier, the first one that of the first clause."""
        return [form for token in self.tokens[WORDS:] for form in extract_identifiers(token)]

    def words(self, draw: np.random.Generator, shape: tuple[int, ...], known: int) -> Tokens:
        """Draw words by their frequencies.

        Args:
            draw: Source of chance.
            shape: How many.
            known: Only the so many commonest ones are drawn.
        """
        exponents = draw.random(shape, dtype=np.float32) * math.log1p(known / _FLATNESS)
        ranks: Tokens = np.minimum(_FLATNESS * np.expm1(exponents), known - 1).astype(np.int32)
        return ranks

    def clauses(self, chapter: int, draw: np.random.Generator, count: int) -> Tokens:
        """Return the numbers of clauses of a chapter, one of each section in order."""
        sections = np.arange(count) % _SECTIONS
        places = (chapter % _CHAPTERS * _SECTIONS + sections) * _CLAUSES + draw.integers(0, _CLAUSES, count)
        return (self.first_clause + places).astype(np.int32)

    def timers(self, draw: np.random.Generator, count: int) -> Tokens:
        """Draw timers."""
        return draw.integers(self.first_timer, self.first_year, count, dtype=np.int32)

    def years(self, draw: np.random.Generator, count: int) -> Tokens:
        """Draw years."""
        return draw.integers(self.first_year, self.size, count, dtype=np.int32)


def _word(rank: int) -> str:
    """Return a word of one syllable for the commonest, of three for most."""
    base, length, first = len(_SYLLABLES), 1, 0
    while rank - first >= base**length:
        first += base**length
        length += 1
    digits = [(rank - first) // base**place % base for place in range(length)]
    return "".join(_SYLLABLES[digit] for digit in digits) + "k"
