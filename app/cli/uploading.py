"""Sending files and following what becomes of each."""

import asyncio
import contextlib
import uuid
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Any

from app.cli import output, words
from app.cli.client import Api, Call, Form, JsonObject
from app.cli.errors import CliError, ProblemError
from app.cli.files import LocalFile
from app.cli.progress import UploadProgress

# Enough to keep the service busy while another file is on its way.
_AT_ONCE = 3
_POLL_SECONDS = (0.5, 1.0, 2.0)


@dataclass(frozen=True, slots=True)
class Uploaded:
    """What became of one file.

    Args:
        file: The file.
        accepted: The service's answer to the upload; None when it refused.
        document: The last known state; None when it was not followed.
        error: Why it failed, in words; None when it did not.
    """

    file: LocalFile
    accepted: JsonObject | None
    document: JsonObject | None
    error: str | None

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
            "reason": document.get("reason"),
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
        if document is None:
            return f"{found}, not yet ready"
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
    slots = asyncio.Semaphore(_AT_ONCE)

    async def one(file: LocalFile) -> Uploaded:
        async with slots:
            progress.sending(file)
            result = await _upload(api, file, manner, progress)
            progress.finished(file)
            return result

    tasks = [asyncio.create_task(one(file)) for file in files]
    try:
        for next_done in asyncio.as_completed(tasks):
            yield await next_done
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _upload(api: Api, file: LocalFile, manner: Manner, progress: UploadProgress) -> Uploaded:
    accepted: JsonObject | None = None
    try:
        if too_large := _too_large(file, manner):
            return Uploaded(file, None, None, too_large)
        accepted = await api.json(_call(file, manner))
        document = await _follow(api, file, accepted, progress) if manner.wait else None
    except ProblemError as error:
        return Uploaded(file, accepted, None, error.detail)
    except OSError as error:
        return Uploaded(file, accepted, None, f"The file cannot be read: {error.strerror}.")
    failed = document is not None and document["status"] == "failed"
    return Uploaded(file, accepted, document, words.failure_of(document) if document and failed else None)


def _too_large(file: LocalFile, manner: Manner) -> str | None:
    """Return why a file need not be sent at all."""
    length = file.path.stat().st_size
    if length <= manner.max_bytes:
        return None
    return f"The file has {output.size(length)}; the service takes up to {output.size(manner.max_bytes)}."


def _call(file: LocalFile, manner: Manner) -> Call:
    """Return the request for a file, with a key that stays the same for all its attempts."""
    fields = {"name": manner.name or file.name}
    if manner.visibility:
        fields["visibility"] = manner.visibility

    def opened() -> tuple[str, Any, str]:
        return file.path.name, file.path.open("rb"), file.media_type

    return Call("POST", "/v1/documents", form=Form(fields, opened), key=str(uuid.uuid4()))


async def _follow(api: Api, file: LocalFile, accepted: JsonObject, progress: UploadProgress) -> JsonObject:
    """Return the document when its state is final; by events, and by asking when they break off."""
    path = f"/v1/documents/{accepted['document_id']}"
    try:
        async with contextlib.aclosing(api.events(Call("GET", f"{path}/events"))) as events:
            async for event in events:
                if event.name == "status":
                    progress.status(file, event.data)
                    if event.data["status"] in words.FINAL_STATES:
                        return event.data
    except CliError:
        # Streams break, and some proxies do not let them through. Asking tells whether more than the stream is gone.
        output.say(f"{output.neutral(file.name)}: the live progress broke off; asking now and then instead")
    return await _poll(api, path, file, progress)


async def _poll(api: Api, path: str, file: LocalFile, progress: UploadProgress) -> JsonObject:
    attempt = 0
    while True:
        document = await api.json(Call("GET", path))
        progress.status(file, document)
        if document["status"] in words.FINAL_STATES:
            return document
        await asyncio.sleep(_POLL_SECONDS[min(attempt, len(_POLL_SECONDS) - 1)])
        attempt += 1
