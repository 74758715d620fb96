"""Settings of the fusion of arms. The fusion itself runs in `queries/hybrid.sql`."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class FusionSettings:
    """Weights and limits of one search.

    A passage scores the weighted sum of its shares of the highest keyword score and of the highest similarity among all
    that were found (convex combination; Bruch, Gai and Ingber, ACM TOIS 2023), and what its identifiers add.

    Attributes:
        identifier_weight: Added for the passage that alone holds most of the question's identifiers: more than the
            other arms together, since a number is never a synonym. Divided by the rank, and by the root of how many
            share it.
        keyword_weight: Weight of words.
        vector_weight: Weight of meaning.
        name_weight: Added for each identifier of the question in the document's name.
        arm_limit: Passages that each arm brings.
        max_lexemes: Words of a question that the keyword arm reads; keeps a pasted page from scanning all.
        max_identifiers: Forms of identifiers of a question that are looked for, for the same reason.
        k1: How much a word that is repeated in a passage adds (BM25; 1.2 is usual).
        b: How much the length of a passage counts, from 0 to 1 (BM25; 0.75 is usual).
        postings_limit: Passages that the rarest words or identifiers of a question may stand in, in all, to be read;
            commoner ones only score what those have found. The rarest one is always looked at.
        candidate_limit: Passages that are scored by all of them.
    """

    identifier_weight: float = 1.5
    keyword_weight: float = 0.5
    vector_weight: float = 0.5
    name_weight: float = 0.5
    arm_limit: int = 50
    max_lexemes: int = 48
    max_identifiers: int = 32
    k1: float = 1.2
    b: float = 0.75
    postings_limit: int = 1_500
    candidate_limit: int = 100

    def __post_init__(self) -> None:
        weights = (self.identifier_weight, self.keyword_weight, self.vector_weight, self.name_weight)
        limits = (
            self.arm_limit,
            self.max_lexemes,
            self.max_identifiers,
            self.postings_limit,
            self.candidate_limit,
        )
        if min(*weights, self.k1) < 0 or min(limits) < 1 or not 0 <= self.b <= 1:
            raise ValueError("weights and k1 must not be negative, limits must be at least 1, b is from 0 to 1")

    def parameters(self) -> Mapping[str, float]:
        """Return the settings under the names that the SQL binds."""
        return asdict(self)
