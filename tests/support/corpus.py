"""Documents for tests of search and answers: uploaded and processed by the product, with vectors of words."""

import io
import zlib
from collections.abc import Sequence
from hashlib import sha256

import numpy as np

from app.answering.words import content_stems
from app.core.tenancy import WorkspaceScope
from app.documents.service import DocumentService
from app.documents.types import Upload, UploadResult, Visibility
from app.ingestion.pipeline import IngestionService
from app.llm.types import Vectors


class WordEmbedder:
    """Vectors of the words of a text: texts that share words are near. Implements `app.llm.types.Embedder`."""

    model_id = "words-256"
    dimension = 256

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Return one vector for each text."""
        return np.array([self._vector(text) for text in texts], dtype=np.float32).reshape(len(texts), self.dimension)

    async def embed_query(self, text: str) -> Vectors:
        """Return the vector of a question."""
        return self._vector(text)

    def count_tokens(self, text: str) -> int:
        """Return the number of words."""
        return len(text.split())

    def close(self) -> None:
        """Hold nothing."""

    def _vector(self, text: str) -> Vectors:
        vector = np.full(self.dimension, 0.01, dtype=np.float32)
        for stem in content_stems(text) or {text}:
            vector[zlib.crc32(stem.encode()) % self.dimension] += 1
        return vector / np.linalg.norm(vector)


class Corpus:
    """Puts documents into workspaces."""

    def __init__(self, documents: DocumentService, ingestion: IngestionService) -> None:
        self._documents = documents
        self._ingestion = ingestion

    async def add(
        self,
        scope: WorkspaceScope,
        name: str,
        text: str,
        visibility: Visibility = Visibility.WORKSPACE,
        *,
        process: bool = True,
    ) -> UploadResult:
        """Upload a text and, unless told otherwise, make it searchable."""
        data = text.encode()
        uploaded = await self._documents.upload(scope, Upload(name, io.BytesIO(data), visibility))
        if process:
            await self._ingestion.run(scope, sha256(data).hexdigest())
        return uploaded
