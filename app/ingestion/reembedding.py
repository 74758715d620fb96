"""Gives a workspace vectors of another model while the old ones serve, then changes over in one transaction."""

import contextlib
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

import structlog

from app.core.errors import UnavailableError
from app.core.tenancy import WorkspaceScope
from app.db.locks import lock_documents
from app.db.session import Database
from app.ingestion import repository
from app.ingestion.batches import batches_by_length
from app.ingestion.embedding import EmbeddedChunks, embedded
from app.ingestion.errors import PassageRefusedError
from app.ingestion.overlap import OneBehind
from app.ingestion.types import PendingChunk, Yielded
from app.jobs.turns import OthersWait, nobody_waits
from app.llm.embedders import EmbedderChoice, Embedders, EmbeddingState, NotOfferedError
from app.llm.types import Embedder

log = structlog.get_logger(__name__)

_WINDOW = 512
_REMOVED_AT_ONCE = 1_000
"""Uploads and deletions wait meanwhile."""
_FIRST = UUID(int=0)


@dataclass(frozen=True, slots=True)
class Reembedded:
    """A workspace has changed over to `model`; it has `chunks` searchable passages, all with a vector of it."""

    model: str
    chunks: int


@dataclass(frozen=True, slots=True)
class Reembedding:
    """How far a workspace is on its way to `model`, in searchable passages that the asking member may read."""

    model: str
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class WorkspaceModel:
    """What a workspace is searched by, and wishes to be.

    Attributes:
        choice: The embedder that its owner wishes for.
        serving: The model that questions are compared by; empty while nothing is ready.
        reembedding: The way to the model of the choice; None when that one serves, or cannot be reached.
        problem: Why documents cannot be searched or the choice cannot be followed, and what to do; None without any.
    """

    choice: EmbedderChoice
    serving: str
    reembedding: Reembedding | None = None
    problem: str | None = None


