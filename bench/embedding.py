"""`python -m bench.embedding MODELS THREADS NICENESS`: embeds the texts on stdin (a JSON list), and prints the seconds.

In a process of its own, with the niceness of the worker, so that what it is compared with has the same share of the
processor when others want it too.
"""

import asyncio
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from app.llm.embeddings import LocalEmbedder


async def embed(models: Path, threads: int, texts: Sequence[str]) -> float:
    """Return how many seconds the local model takes for these texts, with the model loaded and warm."""
    embedder = LocalEmbedder.load(models, threads)
    try:
        await embedder.embed_passages(texts[:threads])
        began = time.perf_counter()
        await embedder.embed_passages(texts)
        return time.perf_counter() - began
    finally:
        embedder.close()


if __name__ == "__main__":
    os.nice(int(sys.argv[3]) - os.getpriority(os.PRIO_PROCESS, 0))
    print(asyncio.run(embed(Path(sys.argv[1]), int(sys.argv[2]), json.load(sys.stdin))))
