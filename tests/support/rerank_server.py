"""A reranker on the loopback, in the shapes and with the faults that real ones have."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from tests.support.loopback_server import LoopbackServer, Reply, Request

MODEL = "test-rerank"
KEY = "rk-test-0123456789"

Result = dict[str, Any]
Spoil = Callable[[list[Result]], list[Result]]


class Shape(Enum):
    """What a server reads and answers."""

    USUAL = "usual"
    TEXT_EMBEDDINGS_INFERENCE = "tei"


@dataclass(frozen=True, slots=True)
class Fault:
    """What goes wrong with a request.

    Args:
        status: Status of the answer; 0 closes the connection without one.
        body: The answer; None for the usual one.
        seconds: How long it waits before.
        trickle: Seconds between the bytes of the answer.
        encoding: How the body is said to be compressed.
        spoil: Changes the results of the usual answer.
    """

    status: int = 200
    body: bytes | None = None
    seconds: float = 0.0
    trickle: float = 0.0
    encoding: str = ""
    spoil: Spoil = list


def score_of(question: str, text: str) -> float:
    """Return the share of the text's words that the question has."""
    words = text.lower().split()
    return sum(word in question.lower().split() for word in words) / max(len(words), 1)


class RerankServer(LoopbackServer):
    """Answers `POST /rerank`; the faults are used up in order, one for each request.

    Args:
        shape: What it reads; a request in another shape is one that it cannot process.
        key: The key that it wants; empty for none.
    """

    def __init__(self, *, shape: Shape = Shape.USUAL, key: str = KEY) -> None:
        super().__init__()
        self.shape = shape
        self.key = key
        self.faults: list[Fault] = []
        self.lasting: Fault | None = None
        self.asked: list[Mapping[str, Any]] = []
        self.paths: list[str] = []
        self.authorizations: list[str] = []

    @property
    def url(self) -> str:
        return f"{self.root}/rerank"

    def reply(self, request: Request) -> Reply:
        """Return the answer to a request, or its fault."""
        found = self._answer(request.path, request.authorization, request.asked)
        headers = {"Content-Encoding": found.encoding} if found.encoding else {}
        return Reply(found.status, found.body or b"", headers, found.trickle)

    def _answer(self, path: str, authorization: str, asked: Mapping[str, Any]) -> Fault:
        with self._lock:
            self.asked.append(asked)
            self.paths.append(path)
            self.authorizations.append(authorization)
            fault = self.lasting or (self.faults.pop(0) if self.faults else Fault())
        time.sleep(fault.seconds)
        if fault.status != 200 or fault.body is not None:
            body = fault.body or _error(authorization, asked)
            return Fault(fault.status, body, trickle=fault.trickle, encoding=fault.encoding)
        if self.key and authorization != f"Bearer {self.key}":
            return Fault(401, _error(authorization, asked))
        answer = self._tei(asked, fault.spoil) if self.shape is not Shape.USUAL else self._usual(asked, fault.spoil)
        return Fault(answer.status, answer.body, trickle=fault.trickle)

    def _usual(self, asked: Mapping[str, Any], spoil: Spoil) -> Fault:
        if "documents" not in asked:
            return Fault(422, _error("missing documents", asked))
        if asked.get("model", MODEL) != MODEL:
            return Fault(404, _error("no such model", asked))
        results = _results(asked["query"], asked["documents"], "relevance_score")[: asked["top_n"]]
        return Fault(
            body=json.dumps({"model": MODEL, "results": spoil(results), "usage": {"total_tokens": 9}}).encode()
        )

    def _tei(self, asked: Mapping[str, Any], spoil: Spoil) -> Fault:
        if "texts" not in asked:
            return Fault(422, b"Failed to deserialize the JSON body: missing field `texts`")
        return Fault(body=json.dumps(spoil(_results(asked["query"], asked["texts"], "score"))).encode())


def _results(question: str, texts: Sequence[str], name: str) -> list[Result]:
    """Return the results best first, with the texts, as most servers do."""
    found = [{"index": n, name: score_of(question, text), "document": {"text": text}} for n, text in enumerate(texts)]
    return sorted(found, key=lambda result: -result[name])


def _error(words: str, asked: Mapping[str, Any]) -> bytes:
    """Return what some servers say of an error: all that they were sent."""
    return json.dumps({"message": words, "input": asked}).encode()
