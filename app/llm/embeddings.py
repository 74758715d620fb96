"""The local embedder: all-MiniLM-L6-v2 in this process, without a key or a network."""

import asyncio
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Self

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

from app.llm.minilm.store import ModelFiles, ensure_model
from app.llm.types import Vectors

_MAX_TOKENS = 256
"""`max_seq_length` of the published model, with the two tokens that frame a text."""
_MAX_CHARACTERS = 20_000
"""Beyond this no text has room left in 256 tokens; keeps one huge text from stalling the tokeniser."""
_MOST_THREADS = 8
"""One process has no use for more: the database and the parser are slower from here on."""


class LocalEmbedder:
    """Runs the int8 network on threads of its own; implements `app.llm.types.Embedder`.

    Each text is run alone: dynamic quantisation takes its scale from the whole batch, so a text's vector
    would depend on its neighbours. Alone it is the same on every run, and measured no slower than
    batches of 8 (no padding), at half the memory. Threads, not a batch axis, use further cores.
    """

    def __init__(self, files: ModelFiles, threads: int) -> None:
        self.model_id = files.model_id
        self._session = _session(files.network)
        self.dimension: int = self._session.get_outputs()[0].shape[1]
        self._counter = _tokenizer(files.tokenizer)
        self._encoder = _tokenizer(files.tokenizer)
        self._encoder.enable_truncation(_MAX_TOKENS)
        # One thread more than passages may take, so that a question never waits behind a document.
        self._pool = ThreadPoolExecutor(threads + 1, thread_name_prefix="embed")
        self._turns = asyncio.Semaphore(threads)

    @classmethod
    def load(cls, folder: Path, threads: int) -> Self:
        """Load the model, converting it first if needed; blocking, about 0.5 s, 10 s at the first time.

        Args:
            folder: Where converted models are kept.
            threads: Texts that are embedded at the same time, each on one core; 0 takes all cores, up to 8.

        Raises:
            ConfigurationError: The weights are missing or damaged, or the folder cannot be written.
        """
        return cls(ensure_model(folder), threads or min(usable_cores(), _MOST_THREADS))

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector for each text, in order: shape `(len(texts), dimension)`."""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._turn(text)) for text in texts]
        return np.array([task.result() for task in tasks], np.float32).reshape(len(texts), self.dimension)

    async def embed_query(self, text: str) -> Vectors:
        """Return the unit vector of a question: shape `(dimension,)`."""
        return await self._run(text)

    def count_tokens(self, text: str) -> int:
        """Return how many tokens the text has, without the two that frame it. Never cut off."""
        return len(self._counter.encode(_encodable(text), add_special_tokens=False).ids)

    def close(self) -> None:
        """Let the threads end once they have finished what they do."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def _turn(self, text: str) -> Vectors:
        """Embed one text on one thread: whoever embeds at the same time comes next, and no thread waits for another."""
        async with self._turns:
            return await self._run(text)

    async def _run(self, text: str) -> Vectors:
        return await asyncio.get_running_loop().run_in_executor(self._pool, self._embed, text)

    def _embed(self, text: str) -> Vectors:
        encoding = self._encoder.encode(_encodable(text[:_MAX_CHARACTERS]))
        inputs = {"input_ids": encoding.ids, "attention_mask": encoding.attention_mask}
        arrays = {name: np.array([value], dtype=np.int64) for name, value in inputs.items()}
        (vectors,) = self._session.run(["embedding"], arrays)
        return np.asarray(vectors[0], dtype=np.float32)


def usable_cores() -> int:
    """Return how many cores this process may run on; fewer than the machine has in a container that pins them."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _session(network: Path) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    # The arena keeps the peak of every thread for ever: 140 MB resident without it, 266 MB with it.
    options.enable_cpu_mem_arena = False
    options.enable_mem_pattern = False
    return onnxruntime.InferenceSession(network, options, providers=["CPUExecutionProvider"])


def _tokenizer(path: Path) -> Tokenizer:
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    tokenizer.encode_special_tokens = True  # "[SEP]" in a document is text
    return tokenizer


def _encodable(text: str) -> str:
    """Replace lone surrogates, which the tokeniser cannot take."""
    return text.encode("utf-8", "replace").decode("utf-8")
