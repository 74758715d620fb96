"""Commands that look into the documents: ask and search."""

import contextlib
import functools
import uuid
from typing import Annotated, Self

import typer
from rich.status import Status

from app.cli import output
from app.cli.answers import print_claim, print_passage, print_rest
from app.cli.client import Api, Call, JsonObject
from app.cli.commands.documents import every_document
from app.cli.errors import CliError, UnreachableError, UsageError
from app.cli.ids import canonical
from app.cli.options import JsonOption, UrlOption, WorkspaceOption, target
from app.cli.running import run_client
from app.cli.session import Session
from app.cli.words import FINAL_STATES, STILL_INDEXING


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    for command in (ask, search):
        app.command(rich_help_panel="Documents and questions")(command)


def ask(
    question: Annotated[str, typer.Argument(help="The question, in quotes.")],
    *,
    cache: Annotated[bool, typer.Option("--cache/--no-cache", help="Allow an answer given before.")] = True,
    conversation: Annotated[str | None, typer.Option(help="Id of a conversation to go on with.")] = None,
    url: UrlOption = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Ask a question; the answer is made of exact quotes, or says why there is none."""
    body: JsonObject = {"question": _text(question, "question"), "use_cache": cache}
    if conversation is not None:
        body["conversation_id"] = _conversation(conversation)
    call = Call("POST", "/v1/ask", body=body, key=str(uuid.uuid4()))
    run_client(target(url, workspace, as_json=as_json), functools.partial(_ask, call=call))


def search(
    query: Annotated[str, typer.Argument(help="What to look for, in quotes.")],
    *,
    limit: Annotated[int | None, typer.Option(min=1, max=50, help="Most passages to show.")] = None,
    url: UrlOption = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the passages that fit best, without an answer."""
    body: JsonObject = {"query": _text(query, "query")}
    if limit is not None:
        body["limit"] = limit
    # Nothing is changed by a search, so it may be sent again.
    call = Call("POST", "/v1/search", body=body, key=str(uuid.uuid4()))
    run_client(target(url, workspace, as_json=as_json), functools.partial(_search, call=call))


async def _ask(session: Session, *, call: Call) -> None:
    api = await session.in_workspace()
    if session.target.as_json:
        output.print_json(await api.json(call))
        return
    answer, shown = await _streamed(api, call)
    unread = await _unread(api) if answer.get("reason") == STILL_INDEXING else 0
    print_rest(answer, shown, unread)


async def _unread(api: Api) -> int:
    """Return how many documents of the workspace are still being read."""
    return sum(1 for each in await every_document(api) if each["status"] not in FINAL_STATES)


async def _streamed(api: Api, call: Call) -> tuple[JsonObject, int]:
    """Print claims as they come; return the whole answer and how many of its claims were printed.

    When the connection breaks, the same request with the same key brings the answer that was made.
    """
    shown = 0
    with StageLine() as stages:
        try:
            async with contextlib.aclosing(api.events(call)) as events:
                async for event in events:
                    if event.name == "status":
                        stages.show(event.data)
                    elif event.name == "claim":
                        print_claim(event.data)
                        shown += 1
                    elif event.name == "answer":
                        return event.data, shown
        except UnreachableError:
            return await api.json(call), shown
    raise CliError("The service ended the answer before it was complete. Ask again.")


async def _search(session: Session, *, call: Call) -> None:
    found = await (await session.in_workspace()).json(call)
    if session.target.as_json:
        output.print_json(found)
        return
    if not found["passages"]:
        output.say("No passage fits.")
    for number, passage in enumerate(found["passages"], start=1):
        print_passage(number, passage)


class StageLine:
    """What the service is doing: a line that changes on a terminal, one line for each stage elsewhere."""

    def __init__(self) -> None:
        self._console = output.err()
        live = self._console.is_terminal and output.out().is_terminal
        self._status = Status("Asking", console=self._console) if live else None

    def __enter__(self) -> Self:
        if self._status:
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._status:
            self._status.stop()

    def show(self, event: JsonObject) -> None:
        """Tell the stage of a `status` event."""
        words = output.neutral(event.get("detail") or event.get("stage") or "")
        if self._status:
            self._status.update(words)
        else:
            output.say(words)


def _text(typed: str, what: str) -> str:
    if not typed.strip():
        raise UsageError(f"The {what} is empty.")
    return typed


def _conversation(typed: str) -> str:
    known = canonical(typed)
    if known is None:
        raise UsageError(f"'{typed}' is not a conversation id.")
    return known
