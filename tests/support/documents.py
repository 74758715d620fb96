"""Uploads through the product's own services, and looks at what they left behind."""

import io
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import uuid4

import sqlalchemy as sa

from app.bootstrap import Services
from app.core.tenancy import WorkspaceScope
from app.db.models import Content, Workspace
from app.documents.types import DocumentView, Upload, UploadResult, Visibility
from app.ingestion.types import Away, Busy, Finished, Yielded

_JOBS = sa.text(
    "SELECT id, task_name, status::text, attempts, args, scheduled_at - now() AS waits FROM procrastinate_jobs "
    "WHERE args ->> 'workspace_id' = :workspace_id ORDER BY id"
)


def prose(subject: str, sentences: int = 3) -> bytes:
    """Return a text about something, different each time."""
    lines = [f"Sentence {n} of {subject} says that the pump {uuid4().hex} is checked daily." for n in range(sentences)]
    return " ".join(lines).encode()


def long_text(chapters: int) -> bytes:
    """Return a Markdown text of that many chapters, each at least one chunk; the same each time."""
    sentence = "The operator opens the valve, reads the pressure and writes it into the book of chapter {n}. "
    return "\n\n".join(f"# Chapter {n}\n\n{sentence.format(n=n) * 4}" for n in range(chapters)).encode()


def digest(data: bytes) -> str:
    """Return the identity of a content."""
    return sha256(data).hexdigest()


class Shelf:
    """The documents of any workspace.

    Args:
        services: The composition under test.
        blobs: Folder of its local blob store.
    """

    def __init__(self, services: Services, blobs: Path) -> None:
        self.services = services
        self._blobs = blobs

    async def upload(
        self, scope: WorkspaceScope, name: str, data: bytes, visibility: Visibility = Visibility.WORKSPACE
    ) -> UploadResult:
        """Upload a file and leave it in the queue."""
        return await self.services.documents.upload(scope, Upload(name, io.BytesIO(data), visibility))

    async def process(self, scope: WorkspaceScope, data: bytes) -> Finished | None:
        """Run the pipeline over a content that no other worker holds."""
        ended = await self.services.ingestion.run(scope, digest(data))
        assert not isinstance(ended, Busy | Yielded | Away)
        return ended

    async def add(
        self, scope: WorkspaceScope, name: str, data: bytes, visibility: Visibility = Visibility.WORKSPACE
    ) -> UploadResult:
        """Upload a file and make it searchable."""
        uploaded = await self.upload(scope, name, data, visibility)
        await self.process(scope, data)
        return uploaded

    async def listed(self, scope: WorkspaceScope) -> Sequence[DocumentView]:
        """Return all documents that a member sees."""
        return await self.services.documents.page_of(scope, status=None, limit=1_000, before=None)

    async def found(self, scope: WorkspaceScope, query: str) -> set[str]:
        """Return the names of the documents that a search finds passages of."""
        return {passage.document_name for passage in (await self.services.retrieval.search(scope, query)).passages}

    async def jobs(self, scope: WorkspaceScope) -> Sequence[Mapping[str, Any]]:
        """Return the jobs of a workspace, oldest first."""
        async with self.services.database.workspace(scope) as session:
            rows = await session.execute(_JOBS, {"workspace_id": str(scope.workspace_id)})
            return [dict(row) for row in rows.mappings()]

    async def contents(self, scope: WorkspaceScope) -> Sequence[Content]:
        """Return the rows of all contents of a workspace."""
        async with self.services.database.workspace(scope) as session:
            return (await session.scalars(sa.select(Content))).all()

    async def corpus_version(self, scope: WorkspaceScope) -> str:
        """Return the hash over what retrieval would use."""
        async with self.services.database.workspace(scope) as session:
            query = sa.select(Workspace.corpus_version).where(Workspace.id == scope.workspace_id)
            return (await session.execute(query)).scalar_one()

    async def count(self, scope: WorkspaceScope, table: type[Any]) -> int:
        """Return how many rows of a table a workspace has."""
        async with self.services.database.workspace(scope) as session:
            return (await session.execute(sa.select(sa.func.count()).select_from(table))).scalar_one()

    def stored(self, scope: WorkspaceScope) -> set[str]:
        """Return the keys of all stored bytes of a workspace, finished or not."""
        folder = self._blobs / str(scope.workspace_id)
        return {f"{scope.workspace_id}/{path.name}" for path in folder.iterdir()} if folder.is_dir() else set()
