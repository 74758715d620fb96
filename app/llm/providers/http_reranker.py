"""Rerankers over HTTP: the request of Jina, Cohere (v2), vLLM and llama.cpp, and that of Text Embeddings Inference.

No message of a server or of the library is passed on, and no error is chained: they may quote the texts that were sent.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import httpx
from pydantic import SecretStr

from app.core.errors import UnavailableError
from app.llm.providers.rerank_replies import read_scores
from app.llm.types import ModelSetupError, RerankingRefusedError

_CONNECT_SECONDS = 2.0
_MOST_CONNECTIONS = 16
_MOST_CHARACTERS = 8_000
"""Of one text. Rerankers read 512 to 8,192 tokens, and a passage has 240: only odd ones are cut."""
MOST_ANSWER_BYTES = 4 * 1024 * 1024
"""Some servers send the texts back. 32 of the longest, each character escaped in twelve bytes, fit."""

_KEY = "The reranker refuses the key ({status}). An operator has to check RERANK_API_KEY."
_PLACE = (
    "The reranker does not know the model or the address ({status}). "
    "An operator has to check RERANK_MODEL and RERANK_URL."
)
_MOVED = "The reranker is at another address ({status}). An operator has to check RERANK_URL."
_SETUP = MappingProxyType({401: _KEY, 402: _KEY, 403: _KEY, 404: _PLACE, 405: _PLACE})
_INPUT = frozenset({400, 413, 422})

Shape = Callable[[str, str, Sequence[str]], Mapping[str, Any]]


class HttpReranker:
    """One model of one server; implements `app.llm.types.Reranker`.

    The server is asked once for each question, without retries: the order of the search is a good answer too. Only
    while it is not known which of the two shapes it reads is a request that it cannot process (422) followed by one in
    the other shape: the address does not tell.

    Args:
        client: Connections to the server, with the key and without redirects; closed by `aclose`.
        url: Whole address that is asked.
        model: Name of the model there; empty for a server that has one only.
        seconds: Wall-clock limit of a question, both shapes together.
    """

    def __init__(self, client: httpx.AsyncClient, url: str, *, model: str, seconds: float) -> None:
        self._client = client
        self._url = url
        self._model = model
        self._seconds = seconds
        self._shapes: tuple[Shape, ...] = _SHAPES

    async def rerank(self, question: str, texts: Sequence[str]) -> tuple[float, ...]:
        """Return one finite score for each text, in their order.

        Raises:
            RerankingRefusedError: The server refuses this question with these texts.
            ModelSetupError: The key, the model or the address is not right.
            UnavailableError: The server is out of reach, did not answer in its time, or gave something that cannot be
                used.
        """
        if not texts:
            return ()
        try:
            async with asyncio.timeout(self._seconds):
                return await self._ask(_sendable(question), [_sendable(text) for text in texts])
        except (TimeoutError, httpx.TimeoutException):
            raise UnavailableError("The reranker did not answer in time.") from None
        except httpx.HTTPError:
            raise UnavailableError("The reranker is out of reach.") from None

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _ask(self, question: str, texts: Sequence[str]) -> tuple[float, ...]:
        for shape in self._shapes:
            status, content = await self._send(shape(self._model, question, texts))
            if status != httpx.codes.UNPROCESSABLE_ENTITY:
                break
        if status == httpx.codes.UNPROCESSABLE_ENTITY:
            self._shapes = _SHAPES  # perhaps another server has taken over the address
        if status != httpx.codes.OK:
            raise _refusal(status)
        scores = read_scores(content, len(texts))
        self._shapes = (shape,)
        return scores

    async def _send(self, body: Mapping[str, Any]) -> tuple[int, bytes]:
        """Return the status, and the body of an answer that is good; what a refusal says is not read."""
        async with self._client.stream("POST", self._url, json=body, follow_redirects=False) as response:
            if response.status_code != httpx.codes.OK:
                return response.status_code, b""
            content = bytearray()
            # As it came: nothing compressed was asked for, and what is small may unpack to something huge.
            async for piece in response.aiter_raw():
                content += piece
                if len(content) > MOST_ANSWER_BYTES:
                    raise UnavailableError("The answer of the reranker is too large.")
        return response.status_code, bytes(content)


def open_reranker(url: str, *, model: str, api_key: SecretStr, seconds: float) -> HttpReranker:
    """Return a reranker of a server.

    Redirects are not followed, so that texts and the key go to the address that an operator set and nowhere else.

    Args:
        url: Whole address that is asked, such as `https://api.jina.ai/v1/rerank`.
        model: Name of the model there; empty for a server that has one only.
        api_key: The key; empty for a server without one.
        seconds: Wall-clock limit of a question.
    """
    key = api_key.get_secret_value()
    client = httpx.AsyncClient(
        headers={"Accept-Encoding": "identity"} | ({"Authorization": f"Bearer {key}"} if key else {}),
        timeout=httpx.Timeout(seconds, connect=min(seconds, _CONNECT_SECONDS)),
        limits=httpx.Limits(max_connections=_MOST_CONNECTIONS),
        follow_redirects=False,
    )
    return HttpReranker(client, url, model=model, seconds=seconds)


def _usual(model: str, question: str, texts: Sequence[str]) -> Mapping[str, Any]:
    body = {"query": question, "documents": texts, "top_n": len(texts)}
    return body | {"model": model} if model else body


def _text_embeddings_inference(_model: str, question: str, texts: Sequence[str]) -> Mapping[str, Any]:
    """Return the request of a server that has one model, and refuses what is too long unless it may cut it."""
    return {"query": question, "texts": texts, "truncate": True}


_SHAPES: tuple[Shape, ...] = (_usual, _text_embeddings_inference)


def _refusal(status: int) -> UnavailableError:
    if status in _INPUT:
        return RerankingRefusedError(f"The reranker refuses the question or the passages ({status}).")
    if wrong := _MOVED if httpx.codes.is_redirect(status) else _SETUP.get(status):
        return ModelSetupError(wrong.format(status=status))
    return UnavailableError(f"The reranker cannot take the request now ({status}).")


def _sendable(text: str) -> str:
    """Return a text that every server takes: not longer than any reads, no lone surrogates, and never empty."""
    return text[:_MOST_CHARACTERS].encode("utf-8", "replace").decode("utf-8").strip() or "."
