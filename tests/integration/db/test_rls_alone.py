"""Row-level security without the application's filters: every function of every repository, as one tenant on another.

Functions are found and their arguments filled by name, so that a new one is tried too; an argument that nobody can
fill yet fails these tests.
"""

import dataclasses
import importlib
import inspect
import io
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import numpy as np
import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, create_async_engine

import app
from adversarial.snapshots import snapshot, tenant_tables
from adversarial.unfiltered import without_workspace_filters
from app.answering.claims import Ask
from app.answering.explanations import Candidate, Retrieval
from app.bootstrap import Services
from app.core.errors import ForbiddenError, NotFoundError
from app.core.ids import InvitationId, WorkspaceId
from app.core.tenancy import Role, WorkspaceScope
from app.db import models
from app.db.engine import create_engine
from app.db.session import Database
from app.documents.types import Status, Upload, Visibility
from app.ingestion.chunking import Chunk
from app.ingestion.errors import ClaimLostError
from app.ingestion.parsing.types import ParsedDocument, ParsedPage
from app.ingestion.types import Claim
from app.llm.embedders import EmbedderChoice, EmbeddingState
from app.retrieval.cell_repository import Layout
from app.retrieval.context import Fate
from app.retrieval.fusion import FusionSettings
from app.retrieval.repository import HybridQuery
from app.retrieval.types import ArmRanks
from app.workspaces.invitations import token_sha256
from app.workspaces.service import WorkspaceService
from app.workspaces.types import NewInvitation
from tests.support.databases import DatabaseUrls
from tests.support.tenants import Tenant, Tenants

Function = Callable[..., Awaitable[object]]
QUESTION = "What does requirement 2.13 say?"
# Users belong to no workspace; a row is found by whoever has a token of that very user.
OF_NO_TENANT = {"workspaces.find_user", "workspaces.put_user"}
# Functions that return rows: with both walls down, each must show the other tenant's, or the rest shows nothing.
READS = {
    "documents.find", "documents.page", "documents.find_named", "documents.find_content", "documents.find_version",
    "documents.find_page", "documents.lone_contents", "answering.find_claims", "answering.find_places",
    "answering.hold_readable", "retrieval.find_passages", "retrieval.find_chunk", "retrieval.find_neighbours",
    "workspaces.list_members", "workspaces.blob_keys", "documents.lock_pending_blobs", "documents.required",
    "documents.uploaded_lately",
}  # fmt: skip
COUNTS: Mapping[str, object] = {
    "documents.count_dependents": dict.fromkeys(
        ("versions", "citations", "pages", "chunks", "word_lists", "embeddings"), 0
    ),
    "documents.count_remaining": dict.fromkeys(
        ("documents", "versions", "citations", "pages", "chunks", "word_lists", "embeddings"), 0
    ),
    "documents.find_twin_name": None,
    "documents.attach_pending_blob": False,
    "documents.blobs_in_use": [],
    "ingestion.attempts_of": None,
    "ingestion.claim": None,
    "ingestion.embedding_state": EmbeddingState(EmbedderChoice.DEFAULT, ""),
    "retrieval.read_embedding_state": EmbeddingState(EmbedderChoice.DEFAULT, ""),
    "retrieval.absent_identifiers": ("2.13",),
    "ingestion.count_chunks": (0, 0),
    "ingestion.count_ready_chunks": (0, 0),
    "ingestion.missing_chunks": [],
    "ingestion.missing_ready_chunks": [],
    "ingestion.delete_vectors_except": 0,
    "workspaces.role_of": None,
    "retrieval.read_layout": Layout(0, 0, 0, 0, 0, 0, 0, 0.0, compare=True),
    "retrieval.ids_to_place": [],
    "retrieval.ids_in_cells": [],
    "retrieval.move_vectors": 0,
    "retrieval.delete_empty_cells": 0,
    "retrieval.delete_layout": False,
    "retrieval.models_without_vectors": [],
    "retrieval.compare_nearest": (0, 0),
    "retrieval.record_comparison": False,
}


def repository_functions() -> dict[str, Function]:
    """Return every function that takes a session, by package and name."""
    found: dict[str, Function] = {}
    for path in sorted(Path(app.__path__[0]).glob("*/*repository.py")):
        module = importlib.import_module(f"app.{path.parent.name}.{path.stem}")
        for name, function in inspect.getmembers(module, inspect.iscoroutinefunction):
            if function.__module__ == module.__name__ and not name.startswith("_"):
                found[f"{path.parent.name}.{name}"] = function
    return found