class ReembeddingService:
    """Brings workspaces to the model of their choice. All of it can be stopped at any point, and done again."""

    def __init__(self, database: Database, embedders: Embedders) -> None:
        self._database = database
        self._embedders = embedders

    async def run(self, scope: WorkspaceScope, others_wait: OthersWait = nobody_waits) -> Reembedded | Yielded | None:
        """Embed what has no vector of the workspace's choice, then let the whole workspace be searched by it.

        New uploads get vectors of the old model meanwhile, and are ready at once; with a choice that keeps texts from
        that model's server they wait. Every vector that is stored is kept by the next run. The choice is looked at
        before each batch and at the end: the last one holds.

        Returns:
            `Yielded` when others waited for this worker; None when there is nothing to do, also because this service
            does not offer what was chosen.

        Raises:
            UnavailableError: The model does not answer, or gives no usable vector for some passage.
        """
        while embedder := await self._goal(scope):
            if yielded := await self._embed(scope, embedder, others_wait):
                return yielded
            if changed := await self._change_over(scope, embedder.model_id):
                return changed
        return None

    async def model_of(self, scope: WorkspaceScope) -> WorkspaceModel:
        """Return the workspace's choice and model, and how far the change from one to the other is.

        Only what the member may read is counted: a count would tell of documents that are hidden from them.
        """
        async with self._database.workspace(scope) as session:
            state = await repository.embedding_state(session, scope)
            known, problem = WorkspaceModel(state.choice, state.serving), self._problem(state)
            try:
                model = self._embedders.chosen(state.choice).model_id
            except UnavailableError as error:
                return replace(known, problem=problem or error.detail)
            if state.serving in ("", model):
                return replace(known, problem=problem)
            total, missing = await repository.count_ready_chunks(session, scope, model, readable_only=True)
        return replace(known, problem=problem, reembedding=Reembedding(model, total - missing, total))

    async def remove_old_vectors(self, scope: WorkspaceScope) -> int:
        """Delete the vectors of models that the workspace has left; return how many.

        Not before a few minutes after the change: a question that began before it still compares with them. Vectors of
        the model of its choice stay, since the workspace may be on its way to it, and so do those of every model that
        served or was chosen while this runs.

        Raises:
            UnavailableError: It is not known yet what the model of its choice is.
        """
        removed, kept = 0, set[str]()
        while True:
            async with self._database.workspace(scope) as session:
                # Who changes the model over, or chooses one, has seen what is deleted here, or is seen.
                await lock_documents(session, scope)
                kept |= self._models(await repository.embedding_state(session, scope))
                deleted = await repository.delete_vectors_except(session, scope, sorted(kept), _REMOVED_AT_ONCE)
            removed += deleted
            if deleted < _REMOVED_AT_ONCE:
                log.info("reembedding.old_vectors_removed", workspace_id=str(scope.workspace_id), vectors=removed)
                return removed

    async def _goal(self, scope: WorkspaceScope) -> Embedder | None:
        """Return the embedder of the workspace's choice when another model serves."""
        async with self._database.workspace(scope) as session:
            state = await repository.embedding_state(session, scope)
        if not state.serving:
            return None
        try:
            embedder = self._embedders.chosen(state.choice)
        except NotOfferedError:
            log.warning("reembedding.not_offered", workspace_id=str(scope.workspace_id), choice=state.choice)
            return None
        return None if embedder.model_id == state.serving else embedder

    def _models(self, state: EmbeddingState) -> set[str]:
        try:
            return {state.serving, self._embedders.chosen(state.choice).model_id}
        except NotOfferedError:
            return {state.serving}

    def _problem(self, state: EmbeddingState) -> str | None:
        try:
            self._embedders.for_questions(state)
        except UnavailableError as error:
            return error.detail
        return None

    async def _embed(self, scope: WorkspaceScope, embedder: Embedder, others_wait: OthersWait) -> Yielded | None:
        """Embed a batch while the one before it is stored; no transaction is open while the model runs."""
        async with self._database.workspace(scope) as session:
            total, missing = await repository.count_ready_chunks(session, scope, embedder.model_id)
        before = done = total - missing
        async with OneBehind() as storing, contextlib.aclosing(self._missing(scope, embedder)) as batches:
            async for batch in batches:
                if done > before and await others_wait():
                    self._note(scope, embedder, done, total)
                    return Yielded(done, total)
                if await self._goal(scope) is not embedder:
                    break
                async for part in _embedded(embedder, batch):
                    done += len(part.ids)
                    await storing.start(self._store(scope, embedder, part))
        self._note(scope, embedder, done, total)
        return None

    async def _missing(self, scope: WorkspaceScope, embedder: Embedder) -> AsyncGenerator[Sequence[PendingChunk]]:
        """Yield searchable chunks without a vector in batches of like length."""
        last = _FIRST
        while True:
            async with self._database.workspace(scope) as session:
                window = await repository.missing_ready_chunks(
                    session, scope, embedder.model_id, after_id=last, limit=_WINDOW
                )
            if not window:
                return
            last = window[-1].id
            for batch in batches_by_length(window):
                yield batch

    async def _store(self, scope: WorkspaceScope, embedder: Embedder, part: EmbeddedChunks) -> None:
        async with self._database.workspace(scope) as session:
            await repository.insert_embeddings(session, scope, part.vectors, ids=part.ids, model=embedder.model_id)

    async def _change_over(self, scope: WorkspaceScope, model: str) -> Reembedded | None:
        """Change the workspace's model, unless its choice is another by now or some passage lacks a vector of it."""
        async with self._database.workspace(scope) as session:
            await lock_documents(session, scope)
            state = await repository.embedding_state(session, scope)
            if not state.serving or self._embedders.chosen(state.choice).model_id != model:
                return None
            total, missing = await repository.count_ready_chunks(session, scope, model)
            if missing:
                return None
            await repository.set_model(session, scope, model)
        log.info("reembedding.changed_over", workspace_id=str(scope.workspace_id), model=model, chunks=total)
        return Reembedded(model, total)

    def _note(self, scope: WorkspaceScope, embedder: Embedder, done: int, total: int) -> None:
        workspace_id = str(scope.workspace_id)
        log.info("reembedding.progress", workspace_id=workspace_id, model=embedder.model_id, done=done, total=total)


async def _embedded(embedder: Embedder, batch: Sequence[PendingChunk]) -> AsyncGenerator[EmbeddedChunks]:
    """Yield like `embedded`; without a vector of some passage the workspace stays with the model that has one."""
    try:
        async for part in embedded(embedder, batch):
            yield part
    except PassageRefusedError as refused:
        raise UnavailableError(
            f"The model {embedder.model_id} gives no usable vector for a passage on page {refused.page} of a document. "
            "The workspace is searched by its present model until it does."
        ) from refused
