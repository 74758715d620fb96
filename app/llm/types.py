"""What the rest of the service knows of models: protocols, never a provider."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


class Embedder(Protocol):
    """Turns texts into unit vectors of one model."""

    @property
    def model_id(self) -> str:
        """Name that is stored beside each vector; vectors of different ids are never compared."""
        ...

    @property
    def dimension(self) -> int:
        """Length of each vector."""
        ...

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector for each text, in order: shape `(len(texts), dimension)`."""
        ...

    async def embed_query(self, text: str) -> Vectors:
        """Return the unit vector of a question: shape `(dimension,)`."""
        ...

    def count_tokens(self, text: str) -> int:
        """Return how many tokens of this model the text has, without the two that frame it. Never cut off."""
        ...
