"""Workspaces and documents made in this process through the service's own services."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from uuid import uuid4

from app.auth.principal import Principal
from app.bootstrap import Services
from app.core.ids import DocumentId, VersionId
from app.core.tenancy import WorkspaceScope
from app.documents.types import Upload, Visibility
from bench import texts


@dataclass(frozen=True, slots=True)
class Draft:
    """A generated file.

    Attributes:
        name: Its name.
        marker: A word that only this file holds.
        data: Its bytes.
    """

    name: str
    marker: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Shelved:
    """An uploaded document."""

    scope: WorkspaceScope
    document_id: DocumentId
    version_id: VersionId
    sha256: str
    marker: str


async def new_scope(services: Services) -> WorkspaceScope:
    """Return the owner's scope of a fresh workspace."""
    expires_at = datetime(2099, 1, 1, tzinfo=UTC)
    principal = Principal("bench", str(uuid4()), str(uuid4()), None, None, None, frozenset(), expires_at)
    user = await services.workspaces.user_for(principal)
    workspace = await services.workspaces.create(user, "Bench")
    return await services.workspaces.enter(user, workspace.id, token_id=str(uuid4()), request_id=str(uuid4()))


async def shelve(services: Services, scopes: Sequence[WorkspaceScope], drafts: Sequence[Draft]) -> list[Shelved]:
    """Upload files, to the workspaces in turns."""
    shelved = []
    for index, draft in enumerate(drafts):
        scope = scopes[index % len(scopes)]
        upload = Upload(draft.name, io.BytesIO(draft.data), Visibility.WORKSPACE)
        result = await services.documents.upload(scope, upload)
        digest = sha256(draft.data).hexdigest()
        shelved.append(Shelved(scope, result.document_id, result.version_id, digest, draft.marker))
    return shelved


def drafts(count: int) -> list[Draft]:
    """Return files of several kinds and sizes: of one passage, of several batches of passages, of pages."""
    return [_draft(number) for number in range(count)]


def _draft(number: int) -> Draft:
    marker = f"marker{number:04d}qx"
    match number % 5:
        case 0:
            return Draft(f"{number}.txt", marker, texts.prose(400, number, marker).encode())
        case 1:
            return Draft(f"{number}.md", marker, texts.markdown(12, number, marker))
        case 2:
            return Draft(f"{number}.pdf", marker, texts.pdf(6, number, marker=marker))
        case 3:
            return Draft(f"{number}.md", marker, texts.markdown(90 + number, number, marker))
        case _:
            return Draft(f"{number}.txt", marker, texts.prose(30_000, number, marker).encode())
