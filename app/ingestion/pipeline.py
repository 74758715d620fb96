"""What happens to a stored file, from top to bottom: claim, parse, chunk, embed, swap in."""

import asyncio
import contextlib
import dataclasses
import threading
from collections.abc import AsyncGenerator, Iterator, Sequence

import structlog
from sqlalchemy.ext.asyncio import AsyncSession

from app.core.errors import NotFoundError, UnavailableError
from app.core.languages import detect_language, text_search_of
from app.core.tenancy import WorkspaceScope
from app.core.tokens import TokenCounter
from app.db.locks import lock_documents
from app.db.session import Database
from app.documents.media_types import MediaType
from app.documents.storage import BlobStore, finish_though_cancelled
from app.documents.types import Status
from app.ingestion import repository
from app.ingestion.batches import batches_by_length, in_batches, page_batches
from app.ingestion.chunking import Chunk, chunk
from app.ingestion.cutting import MAX_CHARACTERS
from app.ingestion.embedding import EmbeddedChunks, embedded
from app.ingestion.errors import ClaimLostError, ModelChangeError, OutageError, PassageRefusedError, WaitsError
from app.ingestion.lease import Timing, while_held
from app.ingestion.overlap import OneBehind
from app.ingestion.parsing.isolation import IsolatedParser
from app.ingestion.parsing.types import ParsedDocument, ParsedPage, ParseFailure, ParseLimits, ParseReason
from app.ingestion.types import Away, Busy, Claim, Finished, PendingChunk, Yielded
from app.jobs import dead_letters
from app.jobs.payloads import IngestPayload, TaskName
from app.jobs.turns import OthersWait, nobody_waits
from app.llm.embedders import Embedders, EmbeddingState, NotOfferedError
from app.llm.types import Embedder, ModelSetupError

log = structlog.get_logger(__name__)

# A file whose processing ended a worker this often without progress is given up: it must not stop the others for ever.
MAX_ATTEMPTS = 3
# Chunks in one statement: 0.15 s of this process, and progress that is seen to move.
_CHUNKS_AT_ONCE = 400
_MODEL = "the embedding model"
# Chunks that are read back at once, half a megabyte; batches are cut from them by length.
_WINDOW = 512


