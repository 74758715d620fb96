"""Jobs that were given up: who sees them, and asking for them again."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import pytest
import sqlalchemy as sa

from app.bootstrap import Services
from app.core.ids import UserId, WorkspaceId
from app.core.tenancy import WorkspaceScope
from app.db.models import Content, DeadLetter
from app.documents.types import Status
from app.jobs import dead_letters
from tests.support.api import Caller
from tests.support.documents import digest, prose

SECRET = "the launch code is 0000"


@dataclass(frozen=True, slots=True)
class Office:
    """A workspace with its owner, a member, and a way to give up jobs."""

    services: Services
    owner: Caller
    member: Caller
    scope: WorkspaceScope

    async def upload(self, caller: Caller, data: bytes, visibility: str = "workspace") -> str:
        """Upload a file; return the document's id."""
        files = {"file": (f"{uuid4()}.txt", data, "text/plain")}
        sent = await caller.call("POST", "/v1/documents", files=files, data={"visibility": visibility})
        assert sent.status_code == 202, sent.text
        return str(sent.json()["document_id"])

    async def give_up(self, data: bytes) -> None:
        """Let the processing of a file be given up."""
        await self.services.ingestion.give_up(
            self.scope, digest(data), reason="worker_lost", detail="It stopped the worker several times."
        )

    async def bury(self, task: str, payload: Mapping[str, object]) -> None:
        """Give up any job."""
        async with self.services.database.workspace(self.scope) as session:
            await dead_letters.bury(
                session,
                self.scope,
                task=task,
                payload=payload,
                content_sha256=None,
                reason="blobs_not_removed",
                detail="It was given up.",
                attempts=10,
            )

    async def letters(self, caller: Caller | None = None, status: str = "open") -> list[dict[str, Any]]:
        """Return what a caller is shown."""
        listed = await (caller or self.owner).call("GET", f"/v1/dead-letters?status={status}")
        assert listed.status_code == 200, listed.text
        items: list[dict[str, Any]] = listed.json()["items"]
        return items

    async def jobs(self) -> list[str]:
        """Return the tasks of the jobs that wait."""
        async with self.services.database.workspace(self.scope) as session:
            query = sa.text(
                "SELECT task_name FROM procrastinate_jobs WHERE status = 'todo' AND args ->> 'workspace_id' = :id"
            )
            return list((await session.scalars(query, {"id": str(self.scope.workspace_id)})).all())

    async def empty_queue(self) -> None:
        """Forget the jobs that uploads have asked for."""
        async with self.services.database.workspace(self.scope) as session:
            await self.services.queue.forget_workspace(session, self.scope)


@pytest.fixture
async def office(caller: Caller, services: Services) -> Office:
    owner = await caller.found()
    member = await joined(owner, "member")
    user = (await owner.call("GET", "/v1/me")).json()["user"]["id"]
    scope = services.workspaces.scope_for_job(WorkspaceId(UUID(owner.workspace_id)), UserId(UUID(user)), "test")
    return Office(services, owner, member, scope)


async def joined(owner: Caller, role: str) -> Caller:
    made = await owner.call("POST", "/v1/workspaces/current/invitations", json={"role": role})
    guest = Caller(owner.client, owner.issuer, f"guest-{uuid4()}")
    await guest.call("POST", "/v1/invitations/accept", json={"token": made.json()["token"]})
    return guest.inside(owner.workspace_id or "")


async def requeue(caller: Caller, letter_id: object) -> tuple[int, dict[str, Any]]:
    answer = await caller.call("POST", f"/v1/dead-letters/{letter_id}/requeue")
    return answer.status_code, answer.json()


async def test_an_owner_sees_what_was_given_up_and_has_it_tried_again(office: Office) -> None:
    data = prose("a")
    document_id = await office.upload(office.member, data)
    await office.give_up(data)
    await office.empty_queue()
    (letter,) = await office.letters()
    assert (letter["task"], letter["reason"], letter["document_ids"]) == ("ingest", "worker_lost", [document_id])
    assert letter["requeued_at"] is None
    status, answer = await requeue(office.owner, letter["id"])
    assert status == 202
    assert answer["requeued_by"] == str(office.scope.user_id)
    assert await office.jobs() == ["ingest"]
    document = (await office.owner.call("GET", f"/v1/documents/{document_id}")).json()
    assert (document["status"], document["reason"]) == ("queued", None)
    assert await office.letters() == []
    assert await office.letters(status="requeued") == await office.letters(status="all") == [answer]


async def test_a_second_time_is_refused_and_queues_nothing(office: Office) -> None:
    data = prose("a")
    await office.upload(office.owner, data)
    await office.give_up(data)
    (letter,) = await office.letters()
    assert (await requeue(office.owner, letter["id"]))[0] == 202
    await office.empty_queue()
    status, problem = await requeue(office.owner, letter["id"])
    assert (status, problem["code"]) == (409, "already_requeued")
    assert await office.jobs() == []


async def test_members_see_and_do_nothing(office: Office) -> None:
    data = prose("a")
    await office.upload(office.member, data)
    await office.give_up(data)
    (letter,) = await office.letters()
    assert (await office.member.call("GET", "/v1/dead-letters")).status_code == 403
    assert (await requeue(office.member, letter["id"]))[0] == 403


