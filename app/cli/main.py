"""The process of the `groundeddocs` command: Ctrl-C ends it quietly from its first moment on.

What the command offers is in `app.cli.program`. It takes a while to load, so it is loaded here and not above.
"""

import sys
from collections.abc import Sequence

_INTERRUPTED = 130


def run(arguments: Sequence[str] | None = None) -> None:
    """Run one command and end the process with its exit code.

    Args:
        arguments: What was typed after the command's name; that of this process when not given.
    """
    try:
        from app.cli import program  # noqa: PLC0415 - see above

        program.run(sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt:
        raise SystemExit(_INTERRUPTED) from None


if __name__ == "__main__":
    run()
