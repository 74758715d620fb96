"""What happens to a stored file, from top to bottom: claim, parse, chunk, embed, swap in."""

import asyncio
from dataclasses import dataclass

import structlog

from app.core.errors import NotFoundError, UnavailableError
from app.core.tenancy import WorkspaceScope
from app.db.locks import lock_documents
from app.db.session import Database
from app.documents.media_types import MediaType
from app.documents.storage import BlobStore, finish_though_cancelled
from app.documents.types import Status
from app.ingestion import repository
from app.ingestion.chunking import CHUNKER_VERSION, Chunk, chunk
from app.ingestion.embedding import check_embeddings
from app.ingestion.errors import ClaimLostError
from app.ingestion.parsing.isolation import parse_isolated
from app.ingestion.parsing.types import ParsedDocument, ParseFailure, ParseLimits, ParseReason
from app.ingestion.repository import Claim
from app.llm.embedders import Embedders

log = structlog.get_logger(__name__)

# A file whose processing ended a worker this often is given up, so that it cannot stop the others for ever.
MAX_ATTEMPTS = 3
# Chunks in one transaction: progress is visible often, and a transaction stays short.
_BATCH = 64


@dataclass(frozen=True, slots=True)
class Finished:
    """How a run ended, for the log: ids and counts only."""

    status: Status
    chunks: int
    reason: str | None


class IngestionService:
    """Makes stored files searchable. Running it again for the same content changes nothing."""

    def __init__(self, database: Database, blobs: BlobStore, embedders: Embedders, limits: ParseLimits) -> None:
        self._database = database
        self._blobs = blobs
        self._embedders = embedders
        self._embedder = embedders.configured
        self._limits = limits

    async def run(self, scope: WorkspaceScope, sha256: str) -> Finished | None:
        """Process one content to its end; None when there was nothing to do or the claim was lost.

        A file that cannot be read ends as failed with a typed reason. When the run is cancelled, the content waits
        again, and the attempt does not count.
        Other errors, whose reason is ours, pass to the job: it asks `after_error` what comes next.
        """
        async with self._database.workspace(scope) as session:
            held = await repository.claim(session, scope, sha256)
        if held is None:
            return None
        try:
            return await self._process(scope, held)
        except ClaimLostError:
            log.info("ingestion.claim_lost", workspace_id=str(scope.workspace_id), content=sha256)
            return None
        except asyncio.CancelledError:
            await finish_though_cancelled(self._release(scope, held))
            raise

    async def after_error(self, scope: WorkspaceScope, sha256: str) -> int | None:
        """Return how often a content has been tried, for another try; None when it has ended.

        The last try that failed for a reason of ours ends it as failed.
        """
        async with self._database.workspace(scope) as session:
            attempts = await repository.attempts_of(session, scope, sha256)
        if attempts is None or attempts < MAX_ATTEMPTS:
            return attempts
        async with self._database.workspace(scope) as session:
            held = await repository.claim(session, scope, sha256)
            if held is not None:
                detail = "The file could not be processed. Try again later."
                await repository.fail(session, scope, held, reason="internal", detail=detail)
        return None

    async def _process(self, scope: WorkspaceScope, held: Claim) -> Finished:
        if held.attempts > MAX_ATTEMPTS:
            detail = "Processing this file stopped the worker several times. It was given up."
            return await self._fail(scope, held, "worker_lost", detail)
        try:
            data = await self._blobs.read(held.blob_key)
            parsed = await parse_isolated(data, MediaType(held.media_type), self._limits)
            chunks = await self._chunk(scope, held, parsed)
        except ParseFailure as failure:
            return await self._fail(scope, held, failure.reason, failure.detail)
        except NotFoundError:
            detail = "The stored file is gone. Delete the document and upload it again."
            return await self._fail(scope, held, "file_missing", detail)
        await self._store_text(scope, held, parsed, total=len(chunks))
        for start in range(0, len(chunks), _BATCH):
            await self._store_batch(scope, held, parsed, chunks[start : start + _BATCH], total=len(chunks))
        await self._swap_in(scope, held, parsed, len(chunks))
        return Finished(Status.READY, len(chunks), None)

    async def _chunk(self, scope: WorkspaceScope, held: Claim, parsed: ParsedDocument) -> tuple[Chunk, ...]:
        async with self._database.workspace(scope) as session:
            await repository.advance(session, scope, held, Status.CHUNKING, done=0, total=len(parsed.pages))
        chunks = await asyncio.to_thread(
            chunk, parsed.pages, self._embedders.count_tokens, seconds=self._limits.seconds
        )
        if not chunks:
            raise ParseFailure(ParseReason.NO_TEXT)
        return chunks

    async def _store_text(self, scope: WorkspaceScope, held: Claim, parsed: ParsedDocument, *, total: int) -> None:
        async with self._database.workspace(scope) as session:
            await repository.advance(session, scope, held, Status.EMBEDDING, done=0, total=total)
            await repository.insert_pages(session, scope, held.sha256, parsed)

    async def _store_batch(
        self, scope: WorkspaceScope, held: Claim, parsed: ParsedDocument, chunks: tuple[Chunk, ...], *, total: int
    ) -> None:
        """Embed a batch, then write it; no transaction is open while the model runs."""
        raw = await self._embedder.embed_passages([item.text for item in chunks])
        vectors = check_embeddings(raw, expected_count=len(chunks), dimension=self._embedder.dimension)
        done = chunks[-1].ordinal + 1
        async with self._database.workspace(scope) as session:
            await repository.advance(session, scope, held, Status.EMBEDDING, done=done, total=total)
            ids = await repository.insert_chunks(
                session,
                scope,
                held.sha256,
                chunks,
                parser_version=parsed.parser_version,
                chunker_version=CHUNKER_VERSION,
            )
            await repository.insert_embeddings(
                session, scope, held.sha256, vectors, ids=ids, model=self._embedder.model_id
            )

    async def _swap_in(self, scope: WorkspaceScope, held: Claim, parsed: ParsedDocument, chunk_count: int) -> None:
        async with self._database.workspace(scope) as session:
            await lock_documents(session, scope)
            await repository.swap_in(
                session,
                scope,
                held,
                parsed,
                chunk_count=chunk_count,
                chunker_version=CHUNKER_VERSION,
                model=self._embedder.model_id,
            )

    async def _release(self, scope: WorkspaceScope, held: Claim) -> None:
        try:
            async with self._database.workspace(scope) as session:
                await repository.release(session, scope, held)
        except (ClaimLostError, UnavailableError):
            log.info("ingestion.not_released", workspace_id=str(scope.workspace_id), content=held.sha256)

    async def _fail(self, scope: WorkspaceScope, held: Claim, reason: str, detail: str) -> Finished:
        async with self._database.workspace(scope) as session:
            await repository.fail(session, scope, held, reason=reason, detail=detail)
        return Finished(Status.FAILED, 0, reason)
