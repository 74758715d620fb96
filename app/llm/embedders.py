"""Which embedding models this process can run: the configured one, the local one, and those of stored vectors."""

from typing import Protocol

from app.core.errors import UnavailableError
from app.llm.types import Embedder


class LocalModel(Embedder, Protocol):
    """The model in this process: always there, without a key or a network."""

    def count_tokens(self, text: str) -> int:
        """Return how many tokens of this model the text has, without the two that frame it. Never cut off."""
        ...

    def close(self) -> None:
        """Give back what the model holds."""
        ...


class Embedders:
    """Every embedder of a process.

    Args:
        local: The model in this process. The extractive answerer always uses it, since its thresholds were fitted
            on it, and it counts the tokens of every chunk, so that chunks and their ids are the same whichever
            embedder is configured.
        configured: The model that new vectors are made with; None for the local one.
    """

    def __init__(self, local: LocalModel, configured: Embedder | None = None) -> None:
        self.local = local
        self.configured: Embedder = configured or local

    def of(self, model_id: str) -> Embedder:
        """Return the embedder whose vectors are stored under this id, for questions that are compared with them.

        Raises:
            UnavailableError: This process cannot run that model.
        """
        for embedder in (self.configured, self.local):
            if embedder.model_id == model_id:
                return embedder
        raise UnavailableError(
            f"The vectors of these documents were made with the embedding model {model_id}, which this service "
            "cannot run at the moment. An operator has to set it up again, or to let the documents be embedded anew."
        )

    def count_tokens(self, text: str) -> int:
        """Return how many tokens of the local model the text has, without the two that frame it. Never cut off."""
        return self.local.count_tokens(text)

    async def aclose(self) -> None:
        """Close every model."""
        self.local.close()
