import pytest
from pydantic import ValidationError

from app.api.schemas.workspaces import WorkspaceCreate


@pytest.mark.parametrize("name", ["\u200b", "\u200b\u2060", "\u2800", "\u3164"])
def test_a_workspace_name_that_shows_nothing_is_refused(name: str) -> None:
    with pytest.raises(ValidationError, match="a reader sees"):
        WorkspaceCreate(name=name)


def test_joiners_inside_a_workspace_name_stay() -> None:
    name = "\u0646\u0627\u0645\u0647\u200c\u0647\u0627"
    assert WorkspaceCreate(name=name).name == name
