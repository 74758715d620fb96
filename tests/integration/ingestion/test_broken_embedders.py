from collections.abc import Callable, Sequence

import numpy as np
import pytest
import sqlalchemy as sa

from app.bootstrap import Services
from app.db.models import Chunk, ChunkEmbedding, DeadLetter
from app.documents.types import Status
from app.ingestion.types import Finished
from app.llm.types import InputRefusedError, InvalidEmbeddingsError, Vectors
from tests.support.documents import Shelf, digest, long_text
from tests.support.embedder import HashEmbedder
from tests.support.pipelines import assert_whole, models_of, pipeline, stored
from tests.support.tenants import Tenant

BOOK = long_text(40)
BAD = "chapter 17."
Spoil = Callable[[Vectors], Vectors]


class SpoilingEmbedder(HashEmbedder):
    """Returns something else than asked for, always or for texts that hold a mark."""

    def __init__(self, spoil: Spoil, mark: str = "", longest: int = 0) -> None:
        self._spoil = spoil
        self._mark = mark
        self._longest = longest
        self.calls = 0

    def _bad(self, text: str) -> bool:
        return self._mark in text and len(text) > self._longest

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        self.calls += 1
        vectors = (await super().embed_passages(texts)).copy()
        bad = [n for n, text in enumerate(texts) if self._bad(text)]
        if not bad:
            return vectors
        spoiled = self._spoil(vectors)
        if np.shape(np.asarray(spoiled, dtype=object)) != vectors.shape:
            return spoiled  # one bad text spoils the shape of all
        vectors[bad] = spoiled[bad]
        return vectors


class RefusingEmbedder(SpoilingEmbedder):
    """Refuses texts that hold a mark, as long as they are longer than it takes."""

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        self.calls += 1
        vectors = (await HashEmbedder.embed_passages(self, texts)).copy()
        bad = tuple(n for n, text in enumerate(texts) if self._bad(text))
        if bad:
            vectors[list(bad)] = 0
            raise InputRefusedError("too long", bad, vectors)
        return vectors


def _raise(error: Exception) -> Spoil:
    def spoil(vectors: Vectors) -> Vectors:
        raise error

    return spoil


KINDS: dict[str, Spoil] = {
    "fewer": lambda vectors: vectors[:-1],
    "more": lambda vectors: np.concatenate([vectors, vectors[:1]]),
    "nan": lambda vectors: vectors * np.float32("nan"),
    "inf": lambda vectors: np.where(np.arange(vectors.shape[1]) == 0, np.float32("inf"), vectors),
    "huge": lambda vectors: vectors * np.float32(1e38),
    "not unit": lambda vectors: vectors * 2,
    "short": lambda vectors: vectors[:, :-1],
    "flat": lambda vectors: vectors[0],
    "ragged": lambda vectors: [*vectors[1:], vectors[0, 1:]],  # type: ignore[dict-item,return-value]  # as servers may
    "zero": np.zeros_like,
    "invalid": _raise(InvalidEmbeddingsError("what the adapter found")),
}


async def letters(shelf: Shelf, tenant: Tenant) -> list[str]:
    async with shelf.services.database.workspace(tenant.scope) as session:
        return list(await session.scalars(sa.select(DeadLetter.reason)))


@pytest.mark.parametrize("kind", KINDS)
async def test_vectors_that_cannot_be_used_make_nothing_visible(
    shelf: Shelf, tenant: Tenant, services: Services, kind: str
) -> None:
    made = await shelf.upload(tenant.scope, "book.md", BOOK)
    embedder = SpoilingEmbedder(KINDS[kind])
    finished = await pipeline(services, embedder).run(tenant.scope, digest(BOOK))
    assert finished == Finished(Status.FAILED, 0, "embedding_failed")
    assert embedder.calls < 80
    assert await shelf.count(tenant.scope, ChunkEmbedding) == 0
    assert await shelf.found(tenant.scope, "operator valve") == set()
    view = await services.documents.get(tenant.scope, made.document_id)
    assert (view.status, view.reason, view.chunk_count) == (Status.FAILED, "embedding_failed", 0)
    assert view.detail is not None
    assert view.detail.startswith("The passage on page 1 could not be embedded")
    assert await letters(shelf, tenant) == ["embedding_failed"]
    await services.documents.retry(tenant.scope, made.document_id)
    await shelf.process(tenant.scope, BOOK)
    await assert_whole(shelf, tenant.scope, BOOK)


@pytest.mark.parametrize("kind", KINDS)
async def test_one_bad_passage_never_loses_its_batch(
    shelf: Shelf, tenant: Tenant, services: Services, kind: str
) -> None:
    """Every other passage is stored, each with its own vector, and the next try embeds the bad one only."""
    made = await shelf.upload(tenant.scope, "book.md", BOOK)
    embedder = SpoilingEmbedder(KINDS[kind], BAD)
    finished = await pipeline(services, embedder).run(tenant.scope, digest(BOOK))
    assert finished == Finished(Status.FAILED, 0, "embedding_failed")
    assert await shelf.count(tenant.scope, ChunkEmbedding) >= 31
    assert await shelf.found(tenant.scope, "operator valve") == set()
    await services.documents.retry(tenant.scope, made.document_id)
    await shelf.process(tenant.scope, BOOK)
    await assert_whole(shelf, tenant.scope, BOOK)


@pytest.mark.parametrize("embedder_type", [RefusingEmbedder, SpoilingEmbedder], ids=["refused", "zero"])
async def test_a_passage_over_the_models_limit_is_embedded_from_its_halves(
    shelf: Shelf, tenant: Tenant, services: Services, embedder_type: type[SpoilingEmbedder]
) -> None:
    await shelf.upload(tenant.scope, "book.md", BOOK)
    embedder = embedder_type(np.zeros_like, BAD, longest=250)
    assert await pipeline(services, embedder).run(tenant.scope, digest(BOOK)) == Finished(Status.READY, 40, None)
    found = await stored(shelf, tenant.scope)
    vectors = {row.chunk_id: np.asarray(row.embedding) for row in found.embeddings}
    assert len(vectors) == 40
    plain = HashEmbedder()
    for chunk in found.chunks:
        (whole,) = await plain.embed_passages([chunk.text])
        vector = vectors[chunk.id]
        assert abs(np.linalg.norm(vector) - 1) < 0.01
        assert np.allclose(vector, whole, atol=1e-3) == (BAD not in chunk.text)


async def test_a_refused_passage_names_its_page(shelf: Shelf, tenant: Tenant, services: Services) -> None:
    await shelf.upload(tenant.scope, "book.md", BOOK)
    embedder = RefusingEmbedder(np.zeros_like, BAD)
    finished = await pipeline(services, embedder).run(tenant.scope, digest(BOOK))
    assert finished == Finished(Status.FAILED, 0, "embedding_failed")
    async with services.database.workspace(tenant.scope) as session:
        page = await session.scalar(sa.select(Chunk.page_start).where(Chunk.text.contains(BAD)))
    (content,) = await shelf.contents(tenant.scope)
    assert content.detail is not None
    assert f"page {page} " in content.detail
    assert (await models_of(shelf, tenant.scope))["hash-384"] >= 31
