"""Sending files and following what becomes of each."""

import asyncio
import contextlib
import uuid
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import httpx

from app.cli import output, words
from app.cli.client import Api, Call, Form, JsonObject
from app.cli.errors import BrokenConnectionError, CliError, ProblemError
from app.cli.files import LocalFile
from app.cli.progress import UploadProgress

# Enough to keep the service busy while another file is on its way.
_SENT_AT_ONCE = 3
# Streams that are open at a time; who waits for one learns of its end a little later.
_FOLLOWED_AT_ONCE = 8
# How long a stream is kept while other files wait for one.
_TURN_SECONDS = 10.0
_POLL_SECONDS = (0.5, 1.0, 2.0)
# Waits before a file is sent again that the service had no room for. The same key makes it one upload.
_BUSY_SECONDS = (1.0, 3.0, 9.0)
_BUSY = frozenset({429, 503})


@dataclass(frozen=True, slots=True)
class Uploaded:
    """What became of one file.

    Args:
        file: The file.
        accepted: The service's answer to the upload; None when it refused.
        document: The last known state; None when it was not followed.
        error: Why it failed, in words; None when it did not.
        refusal: The code of a refusal; None when the service took the file.
    """

    file: LocalFile
    accepted: JsonObject | None
    document: JsonObject | None
    error: str | None
    refusal: str | None = None

    @property
    def reason(self) -> str | None:
        """Why it failed, as the service's code."""
        return self.refusal or (self.document or {}).get("reason")

    @property
    def similar(self) -> bool:
        """Whether the service said that it has something much like it: of a new document it says nothing else yet."""
        accepted = self.accepted or {}
        return accepted.get("outcome") == "created" and bool(accepted.get("warnings"))

    @property
    def pages_without_text(self) -> Sequence[int]:
        """Numbers of the pages that nothing can be quoted from."""
        return (self.document or {}).get("pages_without_text") or ()

    @property
    def at_once(self) -> bool:
        """Whether the service had nothing to do for it."""
        return self.accepted is None or _unchanged(self.accepted)

    def as_json(self) -> dict[str, object]:
        """Return what a program reads about it."""
        accepted, document = self.accepted or {}, self.document or {}
        return {
            "path": str(self.file.path),
            "name": document.get("name") or self.file.name,
            "document_id": accepted.get("document_id"),
            "version_id": accepted.get("version_id"),
            "outcome": accepted.get("outcome"),
            "status": document.get("status") or accepted.get("status"),
            "warnings": self.warnings(),
            "pages_without_text": list(self.pages_without_text),
            "reason": self.reason,
            "error": self.error,
        }

    def warnings(self) -> list[str]:
        """Return what the service said besides, each once."""
        given = [*((self.accepted or {}).get("warnings") or ()), *((self.document or {}).get("warnings") or ())]
        return list(dict.fromkeys(str(warning) for warning in given))

    def words(self) -> str:
        """Return what a person reads about it."""
        if self.error is not None:
            return f"failed: {self.error}"
        found = words.outcome(str((self.accepted or {}).get("outcome")))
        document = self.document
        if document is None or self.at_once:
            return found if (self.accepted or {}).get("status") == "ready" else f"{found}, not yet ready"
        pages, chunks = int(document.get("page_count") or 0), int(document.get("chunk_count") or 0)
        return f"{found}, {output.plural(pages, 'page')}, {output.plural(chunks, 'passage')}"


@dataclass(frozen=True, slots=True)
class Manner:
    """How the files of one upload are treated.

    Args:
        visibility: Who may read them; None leaves it to the service.
        name: Name for the only file; None for its own.
        wait: Whether to follow them until they are ready.
        max_bytes: Largest file that the service takes.
    """

    visibility: str | None
    name: str | None
    wait: bool
    max_bytes: int


