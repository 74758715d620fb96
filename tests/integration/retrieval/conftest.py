"""Search over documents that the product itself took in."""

import pytest

from app.bootstrap import Services
from app.ingestion.parsing.types import ParseLimits
from app.ingestion.pipeline import IngestionService
from app.llm.embedders import Embedders
from app.retrieval.service import RetrievalService
from tests.support.corpus import Corpus, WordEmbedder


@pytest.fixture(scope="session")
def retrieval(services: Services) -> RetrievalService:
    return RetrievalService(services.database, Embedders(WordEmbedder()), max_query_characters=4_000)


@pytest.fixture(scope="session")
def corpus(services: Services) -> Corpus:
    limits = ParseLimits(
        seconds=30, memory_bytes=512 * 1024 * 1024, max_pages=100, max_characters=1_000_000, max_unpacked_bytes=2**29
    )
    return Corpus(
        services.documents,
        IngestionService(services.database, services.blobs, Embedders(WordEmbedder()), services.parser, limits),
    )