FUNCTIONS = repository_functions()


@dataclass(frozen=True, slots=True)
class Victim:
    """A tenant that holds one of each thing, and what only it may see."""

    tenant: Tenant
    arguments: Mapping[str, Any]
    marks: tuple[str, ...]


@pytest.fixture(scope="module")
async def admin(database_urls: DatabaseUrls) -> AsyncIterator[AsyncEngine]:
    engine = create_async_engine(database_urls.superuser, pool_size=2)
    yield engine
    await engine.dispose()


@pytest.fixture(scope="module")
async def bare(database_urls: DatabaseUrls) -> AsyncIterator[Database]:
    """Connections of the service's role whose statements have lost their conditions on the workspace."""
    engine = create_engine(database_urls.app, pool_size=3)
    with without_workspace_filters(engine):
        yield Database(engine)
    await engine.dispose()


@pytest.fixture(scope="module")
async def victim(services: Services, tenants: Tenants) -> Victim:
    """A tenant made by the product: document, chunks, vectors, answer, conversation, members, invitation, grant."""
    tenant = await tenants.workspace()
    word = f"zq{uuid4().hex}"
    data = f"2.12 Verify that logs are kept.\n2.13 Verify that {word} is kept in a safe.\n".encode()
    digest = sha256(data).hexdigest()
    uploaded = await services.documents.upload(
        tenant.scope, Upload(f"{word}.txt", io.BytesIO(data), Visibility.WORKSPACE)
    )
    await services.documents.upload(tenant.scope, Upload("r.txt", io.BytesIO(b"Other."), Visibility.RESTRICTED))
    await services.ingestion.run(tenant.scope, digest)
    conversation = uuid4()
    answer = await services.answering.answer(tenant.scope, Ask(QUESTION, conversation))
    citation = answer.claims[0].citations[0]
    invitation = await services.workspaces.invite(tenant.scope, Role.OWNER)
    await tenants.member(tenant)
    embedder = services.embedders.configured
    vector = await embedder.embed_query(word)
    candidate = Candidate(
        citation.chunk_id, citation.document_id, citation.version_id, 1, 1, ArmRanks(vector=1), Fate.GIVEN
    )
    chunk = await services.retrieval.chunk(tenant.scope, citation.chunk_id)
    arguments = {
        "workspace_id": tenant.workspace.id, "user_id": tenant.owner.id, "owner": tenant.owner.id, "user": tenant.owner,
        "issuer": tenant.owner.issuer, "subject": tenant.owner.subject, "role": Role.OWNER, "users": [tenant.owner.id],
        "invitation_id": invitation.id, "invitation": NewInvitation(
            InvitationId(uuid4()), "x", Role.OWNER, invitation.expires_at),
        "document_id": uploaded.document_id, "documents": [uploaded.document_id], "version_id": uploaded.version_id,
        "document": None, "sha256": digest, "sha256s": [digest], "name": f"{word}.txt",
        "visibility": Visibility.WORKSPACE,
        "number": 1, "before": None, "after": None, "limit": 100_000, "status": None, "now": datetime.now(UTC),
        "readable_only": False,
        "chunk_id": citation.chunk_id, "ids": [citation.chunk_id], "answer_id": answer.id,
        "conversation_id": conversation,
        "answer": answer, "candidates": [candidate],
        "retrieval": Retrieval((QUESTION,), (citation.chunk_id,), (candidate,)),
        "passages": [dataclasses.replace(chunk, ordinal=chunk.ordinal + 1)], "held": Claim(
            digest, 1, 1, "key", "text/plain", 9, text_stored=False), "done": 1,
        "total": 1, "reason": "corrupt", "detail": "words", "model": embedder.model_id, "chunk_count": 9,
        "parsed": ParsedDocument((ParsedPage(1, "1", "text", (), has_text=True),), (), "1"), "parser_version": "1",
        "chunker_version": "1", "chunks": (Chunk(7, 0, 4, "text", "", 1, 1, 1),), "vectors": np.array([vector]),
        "query": HybridQuery(f"{word} {QUESTION}", ["2.13"], vector, embedder.model_id),
        "settings": FusionSettings(), "choice": EmbedderChoice.LOCAL,
    }  # fmt: skip
    async with services.database.workspace(tenant.scope) as session:
        mine = {"workspace_id": tenant.workspace.id}
        session.add(models.PendingBlob(**mine, blob_key=word))
        of_model = {**mine, "model": embedder.model_id, "generation": 1}
        session.add(models.VectorLayout(**of_model, made_for=1, breadth=15))
        await session.flush()  # its cells refer to it
        session.add(models.VectorCell(**of_model, centroid=vector.tolist()))
        session.add(
            models.DeadLetter(**mine, id=uuid4(), task="ingest", payload={}, reason=word, detail="words", attempts=3)
        )
    arguments |= {
        "identifiers": ["2.13"],
        "key": word,
        "keys": [word],
        "within": timedelta(minutes=30),
        "besides": uuid4(),
        "deleted": {digest: word},
        "lease": timedelta(seconds=30),
        "counts": True,
        "pages": (ParsedPage(9, "9", "text", (), has_text=True),),
        "start": 0,
        "models": ["other"],
        "ordinal_from": 0,
        "language": "en",
        "text_search": "english",
        "after_id": UUID(int=0),
        "until": UUID(int=2**128 - 1),
        "compare_every": timedelta(days=1),
        "first_cell": 2**62,
        "known": Layout(9, 9, 1, 0, 0, 1, 1, 15.0, compare=True),
        "centroids": np.array([vector]),
        "breadth": 1.0,
        "cells": [None],
        "before_generation": 9,
        "vector": vector,
        "nearest": 10,
        "arm_limit": 50,
        "generation": 1,
        "recall": 0.5,
    }
    ids = (uploaded.document_id, uploaded.version_id, tenant.workspace.id, tenant.owner.id, conversation)
    return Victim(tenant, arguments, (word, digest, *(str(each) for each in ids)))


