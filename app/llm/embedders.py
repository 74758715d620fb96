"""Which embedding models this process can run, and which of them a workspace is embedded and searched by."""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from app.core.errors import AppError, ConfigurationError, UnavailableError
from app.llm.types import Embedder, ModelSetupError

_GOOD_SECONDS = 60.0
_BAD_SECONDS = 5.0
_PROBE = "ready"


class EmbedderChoice(StrEnum):
    """What a workspace can choose to be embedded by."""

    DEFAULT = "default"
    """Whichever the service is configured with."""
    LOCAL = "local"
    """The model in this process: no text goes to a model server."""
    REMOTE = "remote"
    """The configured model of the service's model server."""


@dataclass(frozen=True, slots=True)
class EmbeddingState:
    """The embedding of a workspace.

    Attributes:
        choice: The embedder that its owner wishes for.
        serving: The model that all of its searched passages have vectors of; empty while nothing is ready.
    """

    choice: EmbedderChoice
    serving: str


class NotOfferedError(UnavailableError):
    """A workspace has chosen an embedder that this service does not have (any more); its owner can choose another."""

    code, title = "embedder_not_offered", "Embedder not offered"


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
        configured: The model of a server that workspaces are embedded by unless they choose another; None for the
            local one.
        server: Models that run elsewhere, for vectors that were made when one of them was configured.
    """

    def __init__(
        self, local: LocalModel, configured: Embedder | None = None, server: ModelServer | None = None
    ) -> None:
        self.local = local
        self.configured: Embedder = configured or local
        self._remote = configured
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
            "cannot run at the moment. An operator has to set it up again, or an owner of the workspace to choose "
            "another embedder, or to wait until all documents are embedded anew."
        )

    def offered(self) -> Mapping[EmbedderChoice, str | None]:
        """Return the choices that this service offers, each with the id of its model; None while that is unknown."""
        choices = [EmbedderChoice.DEFAULT, EmbedderChoice.LOCAL]
        if self._remote:
            choices.append(EmbedderChoice.REMOTE)
        return {choice: _known_id(self.chosen(choice)) for choice in choices}

    def chosen(self, choice: EmbedderChoice) -> Embedder:
        """Return the embedder of a choice.

        Raises:
            NotOfferedError: This service has none.
        """
        match choice:
            case EmbedderChoice.DEFAULT:
                return self.configured
            case EmbedderChoice.LOCAL:
                return self.local
            case EmbedderChoice.REMOTE if self._remote:
                return self._remote
        raise NotOfferedError(
            "The workspace is set to the remote embedder, and this service has none. An owner of the workspace has to "
            "choose the embedder `local` or `default`, or an operator to set EMBEDDING_MODEL."
        )

    def for_passages(self, state: EmbeddingState) -> Embedder:
        """Return what new documents are embedded by.

        That is the model that serves, so that they are found at once, unless it is a server's and the choice is local.

        Raises:
            NotOfferedError: Nothing serves yet, and this service does not have what was chosen.
            UnavailableError: This process cannot run the model that serves.
        """
        if state.choice is EmbedderChoice.LOCAL or not state.serving:
            return self.chosen(state.choice)
        return self.of(state.serving)

    def for_questions(self, state: EmbeddingState) -> Embedder:
        """Return what questions are embedded by: the model that serves, else the local one.

        The local one also while the choice is local and another model still serves: no question leaves then, and its
        vector cannot be compared with those of the passages. While nothing serves there is nothing to compare with.

        Raises:
            UnavailableError: This process cannot run the model that serves.
        """
        if state.choice is EmbedderChoice.LOCAL or not state.serving:
            return self.local
        return self.of(state.serving)

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


def _known_id(embedder: Embedder) -> str | None:
    try:
        return embedder.model_id
    except UnavailableError:
        return None
