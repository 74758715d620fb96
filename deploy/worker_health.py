# ruff: noqa: INP001 - a script, copied into the image on its own
"""Health check of a worker's container: whether a worker has written its heartbeat to the queue lately.

A worker that hangs stops writing. With several workers one live one satisfies the check of all; a worker that ended
takes its container with it, which needs no check.
"""

import os
import sys

import psycopg

# Workers write every 5 s (`app.jobs.queue.HEARTBEAT_EVERY`).
_ALIVE = "SELECT EXISTS (SELECT 1 FROM procrastinate_workers WHERE last_heartbeat > now() - interval '30 seconds')"


def main() -> int:
    """Return 0 when a worker is alive."""
    address = os.environ["DATABASE_URL"].replace("postgresql+psycopg://", "postgresql://", 1)
    with psycopg.connect(address, connect_timeout=2) as connection:
        row = connection.execute(_ALIVE).fetchone()
    return 0 if row and row[0] else 1


if __name__ == "__main__":
    sys.exit(main())