async def call(name: str, session: AsyncSession, scope: WorkspaceScope, victim: Victim) -> object:
    """Call a function of a repository with everything that belongs to the victim."""
    owner = victim.tenant
    given = {**victim.arguments, "session": session, "scope": scope}
    given["document"] = models.Document(
        workspace_id=owner.workspace.id,
        id=given["document_id"],
        name="planted.txt",
        visibility="workspace",
        named_by=owner.owner.id,
        created_by=owner.owner.id,
    )
    if name == "ingestion.advance":
        given["status"] = Status.CHUNKING
    if name == "retrieval.read_stretch":
        given["after"] = UUID(int=0)
    if name == "workspaces.find_invitation":
        given["sha256"] = token_sha256("unknown")
    if name == "answering.insert_answer":
        given["answer"] = dataclasses.replace(given["answer"], id=uuid4())
    function = FUNCTIONS[name]
    parameters = inspect.signature(function).parameters
    unknown = parameters.keys() - given.keys()
    assert not unknown, f"say how to fill {unknown} of {name}"
    return await function(**{parameter: given[parameter] for parameter in parameters})


def flat(value: object) -> Iterator[str]:
    """Yield every value that a result holds, as text."""
    if isinstance(value, models.Base):
        yield from (str(getattr(value, column.name)) for column in sa.inspect(type(value)).columns)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield from flat(getattr(value, field.name))
    elif isinstance(value, Mapping):
        yield from flat([*value.keys(), *value.values()])
    elif isinstance(value, Iterable) and not isinstance(value, str | bytes):
        for each in value:
            yield from flat(each)
    else:
        yield str(value)


def leaked(value: object, victim: Victim) -> list[str]:
    """Return the marks of the victim in a result."""
    seen = "\n".join(flat(value))
    return [mark for mark in victim.marks if mark in seen]


def test_the_functions_of_all_repositories_are_found() -> None:
    assert {name.split(".")[0] for name in FUNCTIONS} >= {
        "answering",
        "documents",
        "ingestion",
        "retrieval",
        "workspaces",
    }
    assert READS | COUNTS.keys() <= FUNCTIONS.keys()
    assert len(FUNCTIONS) > 40


