"""The statements of users and workspaces. Private to this package; callers open the transactions."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import case, delete, func, select, text, tuple_, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from app.core.ids import InvitationId, UserId, WorkspaceId
from app.core.tenancy import Role, WorkspaceScope
from app.db.models import (
    Answer,
    Chunk,
    Content,
    Conversation,
    Document,
    Invitation,
    Membership,
    PendingBlob,
    User,
    Version,
    Workspace,
)
from app.db.models.base import TenantRow
from app.db.session import in_workspace
from app.llm.embedders import EmbedderChoice
from app.workspaces import types

_COUNTED: dict[str, type[TenantRow]] = {
    "members": Membership,
    "invitations": Invitation,
    "documents": Document,
    "versions": Version,
    "files": Content,
    "chunks": Chunk,
    "conversations": Conversation,
    "answers": Answer,
}


async def find_user(session: AsyncSession, issuer: str, subject: str) -> types.User | None:
    """Return the user that a provider calls so."""
    row = await session.scalar(select(User).where(User.issuer == issuer, User.subject == subject))
    return _user(row) if row else None


async def put_user(session: AsyncSession, user: types.User) -> types.User:
    """Insert the user, or bring the display fields of the existing row up to date; a None leaves what is there."""
    statement = insert(User).values(
        id=user.id, issuer=user.issuer, subject=user.subject, email=user.email, display_name=user.display_name
    )
    statement = statement.on_conflict_do_update(
        constraint="users_issuer_subject_key",
        set_={
            "email": func.coalesce(statement.excluded.email, User.email),
            "display_name": func.coalesce(statement.excluded.display_name, User.display_name),
        },
    )
    row = (await session.scalars(statement.returning(User), execution_options={"populate_existing": True})).one()
    return _user(row)


async def role_of(session: AsyncSession, workspace_id: WorkspaceId, user_id: UserId) -> Role | None:
    """Return the role of a user in a workspace, or None; row-level security may be bound to both."""
    role = await session.scalar(
        select(Membership.role).where(Membership.workspace_id == workspace_id, Membership.user_id == user_id)
    )
    return Role(role) if role else None


async def workspaces_of(session: AsyncSession, user_id: UserId) -> list[types.Workspace]:
    """Return the workspaces of a user, oldest first."""
    rows = await session.execute(
        select(Workspace, Membership.role)
        .join(Membership, Membership.workspace_id == Workspace.id)
        .where(Membership.user_id == user_id)
        .order_by(Workspace.created_at, Workspace.id)
    )
    return [_workspace(workspace, Role(role)) for workspace, role in rows]


async def insert_workspace(
    session: AsyncSession, workspace_id: WorkspaceId, name: str, owner: UserId
) -> types.Workspace:
    """Insert a workspace with its first owner."""
    row = (
        await session.scalars(
            insert(Workspace).values(id=workspace_id, name=name, created_by=owner).returning(Workspace)
        )
    ).one()
    await insert_member(session, workspace_id, owner, Role.OWNER)
    return _workspace(row, Role.OWNER)


async def find_workspace(session: AsyncSession, workspace_id: WorkspaceId, role: Role) -> types.Workspace | None:
    """Return a workspace as a member of this role sees it; the transaction must be bound to it."""
    row = await session.scalar(select(Workspace).where(Workspace.id == workspace_id))
    return _workspace(row, role) if row else None


async def rename_workspace(session: AsyncSession, scope: WorkspaceScope, name: str) -> None:
    """Set the name."""
    await session.execute(update(Workspace).where(Workspace.id == scope.workspace_id).values(name=name))


async def choose_embedder(session: AsyncSession, scope: WorkspaceScope, choice: EmbedderChoice) -> bool:
    """Set what the workspace wishes to be embedded by; return whether something may have to be embedded anew.

    A workspace without any ready content is not searched by a model: the next one comes with that of the choice.
    """
    ready = select(Content.sha256).where(in_workspace(Content, scope), Content.embedding_model != "").exists()
    chosen = (
        update(Workspace)
        .where(Workspace.id == scope.workspace_id)
        .values(embedder=choice.value, embedding_model=case((ready, Workspace.embedding_model), else_=""))
        .returning(Workspace.embedding_model)
    )
    return bool(await session.scalar(chosen))


async def lock_workspace(session: AsyncSession, scope: WorkspaceScope) -> bool:
    """Keep everybody from adding rows to the workspace until the transaction ends; False when it is gone."""
    locked = select(Workspace.id).where(Workspace.id == scope.workspace_id).with_for_update()
    return await session.scalar(locked) is not None


async def delete_workspace(session: AsyncSession, scope: WorkspaceScope) -> None:
    """Delete the workspace; every row of it goes with it."""
    await session.execute(delete(Workspace).where(Workspace.id == scope.workspace_id))


async def insert_member(session: AsyncSession, workspace_id: WorkspaceId, user_id: UserId, role: Role) -> bool:
    """Insert a membership; False when there is one already."""
    statement = insert(Membership).values(workspace_id=workspace_id, user_id=user_id, role=role.value)
    inserted = await session.execute(statement.on_conflict_do_nothing().returning(Membership.user_id))
    return inserted.first() is not None


async def list_members(
    session: AsyncSession, scope: WorkspaceScope, after: types.MemberPosition | None, limit: int
) -> list[types.Member]:
    """Return members in order of joining, those after a position."""
    statement = (
        select(Membership, User)
        .join(User, User.id == Membership.user_id)
        .where(in_workspace(Membership, scope))
        .order_by(Membership.created_at, Membership.user_id)
        .limit(limit)
    )
    if after:
        position = tuple_(Membership.created_at, Membership.user_id)
        statement = statement.where(position > tuple_(after.joined_at, after.user_id))
    rows = await session.execute(statement)
    return [_member(membership, user) for membership, user in rows]


async def set_role(session: AsyncSession, scope: WorkspaceScope, user_id: UserId, role: Role) -> types.Member | None:
    """Set a member's role and return the member, or None when there is no such member."""
    statement = (
        update(Membership)
        .where(in_workspace(Membership, scope), Membership.user_id == user_id)
        .values(role=role.value)
        .returning(Membership)
    )
    membership = (await session.scalars(statement)).one_or_none()
    user = await session.get(User, user_id) if membership else None
    return _member(membership, user) if membership and user else None


