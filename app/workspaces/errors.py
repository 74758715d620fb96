"""What can be refused about users, members and invitations."""

from app.core.errors import ConflictError, NotFoundError


class LastOwnerError(ConflictError):
    """The change would leave a workspace without an owner."""

    code, title = "last_owner", "A workspace needs an owner"


class AlreadyMemberError(ConflictError):
    """The invited user belongs to the workspace already; the invitation stays usable by another."""

    code, title = "already_member", "Already a member"


class InvitationNotFoundError(NotFoundError):
    """There is no such invitation, or it was used, or its time is over: the same answer for all three."""

    code, title = "invitation_not_found", "Invitation not usable"


class EmbedderNotOfferedError(ConflictError):
    """This service does not have the embedder that a workspace wishes for."""

    code, title = "embedder_not_offered", "Embedder not offered"