async def test_letters_about_documents_that_an_owner_may_not_read_are_absent(office: Office) -> None:
    data = prose("a")
    other = await joined(office.owner, "owner")
    document_id = await office.upload(other, data, "restricted")
    await office.give_up(data)
    assert await office.letters(status="all") == []
    (letter,) = await office.letters(other)
    hidden, nothing = await requeue(office.owner, letter["id"]), await requeue(office.owner, uuid4())
    assert hidden[0] == nothing[0] == 404
    assert {**hidden[1], "trace_id": None} == {**nothing[1], "trace_id": None}
    await other.call("PATCH", f"/v1/documents/{document_id}", json={"visibility": "workspace"})
    assert [each["id"] for each in await office.letters()] == [letter["id"]]


async def test_only_readable_documents_of_a_shared_file_are_named(office: Office) -> None:
    data = prose("a")
    await office.upload(office.member, data, "restricted")
    seen = await office.upload(office.owner, data)
    await office.give_up(data)
    (letter,) = await office.letters()
    assert letter["document_ids"] == [seen]


async def test_a_retry_answers_the_letter(office: Office) -> None:
    data = prose("a")
    document_id = await office.upload(office.owner, data)
    await office.give_up(data)
    assert (await office.owner.call("POST", f"/v1/documents/{document_id}/retry")).status_code == 202
    assert await office.letters() == []


async def test_an_upload_of_the_same_file_answers_the_letter(office: Office) -> None:
    data = prose("a")
    await office.upload(office.owner, data)
    await office.give_up(data)
    await office.upload(office.owner, data)
    assert await office.letters() == []


async def test_a_file_has_one_letter_however_often_it_is_given_up(office: Office, services: Services) -> None:
    data = prose("a")
    for _ in range(3):
        await office.upload(office.owner, data)
        await office.give_up(data)
    async with services.database.workspace(office.scope) as session:
        assert await session.scalar(sa.select(sa.func.count()).select_from(DeadLetter)) == 1


async def test_a_letter_goes_with_its_document(office: Office) -> None:
    data = prose("a")
    document_id = await office.upload(office.owner, data)
    await office.give_up(data)
    (letter,) = await office.letters()
    assert (await office.owner.call("DELETE", f"/v1/documents/{document_id}")).status_code == 200
    assert await office.letters(status="all") == []
    assert (await requeue(office.owner, letter["id"]))[0] == 404


async def test_a_removal_of_bytes_is_asked_for_again(office: Office) -> None:
    ids = {"workspace_id": str(office.scope.workspace_id)}
    await office.bury("remove_blobs", {**ids, "keys": ["a/b"]})
    (letter,) = await office.letters()
    assert (await requeue(office.owner, letter["id"]))[0] == 202
    assert await office.jobs() == ["remove_blobs"]


@pytest.mark.parametrize(
    ("task", "changes"),
    [
        ("remove_blobs", {"keys": []}),
        ("remove_blobs", {"keys": ["a"], SECRET: SECRET}),
        ("remove_blobs", {"keys": ["a"], "workspace_id": str(uuid4())}),
        ("ingest", {"content_sha256": SECRET}),
        ("translate", {"text": SECRET}),
    ],
)
async def test_a_job_that_still_does_not_fit_is_refused_and_stays(
    office: Office, task: str, changes: dict[str, object]
) -> None:
    await office.bury(task, {"workspace_id": str(office.scope.workspace_id), **changes})
    (letter,) = await office.letters()
    status, problem = await requeue(office.owner, letter["id"])
    assert (status, problem["code"]) == (409, "payload_invalid")
    assert SECRET not in f"{problem}{letter}"
    assert await office.jobs() == []
    assert await office.letters() == [letter]


async def test_lists_are_in_pages_newest_first(office: Office) -> None:
    for n in range(5):
        await office.bury("remove_blobs", {"workspace_id": str(office.scope.workspace_id), "keys": [str(n)]})
    whole = await office.letters()
    assert [each["created_at"] for each in whole] == sorted((each["created_at"] for each in whole), reverse=True)
    pages, cursor = [], ""
    while True:
        page = (await office.owner.call("GET", f"/v1/dead-letters?limit=2{cursor}")).json()
        pages += page["items"]
        if page["next_cursor"] is None:
            break
        cursor = f"&cursor={page['next_cursor']}"
    assert pages == whole


async def test_a_letter_of_a_file_that_is_ready_again_queues_nothing_new(office: Office, services: Services) -> None:
    data = prose("a")
    await office.upload(office.owner, data)
    await office.give_up(data)
    (letter,) = await office.letters()
    async with services.database.workspace(office.scope) as session:
        values = {"status": Status.QUEUED, "reason": None, "detail": None, "attempts": 0}
        await session.execute(sa.update(Content).values(**values))
    await services.ingestion.run(office.scope, digest(data))
    assert (await requeue(office.owner, letter["id"]))[0] == 202
    assert await services.ingestion.run(office.scope, digest(data)) is None
