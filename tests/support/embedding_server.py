"""An OpenAI-compatible server of embeddings on the loopback, with the faults that real ones have."""

import base64
import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.support.loopback_server import LoopbackServer, Reply, Request

MODEL = "test-embed"
OWN_DIMENSION = 48
KEY = "sk-test-0123456789"
TOO_LONG = "TOO-LONG"
"""A text that holds this is refused, with the whole request that it is in, as one that is too long."""

Item = dict[str, Any]
Spoil = Callable[[list[Item]], list[Item]]


@dataclass(frozen=True, slots=True)
class Fault:
    """What goes wrong with a request.

    Args:
        status: Status of the answer; 0 closes the connection without one.
        body: The answer; None for the usual one.
        seconds: How long it waits before.
        spoil: Changes the items of the usual answer.
    """

    status: int = 200
    body: bytes | None = None
    seconds: float = 0.0
    spoil: Spoil = list


@dataclass(frozen=True, slots=True)
class Asked:
    """One request for embeddings."""

    texts: Sequence[str]
    dimensions: int | None
    encoding: str | None


def vector_of(text: str, dimension: int) -> list[float]:
    """Return a vector that only depends on the text; like some servers', it is not of unit length."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])
    return [float(value) for value in np.random.default_rng(seed).standard_normal(dimension) * 3]


class EmbeddingServer(LoopbackServer):
    """Answers `POST /v1/embeddings`; the faults are used up in order, one for each request after the first check.

    Args:
        own: Length of the model's vectors.
        shortens: What `dimensions` does: it is obeyed (True), refused (False) or ignored (None).
        in_base64: Whether vectors are sent in base64, asked or not.
    """

    def __init__(self, *, own: int = OWN_DIMENSION, shortens: bool | None = True, in_base64: bool = False) -> None:
        super().__init__()
        self.own = own
        self.shortens = shortens
        self.in_base64 = in_base64
        self.faults: list[Fault] = []
        self.lasting: Fault | None = None
        self.asked: list[Asked] = []
        self.open = self.most_open = 0

    @property
    def url(self) -> str:
        return f"{self.root}/v1"

    def reply(self, request: Request) -> Reply:
        """Return the answer to a request, or its fault."""
        with self._lock:
            self.open += 1
            self.most_open = max(self.most_open, self.open)
        try:
            found = self._answer(request.authorization, request.asked)
        finally:
            with self._lock:
                self.open -= 1
        return Reply(found.status, found.body or b"", {"Retry-After": "30"})

    def _answer(self, authorization: str, asked: dict[str, Any]) -> Fault:
        with self._lock:
            self.asked.append(Asked(asked["input"], asked.get("dimensions"), asked.get("encoding_format")))
            fault = self.lasting or (self.faults.pop(0) if self.faults else Fault())
        time.sleep(fault.seconds)
        if fault.status != 200 or fault.body is not None:
            return Fault(fault.status, fault.body or _error("Something about the text and sk-test-01***.", None))
        return self._usual(authorization, asked, fault.spoil)

    def _usual(self, authorization: str, asked: dict[str, Any], spoil: Spoil) -> Fault:
        if authorization != f"Bearer {KEY}":
            return Fault(401, _error(f"Incorrect API key provided: {authorization}", "invalid_api_key"))
        if asked["model"] != MODEL:
            return Fault(404, _error(f"The model {asked['model']} does not exist.", "model_not_found"))
        wanted = asked.get("dimensions")
        if wanted and self.shortens is False:
            return Fault(400, _error("dimensions is not supported", None))
        if any(TOO_LONG in text or not text for text in asked["input"]):
            return Fault(400, _error(f"Input is too long: {asked['input']}", "context_length_exceeded"))
        dimension = wanted if wanted and self.shortens else self.own
        items = [self._item(index, text, dimension) for index, text in enumerate(asked["input"])]
        return Fault(200, json.dumps({"object": "list", "data": spoil(items), "model": MODEL}).encode())

    def _item(self, index: int, text: str, dimension: int) -> Item:
        numbers = vector_of(text, self.own)[:dimension]
        packed = base64.b64encode(np.array(numbers, dtype="<f4").tobytes()).decode()
        return {"object": "embedding", "index": index, "embedding": packed if self.in_base64 else numbers}


def _error(message: str, code: str | None) -> bytes:
    return json.dumps({"error": {"message": message, "type": "test", "code": code}}).encode()
