"""`python -m bench.worker ORDER SECONDS`: a worker with short times that ends itself where the file ORDER says.

SECONDS is how long each call of its embedder takes, so that there is time to be killed in.
"""

import asyncio
import sys
from pathlib import Path

from app.core.config import load_settings
from app.telemetry.logging import configure_logging
from app.worker.main import work
from bench.composition import TIMING, open_services
from bench.embedder import HashEmbedder
from bench.kill_points import Killer


async def run(order: Path, seconds: float) -> None:
    """Work until a signal comes, from outside or from the killer."""
    embedder = HashEmbedder(seconds)
    async with open_services(load_settings(), embedder) as services:
        with Killer(order).installed(services, embedder):
            await work(services, TIMING)


if __name__ == "__main__":
    configure_logging("INFO")
    asyncio.run(run(Path(sys.argv[1]), float(sys.argv[2])))