class IngestionService:
    """Makes stored files searchable. Running it again for the same content changes nothing.

    Args:
        database: Where everything is stored.
        blobs: Where the files are.
        embedders: The models that this process can run.
        parser: What reads the files.
        limits: The most that reading one file may take.
        max_passages: Most passages that one file is cut into.
        timing: The times of a claim.
    """

    def __init__(
        self,
        database: Database,
        blobs: BlobStore,
        embedders: Embedders,
        parser: IsolatedParser,
        limits: ParseLimits,
        *,
        max_passages: int = 50_000,
        timing: Timing = Timing(),  # noqa: B008 (immutable)
    ) -> None:
        self._database = database
        self._blobs = blobs
        self._embedders = embedders
        self._parser = parser
        self._limits = limits
        self._max_passages = max_passages
        self._timing = timing

    async def run(
        self, scope: WorkspaceScope, sha256: str, others_wait: OthersWait = nobody_waits
    ) -> Finished | Yielded | Busy | Away | None:
        """Process one content to its end, or until others wait for this worker.

        A file that cannot be read ends as failed with a typed reason. When the run is cancelled or makes way, or a part
        that it needs is away, the content waits again, and the attempt does not count. Other errors, whose reason is
        ours, pass to the job: it asks `after_error` what comes next.

        Returns:
            `Busy` while another worker holds the content; None when there was nothing to do, when the claim was lost
            to another worker, and when the document was deleted meanwhile.

        Raises:
            UnavailableError: The database was away before the content was claimed.
        """
        async with self._database.workspace(scope) as session:
            held = await repository.claim(session, scope, sha256, self._timing.lease)
        if not isinstance(held, Claim):
            return held
        try:
            work = self._process(scope, held, others_wait)
            ended = await while_held(self._database, scope, held, self._timing, work)
        except ClaimLostError:
            log.info("ingestion.claim_lost", workspace_id=str(scope.workspace_id), content=sha256)
            return None
        except asyncio.CancelledError:
            await finish_though_cancelled(self._release(scope, held, counts=False))
            raise
        except UnavailableError as error:
            return await self._wait(scope, held, error)
        except Exception:
            await self._release(scope, held, counts=True)
            raise
        if isinstance(ended, Yielded):
            await self._release(scope, held, counts=False)
        return ended

    async def after_error(self, scope: WorkspaceScope, sha256: str) -> int | None:
        """Return how often a content has been tried since its last progress; None when it has ended.

        The last try that failed for a reason of ours ends it as failed.
        """
        async with self._database.workspace(scope) as session:
            attempts = await repository.attempts_of(session, scope, sha256)
        if attempts is None or attempts < MAX_ATTEMPTS:
            return attempts
        detail = "The file could not be processed. Try again later."
        await self.give_up(scope, sha256, reason="internal", detail=detail)
        return None

    async def give_up(self, scope: WorkspaceScope, sha256: str, *, reason: str, detail: str) -> None:
        """End a content as failed for a reason of ours, for operators to look at and to try again.

        Nothing happens when it has ended already, is gone, or is held by a worker that lives.
        """
        async with self._database.workspace(scope) as session:
            held = await repository.claim(session, scope, sha256, self._timing.lease)
            if isinstance(held, Claim):
                await self._bury(session, scope, _without_this_attempt(held), reason, detail)

    async def _process(self, scope: WorkspaceScope, held: Claim, others_wait: OthersWait) -> Finished | Yielded:
        if held.attempts > MAX_ATTEMPTS:
            detail = "Processing this file stopped the worker several times. It was given up."
            return await self._fail_by_us(scope, _without_this_attempt(held), "worker_lost", detail)
        try:
            if not held.text_stored:
                await self._make_text(scope, held, await self._read(held))
            return await self._make_searchable(scope, held, others_wait)
        except ParseFailure as failure:
            return await self._fail_by_file(scope, held, failure)
        except NotFoundError:
            return await self._without_bytes(scope, held, others_wait)
        except PassageRefusedError as refused:
            detail = (
                f"The passage on page {refused.page} could not be embedded: the embedding model gives no usable result "
                "for it. Try again later, or change this page and upload the file again."
            )
            return await self._fail_by_us(scope, held, "embedding_failed", detail)

    async def _read(self, held: Claim) -> ParsedDocument:
        with _needed("the store of files"):
            data = await self._blobs.read(held.blob_key)
        return await self._parser.parse(data, MediaType(held.media_type), self._limits)

    async def _without_bytes(self, scope: WorkspaceScope, held: Claim, others_wait: OthersWait) -> Finished | Yielded:
        """End as failed a content whose bytes are gone, unless an upload has brought them again under a new key."""
        async with self._database.workspace(scope) as session:
            key = await repository.hold(session, scope, held)
            if key == held.blob_key:
                detail = "The stored file is gone. Upload the file again."
                await self._bury(session, scope, held, "file_missing", detail)
                return Finished(Status.FAILED, 0, "file_missing")
        return await self._process(scope, dataclasses.replace(held, blob_key=key), others_wait)

    async def _make_text(self, scope: WorkspaceScope, held: Claim, parsed: ParsedDocument) -> None:
        """Store pages and chunks, in batches, and last the mark that they are complete."""
        async with self._database.workspace(scope) as session:
            await repository.advance(session, scope, held, Status.CHUNKING, done=0, total=0)
        await self._store_pages(scope, held, parsed.pages)
        parsed = _without_boxes(parsed)
        chunks = await self._cut(parsed)
        text_search = await self._tell_language(scope, held, parsed)
        await self._store_chunks(scope, held, chunks, text_search)
        async with self._database.workspace(scope) as session:
            await repository.finish_text(session, scope, held, parsed, total=len(chunks))

    async def _store_pages(self, scope: WorkspaceScope, held: Claim, pages: Sequence[ParsedPage]) -> None:
        for start, batch in page_batches(pages):
            async with self._database.workspace(scope) as session:
                await repository.advance(session, scope, held, Status.CHUNKING, done=0, total=0)
                await repository.insert_pages(session, scope, held.sha256, batch, start)

    async def _cut(self, parsed: ParsedDocument) -> tuple[Chunk, ...]:
        with _stoppable(self._embedders.count_tokens) as count_tokens:
            chunks = await asyncio.to_thread(
                chunk, parsed, count_tokens, seconds=self._limits.seconds, max_passages=self._max_passages
            )
        if not chunks:
            raise ParseFailure(ParseReason.NO_TEXT)
        return chunks

    async def _tell_language(self, scope: WorkspaceScope, held: Claim, parsed: ParsedDocument) -> str:
        """Return how the words of all chunks are taken; chunks of a run with another language are all gone by now."""
        text = "".join(page.text for page in parsed.pages)
        language = await asyncio.to_thread(detect_language, text)
        text_search = text_search_of(language)
        async with self._database.workspace(scope) as session:
            await repository.set_language(session, scope, held, language=language, text_search=text_search)
        return text_search

    async def _store_chunks(
        self, scope: WorkspaceScope, held: Claim, chunks: Sequence[Chunk], text_search: str
    ) -> None:
        if any(len(each.text) > MAX_CHARACTERS for each in chunks):
            raise ValueError("a chunk is longer than the index of words is sure to take")
        for batch in in_batches(chunks, _CHUNKS_AT_ONCE):
            done = batch[-1].ordinal + 1
            async with self._database.workspace(scope) as session:
                await repository.advance(session, scope, held, Status.CHUNKING, done=done, total=len(chunks))
                await repository.insert_chunks(session, scope, held.sha256, batch, text_search)

    async def _make_searchable(self, scope: WorkspaceScope, held: Claim, others_wait: OthersWait) -> Finished | Yielded:
        """Embed what has no vector of the workspace's model, and swap in; again when that model changed meanwhile."""
        while True:
            embedder = await self._present(scope)
            if yielded := await self._embed(scope, held, embedder, others_wait):
                return yielded
            if finished := await self._swap_in(scope, held, embedder.model_id):
                return finished

    async def _present(self, scope: WorkspaceScope) -> Embedder:
        async with self._database.workspace(scope) as session:
            return self._embedder(await repository.embedding_state(session, scope))

    def _embedder(self, state: EmbeddingState) -> Embedder:
        try:
            return self._embedders.for_passages(state)
        except NotOfferedError as error:
            raise WaitsError(error.detail) from error
        except UnavailableError as error:
            raise OutageError(_MODEL) from error

    async def _may_read(self, scope: WorkspaceScope, embedder: Embedder) -> bool:
        """Tell whether a model still gets texts of the workspace, which may have left its server a batch ago."""
        return embedder is self._embedders.local or (await self._present(scope)).model_id == embedder.model_id

    async def _embed(
        self, scope: WorkspaceScope, held: Claim, embedder: Embedder, others_wait: OthersWait
    ) -> Yielded | None:
        """Embed a batch while the one before it is stored; no transaction is open while the model runs."""
        async with self._database.workspace(scope) as session:
            total, missing = await repository.count_chunks(session, scope, held.sha256, embedder.model_id)
            done = total - missing
            await repository.begin_embedding(session, scope, held, done=done, total=total)
        async with OneBehind() as storing, contextlib.aclosing(self._missing(scope, held, embedder)) as batches:
            async for batch in batches:
                if done > total - missing and await others_wait():
                    return Yielded(done, total)
                if not await self._may_read(scope, embedder):
                    return None
                async for part in _embedded(embedder, batch):
                    done += len(part.ids)
                    await storing.start(self._store(scope, held, embedder, part, done=done, total=total))
        return None

    async def _missing(
        self, scope: WorkspaceScope, held: Claim, embedder: Embedder
    ) -> AsyncGenerator[Sequence[PendingChunk]]:
        """Yield the chunks without a vector in batches of like length."""
        at = 0
        while True:
            async with self._database.workspace(scope) as session:
                window = await repository.missing_chunks(
                    session, scope, held.sha256, embedder.model_id, ordinal_from=at, limit=_WINDOW
                )
            if not window:
                return
            at = window[-1].ordinal + 1
            for batch in batches_by_length(window):
                yield batch

    async def _store(
        self, scope: WorkspaceScope, held: Claim, embedder: Embedder, part: EmbeddedChunks, *, done: int, total: int
    ) -> None:
        async with self._database.workspace(scope) as session:
            await repository.progress(session, scope, held, done=done, total=total)
            await repository.insert_embeddings(session, scope, part.vectors, ids=part.ids, model=embedder.model_id)

    async def _swap_in(self, scope: WorkspaceScope, held: Claim, model: str) -> Finished | None:
        """Make the content current unless the workspace is embedded by another model by now.

        Raises:
            ModelChangeError: It is to be searched by this one, and is not yet.
        """
        async with self._database.workspace(scope) as session:
            await lock_documents(session, scope)
            state = await repository.embedding_state(session, scope)
            if self._embedder(state).model_id != model:
                return None
            if state.serving not in ("", model):
                raise ModelChangeError
            total, missing = await repository.count_chunks(session, scope, held.sha256, model)
            if missing:
                return None
            await repository.swap_in(session, scope, held, chunk_count=total, model=model)
            await repository.set_first_model(session, scope, model)
        return Finished(Status.READY, total, None)

    async def _wait(self, scope: WorkspaceScope, held: Claim, error: UnavailableError) -> Away | None:
        """Put a content back that waits for what is away, as soon as the database is there; None when it is lost.

        Nobody else can claim while the database is away, and a claim that is left to expire counts as an attempt.
        """
        _log_outage(scope, held, error)
        detail = error.detail if isinstance(error, WaitsError) else None
        while True:
            try:
                async with self._database.workspace(scope) as session:
                    progressed = await repository.attempts_of(session, scope, held.sha256) == 0
                    await repository.release(session, scope, held, counts=False, detail=detail)
            except ClaimLostError:
                return None
            except UnavailableError:
                await asyncio.sleep(self._timing.heartbeat.total_seconds())
            else:
                return Away(progressed)

    async def _release(self, scope: WorkspaceScope, held: Claim, *, counts: bool) -> None:
        try:
            async with self._database.workspace(scope) as session:
                await repository.release(session, scope, held, counts=counts)
        except (ClaimLostError, UnavailableError):
            log.info("ingestion.not_released", workspace_id=str(scope.workspace_id), content=held.sha256)

    async def _fail_by_file(self, scope: WorkspaceScope, held: Claim, failure: ParseFailure) -> Finished:
        detail = failure.detail_for(MediaType(held.media_type))
        async with self._database.workspace(scope) as session:
            await repository.fail(session, scope, held, reason=failure.reason, detail=detail)
        return Finished(Status.FAILED, 0, failure.reason)

    async def _fail_by_us(self, scope: WorkspaceScope, held: Claim, reason: str, detail: str) -> Finished:
        async with self._database.workspace(scope) as session:
            await self._bury(session, scope, held, reason, detail)
        return Finished(Status.FAILED, 0, reason)

    async def _bury(self, session: AsyncSession, scope: WorkspaceScope, held: Claim, reason: str, detail: str) -> None:
        """End a content and give up its job, in one transaction."""
        await repository.fail(session, scope, held, reason=reason, detail=detail)
        payload = IngestPayload(
            workspace_id=scope.workspace_id,
            content_sha256=held.sha256,
            user_id=scope.user_id,
            size_bytes=held.size_bytes,
        )
        await dead_letters.bury(
            session,
            scope,
            task=TaskName.INGEST,
            payload=payload.model_dump(mode="json"),
            content_sha256=held.sha256,
            reason=reason,
            detail=detail,
            attempts=held.attempts,
        )


