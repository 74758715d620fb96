"""Embedding models of an OpenAI-compatible server (OpenAI, Ollama, vLLM, ...)."""

import asyncio
import time
from collections.abc import Coroutine, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from openai import AsyncOpenAI, Omit, OpenAIError, omit

from app.core.errors import AppError, UnavailableError
from app.llm.batching import batches
from app.llm.providers.openai_errors import BadInputError, translated
from app.llm.providers.replies import read_vectors
from app.llm.types import InputRefusedError, InvalidEmbeddingsError, ModelSetupError, Vectors

PREFIX = "openai:"
MAX_DIMENSION = 4_000
"""Longest vector that the database can index as half precision numbers."""
_PROBE = "ready"
_FAILURE_SECONDS = 2.0
_REFUSED = "The embedding model gives no vector for {count} of {total} texts, most often because they are too long."


@dataclass(frozen=True, slots=True)
class EmbeddingLimits:
    """What one process asks of a server.

    Args:
        most_texts: Most texts of a request. OpenAI takes 2,048; a small server works through 64 in seconds.
        most_characters: Most characters of a request; OpenAI takes 300,000 tokens, and a character can be one.
        in_flight: Most requests for passages at a time; questions do not wait for them.
        passages_seconds: Wall-clock limit of a request for passages.
        query_seconds: Wall-clock limit of a request for a question.
    """

    most_texts: int = 64
    most_characters: int = 100_000
    in_flight: int = 4
    passages_seconds: float = 60.0
    query_seconds: float = 10.0


