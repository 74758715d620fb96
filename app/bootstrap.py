"""The composition root: settings in, services out. Used by the API, the worker, the evaluation and the attack suite."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

import httpx
import procrastinate

from app.answering.service import AnsweringService
from app.auth.jwks import JwksCache
from app.auth.tokens import TokenVerifier
from app.cache.entries import AnswerCacheEntries
from app.core.config import Settings
from app.db.engine import create_engine
from app.db.session import Database
from app.documents.pending_blobs import PendingBlobs
from app.documents.service import DocumentService
from app.documents.storage import BlobStore, open_store
from app.ingestion.parsing.types import ParseLimits
from app.ingestion.pipeline import IngestionService
from app.jobs.queue import JobQueue, queue_app
from app.llm.embedders import Embedders
from app.llm.embeddings import LocalEmbedder
from app.redis.client import RedisClients, connect
from app.retrieval.service import RetrievalService
from app.workspaces.service import WorkspaceService

# An identity provider that does not answer must not hold a request: last good keys serve meanwhile.
_KEYS_TIMEOUT = httpx.Timeout(2.0)


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
    workspaces: WorkspaceService
    documents: DocumentService
    ingestion: IngestionService
    retrieval: RetrievalService
    answering: AnsweringService


@asynccontextmanager
async def build_services(settings: Settings) -> AsyncIterator[Services]:
    """Build all services; leaving the block closes what they opened. Nothing is checked here: readiness does that.

    Raises:
        ConfigurationError: The weights of the local model are missing.
    """
    async with AsyncExitStack() as stack:
        engine = create_engine(settings.database_url.get_secret_value(), pool_size=settings.database_pool_size)
        stack.push_async_callback(engine.dispose)
        redis = connect(settings.redis_cache_url.get_secret_value(), settings.redis_limits_url.get_secret_value())
        stack.push_async_callback(redis.aclose)
        http = await stack.enter_async_context(httpx.AsyncClient(timeout=_KEYS_TIMEOUT, follow_redirects=False))
        keys = _keys(settings, http)
        stack.push_async_callback(keys.aclose)
        local = await asyncio.to_thread(LocalEmbedder.load, settings.model_path, settings.embedding_threads)
        embedders = Embedders(local)
        stack.push_async_callback(embedders.aclose)
        yield compose_services(settings, Database(engine), redis, keys, embedders)


def compose_services(
    settings: Settings, database: Database, redis: RedisClients, keys: JwksCache, embedders: Embedders
) -> Services:
    """Build the services on connections that the caller has opened and will close."""
    blobs = BlobStore(open_store(settings))
    pending = PendingBlobs(database, blobs)
    app = queue_app(settings.database_url.get_secret_value())
    queue = JobQueue(app)
    retrieval = RetrievalService(database, embedders, max_query_characters=settings.max_question_characters)
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
        workspaces=WorkspaceService(database, queue),
        documents=DocumentService(
            database,
            blobs,
            pending,
            queue,
            AnswerCacheEntries(redis.cache),
            max_upload_bytes=settings.max_upload_bytes,
        ),
        ingestion=IngestionService(database, blobs, embedders, _parse_limits(settings)),
        retrieval=retrieval,
        answering=AnsweringService(
            database, retrieval, embedders.local, max_question_characters=settings.max_question_characters
        ),
    )


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
