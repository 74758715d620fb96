"""Every key name in Redis. A segment carries its length, so that no two lists of segments make one key."""

from app.core.ids import WorkspaceId

_SERVICE = "gd"


def cache_entries(workspace_id: WorkspaceId) -> str:
    """Return the key of the set that lists the keys of a workspace's cached answers."""
    return _joined(_SERVICE, "cache-entries", str(workspace_id))


def _joined(*segments: str) -> str:
    return "".join(f"{len(segment)}:{segment}" for segment in segments)
