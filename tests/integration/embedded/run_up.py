"""Runs the supervisor with the stand-in, as a process of its own that tests can interrupt and kill."""

import sys
from pathlib import Path

from app.embedded.errors import EmbeddedError
from app.embedded.options import EmbeddedOptions
from app.embedded.supervisor import up

if __name__ == "__main__":
    try:
        up(EmbeddedOptions(), program=(str(Path(__file__).with_name("standin.py")),))
    except EmbeddedError as error:
        sys.stdout.write(error.detail + "\n")
        sys.exit(1)
