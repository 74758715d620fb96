"""Stored bytes that no content refers to: known by their key from before they exist until after they are gone.

Whatever dies between two steps, the row of a key is there as long as its bytes may be, and a sweep finds it.
"""

from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy.ext.asyncio import AsyncSession

from app.core.errors import UnavailableError
from app.core.tenancy import WorkspaceScope
from app.db.session import Database
from app.documents import repository
from app.documents.storage import BlobStore, is_key_of

_ATTACH_WITHIN = timedelta(minutes=30)
"""Sweeps look at keys that are an hour old: an upload that takes so long must not refer to bytes that one removes."""


class PendingBlobs:
    """Keeps the keys of bytes that are being stored or removed, in one workspace at a time."""

    def __init__(self, database: Database, blobs: BlobStore) -> None:
        self._database = database
        self._blobs = blobs

    async def expect(self, scope: WorkspaceScope, key: str) -> None:
        """Note a new key, in a transaction of its own, before its bytes are stored."""
        async with self._database.workspace(scope) as session:
            await repository.add_pending_blobs(session, scope, [key])

    async def attach(self, session: AsyncSession, scope: WorkspaceScope, key: str) -> None:
        """Forget a key in the transaction that writes the content with its bytes.

        Raises:
            UnavailableError: It was noted so long ago that a sweep may be removing its bytes.
        """
        if not await repository.attach_pending_blob(session, scope, key, within=_ATTACH_WITHIN):
            raise UnavailableError("Storing the file took too long. Try again.")

    async def condemn(self, session: AsyncSession, scope: WorkspaceScope, keys: Sequence[str]) -> None:
        """Note the keys of contents that this transaction deletes."""
        if keys:
            await repository.add_pending_blobs(session, scope, keys)

    async def sweep(self, scope: WorkspaceScope, keys: Sequence[str]) -> int:
        """Remove the bytes of those keys that no content refers to, then forget all of them.

        It may run at any time, twice, and beside itself. A caller's keys come from a deletion, from an upload that
        has ended, or are at least an hour old. Keys that lie outside the workspace are left alone.

        Returns:
            How many keys had their bytes removed.

        Raises:
            UnavailableError: The store or the database does not answer; what is left is found by the next sweep.
        """
        mine = [key for key in keys if is_key_of(scope.workspace_id, key)]
        if not mine:
            return 0
        async with self._database.workspace(scope) as session:
            # Waits for an upload whose commit is on its way: after it, the content is seen.
            await repository.lock_pending_blobs(session, scope, mine)
            used = set(await repository.blobs_in_use(session, scope, mine))
            await repository.forget_pending_blobs(session, scope, sorted(used))
        unused = [key for key in mine if key not in used]
        await self._blobs.remove(unused)
        async with self._database.workspace(scope) as session:
            await repository.forget_pending_blobs(session, scope, unused)
        return len(unused)
