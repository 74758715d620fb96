"""What the rest of the service knows of models: protocols, never a provider."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from app.core.errors import AppError, UnavailableError

Vectors = NDArray[np.float32]


class InputRefusedError(AppError):
    """A model refuses some texts, most often because they are too long for it; halves of a text may pass.

    Args:
        detail: What to tell; never holds a text.
        positions: Which of the texts that were given are refused, ascending.
        vectors: The vectors of all the texts, where a refused one has zeros, so that nothing is paid for twice.
    """

    code, status, title = "input_refused", 422, "Text refused by the model"

    def __init__(self, detail: str, positions: tuple[int, ...], vectors: Vectors) -> None:
        super().__init__(detail)
        self.positions = positions
        self.vectors = vectors


class InvalidEmbeddingsError(UnavailableError):
    """The embedder returned vectors that cannot be used; nothing of them was stored."""

    code, title = "invalid_embeddings", "Embedding failed"


class ModelSetupError(UnavailableError):
    """A model cannot be used the way it is set up, such as with a wrong key; only an operator can help."""

    title = "Model not usable"


class RerankingRefusedError(UnavailableError):
    """A reranker refuses one question with its texts, most often because they are too long; the next may pass."""

    title = "Reranking refused"


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
        """Return one unit vector for each text, in order: shape `(len(texts), dimension)`.

        Raises:
            InputRefusedError: Some texts are refused; carries the vectors of the others.
            InvalidEmbeddingsError: The model gave something that cannot be used.
            UnavailableError: The model is out of reach.
        """
        ...

    async def embed_query(self, text: str) -> Vectors:
        """Return the unit vector of a question: shape `(dimension,)`; raises what `embed_passages` raises."""
        ...


class Reranker(Protocol):
    """Reads a question and texts together, and says how well each text answers it."""

    async def rerank(self, question: str, texts: Sequence[str]) -> Sequence[float] | None:
        """Return one finite score for each text, in their order; None when the order they came in is to be kept.

        The higher the score, the better the text. Scores are comparable within one call only.

        Raises:
            RerankingRefusedError: The model refuses this question with these texts.
            UnavailableError: The model is out of reach, did not answer in its time, or gave something that cannot be
                used.
        """
        ...

    async def aclose(self) -> None:
        """Close the connections."""
        ...
