from uuid import UUID

from app.core.ids import WorkspaceId
from app.redis import keys


def test_segments_carry_their_length() -> None:
    workspace_id = WorkspaceId(UUID(int=7))
    assert keys.cache_entries(workspace_id) == f"2:gd13:cache-entries36:{workspace_id}"


def test_segments_of_any_text_make_different_keys() -> None:
    assert len({keys._joined(*parts) for parts in (("a", "b"), ("ab",), ("a1:b",), ("a", "", "b"), ("", "ab"))}) == 5
