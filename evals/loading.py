"""Loads the corpus of a set into a fresh workspace, the way users' files get there."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path

from app.auth.principal import Principal
from app.bootstrap import Services
from app.core.ids import new_id
from app.core.tenancy import WorkspaceScope
from app.documents.types import DocumentView, Upload, Visibility
from evals.formats import LabelledQuestion, LabelledSet


@dataclass(frozen=True, slots=True)
class LoadedSet:
    """A workspace that holds a corpus.

    Attributes:
        documents: Every document by that name of its file, of equal files the first; without those that failed.
        files: Name of the file in the set, by hash of its bytes; equal files have one name.
        aliases: That one name, for every name in the corpus.
        failed: Names of files that could not be made searchable.
    """

    scope: WorkspaceScope
    documents: Mapping[str, DocumentView]
    files: Mapping[str, str]
    aliases: Mapping[str, str]
    failed: tuple[str, ...]


async def load(services: Services, labelled: LabelledSet) -> LoadedSet:
    """Upload and process every file of a set, with a line of progress."""
    scope = await _fresh_scope(services, labelled.name)
    documents: dict[str, DocumentView] = {}
    files: dict[str, str] = {}
    aliases: dict[str, str] = {}
    failed: list[str] = []
    for count, path in enumerate(labelled.corpus, 1):
        digest = sha256(path.read_bytes()).hexdigest()
        aliases[path.name] = files.setdefault(digest, path.name)
        view = await _load_file(services, scope, path, digest)
        if view.chunk_count:
            documents.setdefault(aliases[path.name], view)
        else:
            failed.append(path.name)
        progress(f"{labelled.name}: loaded {count}/{len(labelled.corpus)} files")
    return LoadedSet(scope, documents, files, aliases, tuple(failed))


async def read_texts(services: Services, loaded: LoadedSet) -> dict[str, str]:
    """Return the canonical text of each file that can be searched, by its name; equal files come once."""
    texts: dict[str, str] = {}
    for name, view in loaded.documents.items():
        pages = [
            await services.documents.page(loaded.scope, view.id, number, view.version_id)
            for number in range(1, view.page_count + 1)
        ]
        texts[name] = "".join(page.text for page in pages)
    return texts


def with_one_name(loaded: LoadedSet, question: LabelledQuestion) -> LabelledQuestion:
    """Return the question with its evidence under the one name that equal files have."""
    evidence = tuple(replace(each, file=loaded.aliases.get(each.file, each.file)) for each in question.evidence)
    return replace(question, evidence=evidence)


def progress(line: str) -> None:
    """Replace the line of progress on a terminal; say nothing into a file."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)


async def _fresh_scope(services: Services, name: str) -> WorkspaceScope:
    principal = Principal(
        issuer="evals",
        subject=str(new_id()),
        token_id=str(new_id()),
        actor=None,
        email=None,
        name=None,
        scopes=frozenset(),
        expires_at=datetime.now(UTC) + timedelta(hours=1),
    )
    user = await services.workspaces.user_for(principal)
    workspace = await services.workspaces.create(user, f"evals {name}")
    return await services.workspaces.enter(user, workspace.id, token_id=str(new_id()), request_id=str(new_id()))


async def _load_file(services: Services, scope: WorkspaceScope, path: Path, digest: str) -> DocumentView:
    with path.open("rb") as file:
        uploaded = await services.documents.upload(scope, Upload(path.name, file, Visibility.WORKSPACE))
    await services.ingestion.run(scope, digest)
    return await services.documents.get(scope, uploaded.document_id)
