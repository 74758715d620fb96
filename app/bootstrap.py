"""The composition root: settings in, services out. Used by the API, the worker, the evaluation and the attack suite."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

import httpx
import procrastinate
import structlog

from app.answering.service import AnsweringService
from app.auth.jwks import JwksCache
from app.auth.tokens import TokenVerifier
from app.cache.entries import AnswerCacheEntries
from app.core.config import Settings
from app.core.errors import AppError, ConfigurationError, UnavailableError
from app.db.engine import create_engine
from app.db.session import Database
from app.documents.dead_letters import DeadLetterService
from app.documents.pending_blobs import PendingBlobs
from app.documents.service import DocumentService
from app.documents.storage import BlobStore, open_store
from app.ingestion.parsing.isolation import IsolatedParser
from app.ingestion.parsing.types import ParseLimits
from app.ingestion.pipeline import IngestionService
from app.ingestion.reembedding import ReembeddingService
from app.jobs.queue import JobQueue, queue_app
from app.llm.embedders import Embedders
from app.llm.embeddings import LocalEmbedder
from app.llm.providers.http_reranker import open_reranker
from app.llm.providers.openai_client import open_client
from app.llm.providers.openai_embeddings import OpenAIModels
from app.llm.reranking import NullReranker
from app.llm.types import Reranker
from app.redis.client import RedisClients, connect
from app.retrieval.cells import VectorCells
from app.retrieval.service import RetrievalService
from app.workspaces.service import WorkspaceService

log = structlog.get_logger(__name__)

# An identity provider that does not answer must not hold a request: last good keys serve meanwhile.
_KEYS_TIMEOUT = httpx.Timeout(2.0)
_CHECK_EMBEDDING_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Services:
    """Everything that a process works with, built once."""

    settings: Settings
    database: Database
    redis: RedisClients
    keys: JwksCache
    tokens: TokenVerifier
    blobs: BlobStore
    pending_blobs: PendingBlobs
    queue_app: procrastinate.App
    queue: JobQueue
    embedders: Embedders
    reranker: Reranker
    parser: IsolatedParser
    workspaces: WorkspaceService
    documents: DocumentService
    dead_letters: DeadLetterService
    ingestion: IngestionService
    reembedding: ReembeddingService
    retrieval: RetrievalService
    cells: VectorCells
    answering: AnsweringService


@asynccontextmanager
async def build_services(settings: Settings) -> AsyncIterator[Services]:
    """Build all services; leaving the block closes what they opened.

    Only the embedding model is checked here, readiness does the rest. A reranker is not: searches go on without it.

    Raises:
        ConfigurationError: The weights of the local model are missing, or the configured embedding model answers and
            cannot be used: with this key, under this name, or with vectors of this length.
    """
    async with AsyncExitStack() as stack:
        engine = create_engine(settings.database_url.get_secret_value(), pool_size=settings.database_pool_size)
        stack.push_async_callback(engine.dispose)
        redis = connect(settings.redis_cache_url.get_secret_value(), settings.redis_limits_url.get_secret_value())
        stack.push_async_callback(redis.aclose)
        http = await stack.enter_async_context(httpx.AsyncClient(timeout=_KEYS_TIMEOUT, follow_redirects=False))
        keys = _keys(settings, http)
        stack.push_async_callback(keys.aclose)
        embedders = await _open_embedders(settings)
        stack.push_async_callback(embedders.aclose)
        await stack.enter_async_context(_embedding_checked(embedders))
        reranker = _open_reranker(settings)
        stack.push_async_callback(reranker.aclose)
        parser = IsolatedParser()
        stack.push_async_callback(parser.aclose)
        yield compose_services(settings, Database(engine), redis, keys, embedders, parser=parser, reranker=reranker)


def compose_services(
    settings: Settings,
    database: Database,
    redis: RedisClients,
    keys: JwksCache,
    embedders: Embedders,
    *,
    parser: IsolatedParser,
    reranker: Reranker | None = None,
) -> Services:
    """Build the services on connections and processes that the caller has opened and will close."""
    reranker = reranker or NullReranker()
    blobs = BlobStore(open_store(settings))
    pending = PendingBlobs(database, blobs)
    app = queue_app(settings.database_url.get_secret_value())
    queue = JobQueue(app)
    retrieval = RetrievalService(
        database, embedders, max_query_characters=settings.max_question_characters, reranker=reranker
    )
    return Services(
        settings=settings,
        database=database,
        redis=redis,
        keys=keys,
        tokens=_tokens(settings, keys),
        blobs=blobs,
        pending_blobs=pending,
        queue_app=app,
        queue=queue,
        embedders=embedders,
        reranker=reranker,
        parser=parser,
        workspaces=WorkspaceService(database, queue, embedders),
        documents=DocumentService(
            database,
            blobs,
            pending,
            queue,
            AnswerCacheEntries(redis.cache),
            max_upload_bytes=settings.max_upload_bytes,
        ),
        dead_letters=DeadLetterService(database, queue),
        ingestion=IngestionService(
            database, blobs, embedders, parser, _parse_limits(settings), max_passages=settings.max_passages
        ),
        reembedding=ReembeddingService(database, embedders),
        retrieval=retrieval,
        cells=VectorCells(database),
        answering=AnsweringService(
            database, retrieval, embedders.local, max_question_characters=settings.max_question_characters
        ),
    )


async def _open_embedders(settings: Settings) -> Embedders:
    key, address, model = settings.openai_api_key.get_secret_value(), settings.openai_base_url, settings.embedding_model
    if model and not (key or address):
        raise ConfigurationError("EMBEDDING_MODEL is set, so OPENAI_API_KEY or OPENAI_BASE_URL is needed too.")
    local = await asyncio.to_thread(LocalEmbedder.load, settings.model_path, settings.embedding_threads)
    if not (key or address):
        return Embedders(local)
    models = OpenAIModels(open_client(key, address))
    return Embedders(local, models.embedder(model, settings.embedding_dimension) if model else None, models)


def _open_reranker(settings: Settings) -> Reranker:
    if not settings.rerank_url:
        return NullReranker()
    return open_reranker(
        settings.rerank_url,
        model=settings.rerank_model,
        api_key=settings.rerank_api_key,
        seconds=settings.rerank_timeout_seconds,
    )


@asynccontextmanager
async def _embedding_checked(embedders: Embedders) -> AsyncIterator[None]:
    """Refuse to start with a model that cannot be used, and start without one that is out of reach.

    Documents can be read and listed without it, its provider may be back in a minute, and readiness names it meanwhile.
    It is asked again until it answers: before that, the length of its vectors, and so its id, may be unknown.
    """
    again: asyncio.Task[None] | None = None
    try:
        await embedders.check()
    except UnavailableError as error:
        log.warning("embedding.not_checked", detail=error.detail)
        again = asyncio.create_task(_check_until_it_answers(embedders))
    try:
        yield
    finally:
        if again:
            again.cancel()
            await asyncio.wait([again])


async def _check_until_it_answers(embedders: Embedders) -> None:
    while True:
        await asyncio.sleep(_CHECK_EMBEDDING_SECONDS)
        try:
            await embedders.check()
        except AppError as error:
            log.warning("embedding.not_checked", detail=error.detail)
        else:
            log.info("embedding.checked")
            return


def _keys(settings: Settings, http: httpx.AsyncClient) -> JwksCache:
    return JwksCache(
        http,
        issuer=settings.oidc_issuer,
        jwks_url=settings.oidc_jwks_url,
        algorithms=settings.oidc_algorithms,
    )


def _tokens(settings: Settings, keys: JwksCache) -> TokenVerifier:
    return TokenVerifier(
        keys,
        issuer=settings.oidc_issuer,
        audience=settings.oidc_audience,
        algorithms=settings.oidc_algorithms,
        require_at_jwt=settings.oidc_require_at_jwt,
        token_id_claim=settings.oidc_token_id_claim,
    )


def _parse_limits(settings: Settings) -> ParseLimits:
    return ParseLimits(
        seconds=settings.parse_seconds,
        memory_bytes=settings.parse_memory_bytes,
        max_pages=settings.max_pages,
        max_characters=settings.max_characters,
        max_unpacked_bytes=settings.max_unpacked_bytes,
    )
