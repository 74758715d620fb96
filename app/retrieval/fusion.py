"""Settings of the fusion of arms. The fusion itself runs in `queries/hybrid.sql`."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FusionSettings:
    """Weights and limits of one search.

    A passage scores the sum of `weight / (rrf_k + rank)` over the arms that found it (reciprocal rank fusion,
    Cormack et al. 2009, which also names 60 as k).

    Attributes:
        identifier_weight: Weight of exact identifiers; above the sum of the others, since a number is never a synonym.
        keyword_weight: Weight of words.
        vector_weight: Weight of meaning.
        name_weight: Added, as if ranked first, for each identifier of the question in the document's name.
        rrf_k: Flattens the differences between high ranks.
        arm_limit: Passages that each arm brings.
        max_lexemes: Words of a question that the keyword arm reads; keeps a pasted page from scanning all.
        text_search: Postgres text search configuration; the one that chunks were indexed with.
    """

    identifier_weight: float = 3.0
    keyword_weight: float = 0.7
    vector_weight: float = 1.0
    name_weight: float = 1.0
    rrf_k: int = 60
    arm_limit: int = 50
    max_lexemes: int = 48
    text_search: str = "english"

    def __post_init__(self) -> None:
        weights = (self.identifier_weight, self.keyword_weight, self.vector_weight, self.name_weight)
        if min(weights) < 0 or min(self.rrf_k, self.arm_limit, self.max_lexemes) < 1:
            raise ValueError("weights must not be negative, k and limits must be at least 1")

    def parameters(self) -> Mapping[str, float | str]:
        """Return the settings under the names that the SQL binds."""
        return {
            "identifier_weight": self.identifier_weight,
            "keyword_weight": self.keyword_weight,
            "vector_weight": self.vector_weight,
            "name_weight": self.name_weight,
            "rrf_k": self.rrf_k,
            "arm_limit": self.arm_limit,
            "max_lexemes": self.max_lexemes,
            "text_search": self.text_search,
        }
