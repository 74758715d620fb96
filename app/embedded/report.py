"""What `up` says on the terminal: coloured on a terminal, plain text elsewhere."""

from pathlib import Path

from rich.console import Console

from app.embedded.lock import Instance

# Where the client commands look when nobody tells them otherwise.
_DEFAULT_ADDRESS = "http://127.0.0.1:8080"


class Report:
    """Writes lines for people.

    Args:
        console: Where to; standard output when not given.
    """

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(highlight=False, soft_wrap=True)

    def starting(self, root: Path) -> None:
        """Tell that the start has begun."""
        self._console.print(f"Starting GroundedDocs in {root}", markup=False)

    def started(self, name: str, seconds: float) -> None:
        """Tell that one part is ready."""
        self._console.print(f"  {name:<14} ready after {seconds:4.1f} s", markup=False)

    def begun(self, name: str) -> None:
        """Tell that one part runs that nobody can ask whether it is ready."""
        self._console.print(f"  {name:<14} started", markup=False)

    def note(self, text: str) -> None:
        """Tell something that the user should know and that stops nothing."""
        self._console.print(f"  note: {text}", style="yellow", markup=False)

    def ended(self, name: str, code: int, log_end: str, delay: float) -> None:
        """Tell that a part ended by itself and is started again."""
        text = f"{name} ended with code {code} and is started again in {delay:.1f} s. {log_end}"
        self._console.print(text, style="red", markup=False)

    def back(self, name: str, seconds: float) -> None:
        """Tell that a part that had ended does its work again."""
        self._console.print(f"{name} is back after {seconds:.1f} s.", style="green", markup=False)

    def ready(self, instance: Instance, root: Path, logs: Path, seconds: float) -> None:
        """Tell where everything is and what to type next."""
        self._console.print(_summary(instance, root, logs, seconds), markup=False)

    def stopping(self) -> None:
        """Tell that the end has begun."""
        self._console.print("Stopping.", markup=False)

    def stopped(self, seconds: float) -> None:
        """Tell that nothing runs any more."""
        self._console.print(f"Stopped after {seconds:.1f} s.", markup=False)


def _summary(instance: Instance, root: Path, logs: Path, seconds: float) -> str:
    elsewhere = "" if instance.address == _DEFAULT_ADDRESS else f"  export GROUNDEDDOCS_URL={instance.address}\n"
    return f"""
GroundedDocs is ready after {seconds:.1f} s.

  Address            {instance.address}
  Identity provider  {instance.issuer}
  Data folder        {root}
  Logs               {logs}
  Demo users         alice, bob, mallory (no passwords; this machine only)

Next, in another terminal:

{elsewhere}  groundeddocs token alice --save          sign in as a demo user (or in your browser: groundeddocs login)
  groundeddocs ask "What happens when no quote can be verified?"
  groundeddocs upload FILES...             add your own documents, then ask about them
  groundeddocs workspaces                  list your workspaces; --help lists everything else

Ctrl-C stops everything.
"""
