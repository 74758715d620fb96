"""What the rest of the service knows of models: protocols, never a provider."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from app.core.errors import AppError

Vectors = NDArray[np.float32]


class InputRefusedError(AppError):
    """A model refuses one text, most often because it is too long for it; halves of the text may pass.

    The message never holds the text.
    """

    code, status, title = "input_refused", 422, "Text refused by the model"


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