async def remove_member(session: AsyncSession, scope: WorkspaceScope, user_id: UserId) -> bool:
    """Remove a member; False when there is no such member."""
    statement = delete(Membership).where(in_workspace(Membership, scope), Membership.user_id == user_id)
    return (await session.execute(statement.returning(Membership.user_id))).first() is not None


async def insert_invitation(
    session: AsyncSession, scope: WorkspaceScope, invitation: types.NewInvitation, sha256: str
) -> None:
    """Insert an invitation; of its token only the hash."""
    await session.execute(
        insert(Invitation).values(
            workspace_id=scope.workspace_id,
            id=invitation.id,
            token_sha256=sha256,
            role=invitation.role.value,
            created_by=scope.user_id,
            expires_at=invitation.expires_at,
        )
    )


async def find_invitation(session: AsyncSession, sha256: str) -> tuple[WorkspaceId, InvitationId] | None:
    """Return where the invitation of this token is, whichever workspace that is; ids only."""
    statement = text("SELECT workspace_id, id FROM find_invitation(:sha256)")
    row = (await session.execute(statement, {"sha256": sha256})).one_or_none()
    return (WorkspaceId(row.workspace_id), InvitationId(row.id)) if row else None


async def claim_invitation(
    session: AsyncSession, workspace_id: WorkspaceId, invitation_id: InvitationId, user_id: UserId, now: datetime
) -> Role | None:
    """Mark an invitation as used and return its role; None when it is used, too old, or its maker is no owner now.

    The row lock of the update lets one caller through; those who waited find it used.
    """
    maker_is_owner = (
        select(Membership.user_id)
        .where(
            Membership.workspace_id == workspace_id,
            Membership.user_id == Invitation.created_by,
            Membership.role == Role.OWNER.value,
        )
        .exists()
    )
    statement = (
        update(Invitation)
        .where(
            Invitation.workspace_id == workspace_id,
            Invitation.id == invitation_id,
            Invitation.accepted_at.is_(None),
            Invitation.expires_at > now,
            maker_is_owner,
        )
        .values(accepted_at=now, accepted_by=user_id)
        .returning(Invitation.role)
    )
    role = await session.scalar(statement)
    return Role(role) if role else None


async def count_rows(session: AsyncSession, scope: WorkspaceScope) -> dict[str, int]:
    """Return how many rows of each kind the workspace holds."""
    counts = [
        select(func.count()).select_from(table).where(in_workspace(table, scope)).scalar_subquery().label(name)
        for name, table in _COUNTED.items()
    ]
    return dict((await session.execute(select(*counts))).one()._asdict())


async def note_blobs(session: AsyncSession, scope: WorkspaceScope) -> None:
    """Note the keys of all stored files, whose contents go with the workspace, until their bytes are gone too."""
    keys = select(Content.workspace_id, Content.blob_key).where(in_workspace(Content, scope))
    noted = insert(PendingBlob).from_select(["workspace_id", "blob_key"], keys)
    await session.execute(noted.on_conflict_do_nothing())


async def blob_keys(session: AsyncSession, scope: WorkspaceScope) -> Sequence[str]:
    """Return the keys of all stored files of the workspace."""
    return (await session.scalars(select(Content.blob_key).where(in_workspace(Content, scope)))).all()


def _user(row: User) -> types.User:
    return types.User(UserId(row.id), row.issuer, row.subject, row.email, row.display_name)


def _workspace(row: Workspace, role: Role) -> types.Workspace:
    return types.Workspace(WorkspaceId(row.id), row.name, role, row.created_at)


def _member(membership: Membership, user: User) -> types.Member:
    return types.Member(
        user_id=UserId(user.id),
        display_name=user.display_name,
        email=user.email,
        role=Role(membership.role),
        joined_at=membership.created_at,
    )
