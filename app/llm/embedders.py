"""Which embedding models this process can run: the configured one, the local one, and those of stored vectors."""

import asyncio
import time
from typing import Protocol

from app.core.errors import AppError, ConfigurationError, UnavailableError
from app.llm.types import Embedder, ModelSetupError

_GOOD_SECONDS = 60.0
_BAD_SECONDS = 5.0
_PROBE = "ready"


class LocalModel(Embedder, Protocol):
    """The model in this process: always there, without a key or a network."""

    def count_tokens(self, text: str) -> int:
        """Return how many tokens of this model the text has, without the two that frame it. Never cut off."""
        ...

    def close(self) -> None:
        """Give back what the model holds."""
        ...


class ModelServer(Protocol):
    """Models that run elsewhere."""

    def of(self, model_id: str) -> Embedder | None:
        """Return the model that is stored under this id; None when it is none of this server."""
        ...

    async def aclose(self) -> None:
        """Close the connections."""
        ...


class Embedders:
    """Every embedder of a process.

    Args:
        local: The model in this process. The extractive answerer always uses it, since its thresholds were fitted
            on it, and it counts the tokens of every chunk, so that chunks and their ids are the same whichever
            embedder is configured.
        configured: The model that new vectors are made with; None for the local one.
        server: Models that run elsewhere, for vectors that were made when one of them was configured.
    """

    def __init__(
        self, local: LocalModel, configured: Embedder | None = None, server: ModelServer | None = None
    ) -> None:
        self.local = local
        self.configured: Embedder = configured or local
        self._server = server
        self._checking = asyncio.Lock()
        self._outcome: AppError | None = None
        self._fresh_until = float("-inf")

    def of(self, model_id: str) -> Embedder:
        """Return the embedder whose vectors are stored under this id, for questions that are compared with them.

        Raises:
            UnavailableError: This process cannot run that model.
        """
        if model_id == self.local.model_id:
            return self.local
        if self._server and (found := self._server.of(model_id)):
            return found
        if model_id == self.configured.model_id:
            return self.configured
        raise UnavailableError(
            f"The vectors of these documents were made with the embedding model {model_id}, which this service "
            "cannot run at the moment. An operator has to set it up again, or to let the documents be embedded anew."
        )

    async def check(self) -> None:
        """Embed a word with the configured model; keeps what came out for a while, so that asking often costs nothing.

        Raises:
            ConfigurationError: The key, the model or the length of its vectors is not right.
            UnavailableError: The model is out of reach.
        """
        async with self._checking:
            if time.monotonic() >= self._fresh_until:
                self._outcome = await self._look()
                self._fresh_until = time.monotonic() + (_BAD_SECONDS if self._outcome else _GOOD_SECONDS)
            if self._outcome:
                raise self._outcome.with_traceback(None)

    async def _look(self) -> AppError | None:
        try:
            await self.configured.embed_query(_PROBE)
        except ModelSetupError as error:
            return ConfigurationError(error.detail)
        except AppError as error:
            return error
        return None

    def count_tokens(self, text: str) -> int:
        """Return how many tokens of the local model the text has, without the two that frame it. Never cut off."""
        return self.local.count_tokens(text)

    async def aclose(self) -> None:
        """Close every model."""
        self.local.close()
        if self._server:
            await self._server.aclose()