class OpenAIEmbedder:
    """One model at one length of vectors; implements `app.llm.types.Embedder`.

    The first call asks once for a vector, to learn the length that the model gives. Another length is asked for
    (`dimensions`) only when it is wanted: several servers refuse the parameter even for the model's own length, and
    others ignore it, which a second question finds.

    The address of the server is no part of the id: moving a model to another machine changes no vector, and would else
    embed every document anew.

    Args:
        client: The server.
        model: Its name there.
        dimension: Length of the vectors; 0 takes the model's own.
        limits: What is asked of the server at most.
    """

    def __init__(self, client: AsyncOpenAI, model: str, dimension: int, limits: EmbeddingLimits | None = None) -> None:
        self._client = client
        self._model = model
        self._dimension = dimension
        self._limits = limits or EmbeddingLimits()
        self._turns = asyncio.Semaphore(self._limits.in_flight)
        self._checking = asyncio.Lock()
        self._checked = False
        self._asked: int | Omit = omit
        self._failure: AppError | None = None
        self._failed_until = 0.0

    @property
    def model_id(self) -> str:
        """Name of the model with the length of its vectors, such as `openai:text-embedding-3-small:1536`.

        Raises:
            UnavailableError: The length is the model's own, and the server has not answered yet.
        """
        return f"{PREFIX}{self._model}:{self.dimension}"

    @property
    def dimension(self) -> int:
        """Length of each vector; raises what `model_id` raises."""
        if not self._dimension:
            raise UnavailableError("The embedding model has not answered yet, so the length of its vectors is unknown.")
        return self._dimension

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector for each text, in order: shape `(len(texts), dimension)`.

        Raises:
            InputRefusedError: Some texts are refused; carries the vectors of the others.
            InvalidEmbeddingsError: The server gave something that cannot be used.
            ModelSetupError: The key, the model or the length of its vectors is not right.
            UnavailableError: The server is out of reach, or takes no more requests now.
        """
        await self._check()
        sent = [_sendable(text) for text in texts]
        vectors = np.zeros((len(sent), self.dimension), dtype=np.float32)
        lengths = [len(text) for text in sent]
        limits = self._limits
        requests = batches(lengths, most_texts=limits.most_texts, most_length=limits.most_characters)
        refused = await _gather(self._fill(vectors, sent, positions) for positions in requests)
        if positions := tuple(sorted(position for each in refused for position in each)):
            if len(positions) == len(sent):
                await self._probe()  # are it the texts, or does nothing pass any more?
            raise InputRefusedError(_REFUSED.format(count=len(positions), total=len(sent)), positions, vectors)
        return vectors

    async def embed_query(self, text: str) -> Vectors:
        """Return the unit vector of a question: shape `(dimension,)`; raises what `embed_passages` raises."""
        await self._check()
        try:
            vectors = await self._request([_sendable(text)], self._limits.query_seconds)
        except BadInputError:
            nothing = np.zeros((1, self.dimension), dtype=np.float32)
            raise InputRefusedError(
                "The embedding model refuses this text; a shorter one may pass.", (0,), nothing
            ) from None
        return np.asarray(_usable(vectors)[0], dtype=np.float32)

    async def _fill(self, vectors: Vectors, texts: Sequence[str], positions: Sequence[int]) -> list[int]:
        """Write the vectors of some texts to their places; return the positions that are refused.

        A request is refused as a whole, so its halves are tried until the text is found that the server does not take.
        A text whose vector is not usable counts as refused too.
        """
        try:
            async with self._turns:
                sent = [texts[position] for position in positions]
                found = await self._request(sent, self._limits.passages_seconds)
                vectors[list(positions)] = found
                return [position for position, row in zip(positions, found, strict=True) if not row.any()]
        except BadInputError:
            if len(positions) == 1:
                return list(positions)
            middle = len(positions) // 2
            first = await self._fill(vectors, texts, positions[:middle])
            return first + await self._fill(vectors, texts, positions[middle:])

    async def _check(self) -> None:
        """Learn, once, what must be asked so that vectors of the right length come back.

        Those who wait share the outcome of a check that fails, so that a server that hangs costs each of them its
        time-out once and not once for everyone before them.
        """
        if self._checked:
            return
        async with self._checking:
            if self._failure and time.monotonic() < self._failed_until:
                raise self._failure.with_traceback(None)
            try:
                await self._learn()
            except AppError as error:
                self._failure, self._failed_until = error, time.monotonic() + _FAILURE_SECONDS
                raise

    async def _learn(self) -> None:
        if self._checked:
            return
        own = await self._probe()
        wanted = self._dimension or own
        if wanted > MAX_DIMENSION:
            raise ModelSetupError(
                f"The model {self._model} gives vectors of {own:,} numbers; up to {MAX_DIMENSION:,} can be stored. "
                "An operator has to set EMBEDDING_DIMENSION, or another EMBEDDING_MODEL."
            )
        if own != wanted and not await self._shortens(wanted):
            raise ModelSetupError(
                f"The model {self._model} gives vectors of {own:,} numbers, and EMBEDDING_DIMENSION asks for "
                f"{wanted:,}, which the server does not do. An operator has to set it to {own} or to 0."
            )
        self._asked = wanted if own != wanted else omit
        self._dimension = wanted
        self._checked = True

    async def _shortens(self, wanted: int) -> bool:
        try:
            vectors = await self._send([_PROBE], self._limits.query_seconds, wanted)
        except BadInputError:
            return False
        return bool(vectors.shape[1] == wanted)

    async def _probe(self) -> int:
        """Return the length of the vector of a short text, as the model gives it by itself.

        Raises:
            ModelSetupError: Even that text is refused.
        """
        try:
            return int(_usable(await self._send([_PROBE], self._limits.query_seconds, omit)).shape[1])
        except BadInputError as error:
            raise ModelSetupError(
                f"The model service refuses even a short text ({error.status}). "
                "An operator has to check EMBEDDING_MODEL and EMBEDDING_DIMENSION."
            ) from None

    async def _request(self, texts: list[str], seconds: float) -> Vectors:
        vectors = await self._send(texts, seconds, self._asked)
        if vectors.shape[1] != self._dimension:
            raise InvalidEmbeddingsError(
                f"The embedding service answered with vectors of {vectors.shape[1]} numbers, not {self._dimension}."
            )
        return vectors

    async def _send(self, texts: list[str], seconds: float, dimensions: int | Omit) -> Vectors:
        """Ask once. Numbers are asked for as JSON, the one encoding that every such server knows."""
        try:
            async with asyncio.timeout(seconds):
                raw = await self._client.embeddings.with_raw_response.create(
                    model=self._model, input=texts, dimensions=dimensions, encoding_format="float"
                )
        except TimeoutError:
            raise UnavailableError("The model service did not answer in time.") from None
        except OpenAIError as error:
            raise translated(error) from None
        return await asyncio.to_thread(read_vectors, raw.content, len(texts))


class OpenAIModels:
    """All models of one server; each is made once.

    Args:
        client: The server.
        limits: What is asked of it at most, for each model.
    """

    def __init__(self, client: AsyncOpenAI, limits: EmbeddingLimits | None = None) -> None:
        self._client = client
        self._limits = limits
        self._made: dict[tuple[str, int], OpenAIEmbedder] = {}

    def embedder(self, model: str, dimension: int) -> OpenAIEmbedder:
        """Return a model at a length of vectors; 0 is the model's own."""
        made = self._made.get((model, dimension)) or OpenAIEmbedder(self._client, model, dimension, self._limits)
        return self._made.setdefault((model, dimension), made)

    def of(self, model_id: str) -> OpenAIEmbedder | None:
        """Return the model that is stored under this id; None when it is none of such a server."""
        name, _, dimension = model_id.removeprefix(PREFIX).rpartition(":")
        if not model_id.startswith(PREFIX) or not name or not dimension.isascii() or not dimension.isdigit():
            return None
        return self.embedder(name, int(dimension))

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()


async def _gather(work: Iterable[Coroutine[None, None, list[int]]]) -> list[list[int]]:
    """Wait for all; the first error ends the others and is raised as it is, not in a group."""
    tasks = [asyncio.create_task(each) for each in work]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _usable(vectors: Vectors) -> Vectors:
    if not vectors.any(axis=1).all():
        raise InvalidEmbeddingsError(
            "The embedding service answered with a vector that is not finite or points nowhere."
        )
    return vectors


def _sendable(text: str) -> str:
    """Return a text that every server takes: no lone surrogates, and never empty, which most refuse."""
    return text.encode("utf-8", "replace").decode("utf-8").strip() or "."