@pytest.mark.parametrize("name_and_scope", [(name, whose) for name in FUNCTIONS for whose in ("own", "foreign")])
async def test_a_function_without_filters_reaches_no_row_of_another_workspace(
    name_and_scope: tuple[str, str], bare: Database, admin: AsyncEngine, tenants: Tenants, victim: Victim
) -> None:
    """The transaction is bound to the attacker's workspace, the ids are the victim's; so is even the scope, once."""
    name, whose = name_and_scope
    attacker = await tenants.workspace()
    scope = attacker.scope if whose == "own" else victim.tenant.scope
    before = await snapshot(admin, str(victim.tenant.workspace.id))
    try:
        async with bare.workspace(attacker.scope) as session:
            result = await call(name, session, scope, victim)
            assert name in OF_NO_TENANT or leaked(result, victim) == []
            if name in COUNTS:
                assert result == COUNTS[name]
    except (ClaimLostError, NotFoundError):
        pass  # no row of this claim, or no such document, was found
    except sa.exc.IntegrityError:
        pass  # what the row would belong to is not there for this tenant
    except sa.exc.ProgrammingError as error:
        if "row-level security" not in str(error.orig):
            raise
    assert await snapshot(admin, str(victim.tenant.workspace.id)) == before


@pytest.mark.parametrize("name", sorted(READS))
async def test_with_both_walls_down_the_other_workspace_is_seen(
    name: str, database_urls: DatabaseUrls, tenants: Tenants, victim: Victim
) -> None:
    """Otherwise the test above would show nothing."""
    attacker = await tenants.workspace()
    engine = create_engine(database_urls.superuser, pool_size=1)
    try:
        with without_workspace_filters(engine) as removed:
            async with Database(engine).workspace(attacker.scope) as session:
                assert leaked(await call(name, session, attacker.scope, victim), victim)
        assert removed.conditions
    finally:
        await engine.dispose()


async def test_counts_without_filters_are_those_of_the_own_workspace(
    bare: Database, tenants: Tenants, victim: Victim
) -> None:
    attacker = await tenants.workspace()
    async with bare.workspace(attacker.scope) as session:
        rows = await call("workspaces.count_rows", session, attacker.scope, victim)
        state = await call("retrieval.read_corpus_state", session, attacker.scope, victim)
    assert isinstance(rows, dict)
    assert {name: count for name, count in rows.items() if count} == {"members": 1}
    assert [*flat(state)][:3] == ["0", "0", "0"]


async def test_entering_without_filters_takes_a_membership_of_that_workspace(
    bare: Database, services: Services, tenants: Tenants, victim: Victim
) -> None:
    """The decision that everything rests on: being an owner elsewhere must not count."""
    attacker = await tenants.workspace()
    entering = WorkspaceService(bare, services.queue, services.embedders)
    for workspace_id in (victim.tenant.workspace.id, WorkspaceId(uuid4())):
        with pytest.raises(ForbiddenError):
            await entering.enter(attacker.owner, workspace_id, token_id="t", request_id="r")
    scope = await entering.enter(attacker.owner, attacker.workspace.id, token_id="t", request_id="r")
    assert scope.role is Role.OWNER


async def test_no_statement_reaches_foreign_rows_of_any_table(
    database: Database, admin: AsyncEngine, tenants: Tenants, victim: Victim
) -> None:
    attacker = await tenants.workspace()
    foreign = victim.tenant.workspace.id
    held = await snapshot(admin, str(foreign))
    assert [name for name, (count, _) in held.items() if not count] == []
    async with database.workspace(attacker.scope) as session:
        for table, column in tenant_tables():
            reads = sa.select(sa.func.count()).select_from(table)
            assert await session.scalar(reads.where(column == foreign)) == 0, table.name
            changed = await session.execute(sa.update(table).values({column.name: column}).where(column == foreign))
            assert isinstance(changed, sa.CursorResult)
            removed = await session.execute(sa.delete(table).where(column == foreign))
            assert isinstance(removed, sa.CursorResult)
            assert (changed.rowcount, removed.rowcount) == (0, 0), table.name
    assert await snapshot(admin, str(foreign)) == held


async def test_no_row_of_any_table_can_be_copied_into_another_workspace(
    database: Database, admin: AsyncEngine, tenants: Tenants, victim: Victim
) -> None:
    attacker = await tenants.workspace()
    for table, column in tenant_tables():
        async with admin.connect() as connection:
            row = (await connection.execute(sa.select(table).where(column == victim.tenant.workspace.id))).first()
        assert row is not None, table.name
        values = {name: value for name, value in row._asdict().items() if not table.columns[name].identity}
        with pytest.raises(sa.exc.ProgrammingError, match="row-level security"):
            async with database.workspace(attacker.scope) as session:
                await session.execute(sa.insert(table).values(values))