@contextlib.contextmanager
def _stoppable(count_tokens: TokenCounter) -> Iterator[TokenCounter]:
    """Give a counter that raises once the block is left: it ends the thread that a cancelled run leaves behind."""
    stopped = threading.Event()

    def count(text: str) -> int:
        if stopped.is_set():
            raise ClaimLostError
        return count_tokens(text)

    try:
        yield count
    finally:
        stopped.set()


@contextlib.contextmanager
def _needed(part: str) -> Iterator[None]:
    """Say of a part that is away what it is, in words for the owner of the file."""
    try:
        yield
    except UnavailableError as error:
        raise OutageError(part) from error


async def _embedded(embedder: Embedder, batch: Sequence[PendingChunk]) -> AsyncGenerator[EmbeddedChunks]:
    with _needed(_MODEL):
        async for part in embedded(embedder, batch):
            yield part


def _log_outage(scope: WorkspaceScope, held: Claim, error: UnavailableError) -> None:
    """Log what is away; what only an operator can mend is logged as an error."""
    cause = error.__cause__ if isinstance(error.__cause__, UnavailableError) else error
    ids = {"workspace_id": str(scope.workspace_id), "content": held.sha256}
    write = log.error if isinstance(cause, ModelSetupError) else log.warning
    write("ingestion.waits", **ids, problem=cause.detail)


def _without_this_attempt(held: Claim) -> Claim:
    """Return a claim that was only taken to give up: nothing was tried under it."""
    return dataclasses.replace(held, attempts=held.attempts - 1)


def _without_boxes(parsed: ParsedDocument) -> ParsedDocument:
    """Return what is still needed of a document whose pages are stored: boxes can be larger than the text."""
    pages = tuple(dataclasses.replace(page, boxes=b"", furniture=()) for page in parsed.pages)
    return dataclasses.replace(parsed, pages=pages)