async def upload_all(
    api: Api, files: Sequence[LocalFile], manner: Manner, progress: UploadProgress
) -> AsyncGenerator[Uploaded, None]:
    """Send all files, a few at a time, and yield what became of each as soon as it is known.

    Raises:
        CliError: The service is out of reach or does not know us; the files that are left are not tried.
    """
    uploader = _Uploader(api, manner, progress, crowded=len(files) > _FOLLOWED_AT_ONCE)
    tasks = [asyncio.create_task(uploader.upload(file)) for file in files]
    try:
        for next_done in asyncio.as_completed(tasks):
            yield await next_done
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class _Uploader:
    """Takes files one by one; sending does not wait for the service to finish what it has.

    So the service can choose what it reads first, and whoever stops the command early has sent the most.

    Args:
        api: The service.
        manner: How the files are treated.
        progress: Is told what happens.
        crowded: Whether there are more files than streams, so that these go round.
    """

    def __init__(self, api: Api, manner: Manner, progress: UploadProgress, *, crowded: bool) -> None:
        self._api = api
        self._manner = manner
        self._progress = progress
        self._sending = asyncio.Semaphore(_SENT_AT_ONCE)
        self._following = asyncio.Semaphore(_FOLLOWED_AT_ONCE)
        self._turn = _TURN_SECONDS if crowded else None
        self._told = False

    async def upload(self, file: LocalFile) -> Uploaded:
        """Send a file and follow it to its end."""
        result = await self._upload(file)
        self._progress.finished(file, failed=result.error is not None, at_once=result.at_once)
        return result

    async def _upload(self, file: LocalFile) -> Uploaded:
        accepted: JsonObject | None = None
        try:
            async with self._sending:
                if too_large := _too_large(file, self._manner):
                    return Uploaded(file, None, None, too_large, "document_too_large")
                accepted = await self._send(file)
                self._progress.accepted(file)
            document = await self._document(file, accepted)
        except ProblemError as error:
            return _refused(file, accepted, error)
        except OSError as error:
            return Uploaded(file, accepted, None, f"The file cannot be read: {error.strerror}.", "unreadable")
        failed = document is not None and document["status"] == "failed"
        return Uploaded(file, accepted, document, words.failure_of(document) if document and failed else None)

    async def _document(self, file: LocalFile, accepted: Mapping[str, Any]) -> JsonObject | None:
        """Return the document as far as it is wanted; of an unchanged one only when there is something to say of it."""
        if _unchanged(accepted):
            return await self._api.json(Call("GET", _path(accepted))) if accepted.get("warnings") else None
        return await self._follow(file, accepted) if self._manner.wait else None

    async def _send(self, file: LocalFile) -> JsonObject:
        try:
            return await self._send_patiently(_call(file, self._manner, self._progress))
        except ProblemError:
            raise
        except CliError as error:
            if not isinstance(error, BrokenConnectionError):
                self._progress.unsent(file)
            raise

    async def _send_patiently(self, call: Call) -> JsonObject:
        for seconds in _BUSY_SECONDS:
            try:
                return await self._api.json(call)
            except ProblemError as error:
                if error.http_status not in _BUSY:
                    raise
            await asyncio.sleep(seconds)
        return await self._api.json(call)

    async def _follow(self, file: LocalFile, accepted: Mapping[str, Any]) -> JsonObject:
        """Return the document when its state is final."""
        path = _path(accepted)
        document: JsonObject | None = None
        while document is None:
            async with self._following:
                document = await self._follow_a_turn(file, path)
        return document

    async def _follow_a_turn(self, file: LocalFile, path: str) -> JsonObject | None:
        """Follow by events, and by asking when they break off; None when the turn is over before the end."""
        self._progress.following(file)
        try:
            async with asyncio.timeout(self._turn):
                return await self._by_events(file, path) or await self._by_asking(file, path)
        except TimeoutError:
            return None
        finally:
            self._progress.left(file)

    async def _by_events(self, file: LocalFile, path: str) -> JsonObject | None:
        try:
            async with contextlib.aclosing(self._api.events(Call("GET", f"{path}/events"))) as events:
                async for event in events:
                    if event.name == "status":
                        self._progress.status(file, event.data)
                        if event.data["status"] in words.FINAL_STATES:
                            return event.data
        except CliError as error:
            if isinstance(error, ProblemError) and error.http_status == httpx.codes.NOT_FOUND:
                raise
            # Streams break, and some proxies do not let them through. Asking tells whether more than that is gone.
            if not self._told:
                self._told = True
                self._progress.say(
                    f"{output.neutral(file.name)}: the live progress broke off; asking now and then instead"
                )
        return None

    async def _by_asking(self, file: LocalFile, path: str) -> JsonObject:
        attempt = 0
        while True:
            document = await self._api.json(Call("GET", path))
            self._progress.status(file, document)
            if document["status"] in words.FINAL_STATES:
                return document
            await asyncio.sleep(_POLL_SECONDS[min(attempt, len(_POLL_SECONDS) - 1)])
            attempt += 1


def _path(accepted: Mapping[str, Any]) -> str:
    return f"/v1/documents/{accepted['document_id']}"


def _refused(file: LocalFile, accepted: JsonObject | None, error: ProblemError) -> Uploaded:
    """Return the result of a file that was refused, or whose document has gone since it was taken."""
    if accepted is not None and error.http_status == httpx.codes.NOT_FOUND:
        gone = "The document was deleted meanwhile, or you may no longer read it."
        return Uploaded(file, accepted, None, gone, "deleted")
    return Uploaded(file, accepted, None, error.detail, error.problem_code or error.code)


def _unchanged(accepted: Mapping[str, Any]) -> bool:
    """Return whether the service has the very same file, and has read it before."""
    return bool(accepted.get("outcome") == "identical" and accepted.get("status") == "ready")


def _too_large(file: LocalFile, manner: Manner) -> str | None:
    """Return why a file need not be sent at all."""
    length = file.path.stat().st_size
    if length <= manner.max_bytes:
        return None
    return f"The file has {output.size(length)}; the service takes up to {output.size(manner.max_bytes)}."


def _call(file: LocalFile, manner: Manner, progress: UploadProgress) -> Call:
    """Return the request for a file, with a key that stays the same for all its attempts.

    The file is opened when its request is about to go out, and that is when it counts as on its way.
    """
    fields = {"name": manner.name or file.name}
    if manner.visibility:
        fields["visibility"] = manner.visibility

    def opened() -> tuple[str, Any, str]:
        stream = file.path.open("rb")
        progress.sending(file)
        return file.path.name, stream, file.media_type

    return Call("POST", "/v1/documents", form=Form(fields, opened), key=str(uuid.uuid4()))
