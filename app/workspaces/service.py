"""The use cases of users, workspaces and members, and the one place that decides who may enter a workspace."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import NoReturn

import psycopg
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from app.auth.principal import Principal
from app.core.clock import Clock, utc_now
from app.core.errors import ForbiddenError, NotFoundError
from app.core.ids import InvitationId, UserId, WorkspaceId, new_id
from app.core.tenancy import Role, WorkspaceScope
from app.db.locks import lock_documents
from app.db.session import Database
from app.jobs.payloads import ReembedPayload, RemoveBlobsPayload
from app.jobs.queue import JobQueue
from app.llm.embedders import EmbedderChoice, Embedders, NotOfferedError
from app.workspaces import repository
from app.workspaces.errors import (
    AlreadyMemberError,
    EmbedderNotOfferedError,
    InvitationNotFoundError,
    LastOwnerError,
)
from app.workspaces.invitations import INVITATION_LIFETIME, new_token, token_sha256
from app.workspaces.roles import require_owner, require_owner_or_self
from app.workspaces.types import DeletedWorkspace, Member, MemberPosition, NewInvitation, User, Workspace

_BLOBS_A_JOB = 1_000


class WorkspaceService:
    """Opens its own short transactions; what it returns are values.

    Args:
        database: Connections of the application role.
        queue: Where the removal of stored bytes and embedding anew are enlisted.
        embedders: What workspaces can choose from.
        clock: The time that invitations are measured by.
    """

    def __init__(self, database: Database, queue: JobQueue, embedders: Embedders, clock: Clock = utc_now) -> None:
        self._database = database
        self._queue = queue
        self._embedders = embedders
        self._clock = clock

    async def user_for(self, principal: Principal) -> User:
        """Return the user that a token speaks for; the first request of a user creates the row."""
        async with self._database.identity() as session:
            known = await repository.find_user(session, principal.issuer, principal.subject)
            if known and not _changed(known, principal):
                return known
            wanted = User(UserId(new_id()), principal.issuer, principal.subject, principal.email, principal.name)
            return await repository.put_user(session, wanted)

    async def enter(self, user: User, workspace_id: WorkspaceId, *, token_id: str, request_id: str) -> WorkspaceScope:
        """Decide whether a user may act in a workspace: the membership row is read on every call.

        Raises:
            ForbiddenError: Not a member, or there is no such workspace; nobody can tell which.
        """
        async with self._database.entering(workspace_id, user.id) as session:
            role = await repository.role_of(session, workspace_id, user.id)
        if role is None:
            raise ForbiddenError("You are not a member of this workspace, or it does not exist.")
        return WorkspaceScope(workspace_id, user.id, role, token_id, request_id)

    def scope_for_job(self, workspace_id: WorkspaceId, user_id: UserId, job_id: str) -> WorkspaceScope:
        """Return the scope of work that a member asked for earlier, with the least rights.

        The member may have left since: what they brought belongs to the workspace, so the work goes on. When the
        workspace is gone, the scope sees nothing and can write nothing.
        """
        return WorkspaceScope(workspace_id, user_id, Role.MEMBER, token_id=job_id, request_id=job_id)

    async def list_for(self, user: User) -> list[Workspace]:
        """Return the workspaces of a user with the role in each, oldest first."""
        async with self._database.identity(user.id) as session:
            return await repository.workspaces_of(session, user.id)

    async def create(self, user: User, name: str) -> Workspace:
        """Create a workspace; its maker becomes the owner."""
        workspace_id = WorkspaceId(new_id())
        async with self._database.founding(workspace_id) as session:
            return await repository.insert_workspace(session, workspace_id, name, user.id)

    async def current(self, scope: WorkspaceScope) -> Workspace:
        """Return the scope's workspace.

        Raises:
            NotFoundError: It was deleted a moment ago.
        """
        async with self._database.workspace(scope) as session:
            return await _required(session, scope)

    async def update(
        self, scope: WorkspaceScope, *, name: str | None = None, embedder: EmbedderChoice | None = None
    ) -> Workspace:
        """Give the workspace another name or embedder; owners only. None leaves what is there.

        Of several wishes for an embedder the last one holds; a job for it begins with the commit. The same one again
        lets a job that waits begin at once.

        Raises:
            EmbedderNotOfferedError: This service does not have that embedder.
        """
        if embedder:
            self._require_offered(embedder)
        async with self._as_owner(scope) as session:
            if embedder:
                await self._choose(session, scope, embedder)
            if name is not None:
                await repository.rename_workspace(session, scope, name)
            return await _required(session, scope)

    async def delete(self, scope: WorkspaceScope) -> DeletedWorkspace:
        """Delete the workspace with all that is in it; owners only. Stored bytes follow through a job."""
        async with self._as_owner(scope) as session:
            await lock_documents(session, scope)
            if not await repository.lock_workspace(session, scope):
                raise _gone()
            removed = await repository.count_rows(session, scope)
            await self._queue.forget_workspace(session, scope)
            await self._enlist_removal(session, scope)
            await repository.delete_workspace(session, scope)
        return DeletedWorkspace(scope.workspace_id, removed)

    async def members(
        self, scope: WorkspaceScope, *, limit: int, after: MemberPosition | None = None
    ) -> Sequence[Member]:
        """Return at most `limit` members in order of joining, those after a position."""
        async with self._database.workspace(scope) as session:
            return await repository.list_members(session, scope, after, limit)

    async def set_role(self, scope: WorkspaceScope, user_id: UserId, role: Role) -> Member:
        """Change a member's role; owners only.

        Raises:
            NotFoundError: There is no such member.
            LastOwnerError: Nobody would be left as owner.
        """
        try:
            async with self._as_owner(scope) as session:
                member = await repository.set_role(session, scope, user_id, role)
        except IntegrityError as error:
            _refuse(error)
        if member is None:
            raise _no_member()
        return member

    async def remove_member(self, scope: WorkspaceScope, user_id: UserId) -> None:
        """Remove a member; owners, and each member for themself.

        Raises:
            NotFoundError: There is no such member.
            LastOwnerError: Nobody would be left as owner.
        """
        require_owner_or_self(scope, user_id)
        opened = self._database.workspace(scope) if scope.user_id == user_id else self._as_owner(scope)
        try:
            async with opened as session:
                removed = await repository.remove_member(session, scope, user_id)
        except IntegrityError as error:
            _refuse(error)
        if not removed:
            raise _no_member()

    async def invite(self, scope: WorkspaceScope, role: Role) -> NewInvitation:
        """Make a one-time link for seven days; owners only. Its token is told once and stored as a hash."""
        expires_at = self._clock() + INVITATION_LIFETIME
        invitation = NewInvitation(InvitationId(new_id()), new_token(), role, expires_at)
        async with self._as_owner(scope) as session:
            await repository.insert_invitation(session, scope, invitation, token_sha256(invitation.token))
        return invitation

    async def accept(self, user: User, token: str) -> Workspace:
        """Let the holder of an invitation in, once, whoever that is.

        Raises:
            InvitationNotFoundError: Unknown, used, too old, or made by somebody who is no owner any more.
            AlreadyMemberError: The user is in already; the invitation stays usable.
        """
        async with self._database.identity(user.id) as session:
            found = await repository.find_invitation(session, token_sha256(token))
        if found is None:
            raise _no_invitation()
        workspace_id, invitation_id = found
        async with self._database.founding(workspace_id) as session:
            role = await repository.claim_invitation(session, workspace_id, invitation_id, user.id, self._clock())
            workspace = await repository.find_workspace(session, workspace_id, role) if role else None
            if role is None or workspace is None:
                raise _no_invitation()
            if not await repository.insert_member(session, workspace_id, user.id, role):
                raise AlreadyMemberError("You are a member of this workspace already.")
        return workspace

    def _require_offered(self, choice: EmbedderChoice) -> None:
        try:
            self._embedders.chosen(choice)
        except NotOfferedError:
            raise EmbedderNotOfferedError(
                f"This service does not offer the embedder `{choice}`: it has no model server, or no model of it is "
                "set. Choose `local` or `default`, or ask an operator to set EMBEDDING_MODEL.",
                extra={"offered": list(self._embedders.offered())},
            ) from None

    async def _choose(self, session: AsyncSession, scope: WorkspaceScope, choice: EmbedderChoice) -> None:
        """Store a wish; in the order of the lock, whoever changes the model or stores a document has seen it."""
        await lock_documents(session, scope)
        if await repository.choose_embedder(session, scope, choice):
            payload = ReembedPayload(workspace_id=scope.workspace_id, user_id=scope.user_id)
            await self._queue.reembed(session, payload)

    async def _enlist_removal(self, session: AsyncSession, scope: WorkspaceScope) -> None:
        await repository.note_blobs(session, scope)
        keys = await repository.blob_keys(session, scope)
        for start in range(0, len(keys), _BLOBS_A_JOB):
            part = tuple(keys[start : start + _BLOBS_A_JOB])
            await self._queue.remove_blobs(session, RemoveBlobsPayload(workspace_id=scope.workspace_id, keys=part))

    @asynccontextmanager
    async def _as_owner(self, scope: WorkspaceScope) -> AsyncIterator[AsyncSession]:
        """Open a transaction for an owner, whose role is read again inside of it: check, then act."""
        require_owner(scope)
        async with self._database.workspace(scope) as session:
            if await repository.role_of(session, scope.workspace_id, scope.user_id) is not Role.OWNER:
                raise ForbiddenError("Only an owner of the workspace may do this.")
            yield session


def _changed(user: User, principal: Principal) -> bool:
    told = ((user.email, principal.email), (user.display_name, principal.name))
    return any(new is not None and new != old for old, new in told)


async def _required(session: AsyncSession, scope: WorkspaceScope) -> Workspace:
    workspace = await repository.find_workspace(session, scope.workspace_id, scope.role)
    if workspace is None:
        raise _gone()
    return workspace


def _gone() -> NotFoundError:
    return NotFoundError("The workspace does not exist any more.")


def _no_member() -> NotFoundError:
    return NotFoundError("There is no such member in this workspace.")


def _no_invitation() -> InvitationNotFoundError:
    return InvitationNotFoundError("This invitation is unknown, used or too old. Ask for a new one.")


def _refuse(error: IntegrityError) -> NoReturn:
    cause = error.orig
    if isinstance(cause, psycopg.Error) and cause.diag.constraint_name == "memberships_keep_one_owner":
        raise LastOwnerError("A workspace keeps at least one owner. Make another member owner first.") from error
    raise error
