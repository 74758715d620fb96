"""An embedder without a model, for what is not about its speed: the same text gives the same vector."""

import asyncio
import hashlib
from collections.abc import Sequence

import numpy as np

from app.llm.types import Vectors


class HashEmbedder:
    """Unit vectors drawn from a generator that the text seeds.

    Args:
        seconds: How long it takes for each call, asleep.
    """

    model_id = "bench-hash-384"
    dimension = 384

    def __init__(self, seconds: float = 0.0) -> None:
        self._seconds = seconds

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Return one vector for each text, in order."""
        await asyncio.sleep(self._seconds)
        return np.stack([self._vector(text) for text in texts]) if texts else np.empty((0, self.dimension), np.float32)

    async def embed_query(self, text: str) -> Vectors:
        """Return the vector of a question."""
        return self._vector(text)

    def count_tokens(self, text: str) -> int:
        """Return the number of words."""
        return len(text.split())

    def close(self) -> None:
        """Hold nothing."""

    def _vector(self, text: str) -> Vectors:
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])
        vector = np.random.default_rng(seed).standard_normal(self.dimension).astype(np.float32)
        return vector / np.linalg.norm(vector)
