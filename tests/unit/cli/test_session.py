import pytest

from app.cli.errors import CliError
from app.cli.session import choose

ONE = {"id": "11111111-1111-1111-1111-111111111111", "name": "Field service", "role": "owner"}
TWO = {"id": "22222222-2222-2222-2222-222222222222", "name": "Legal", "role": "member"}
TWIN = {"id": "33333333-3333-3333-3333-333333333333", "name": "Legal", "role": "member"}


def test_only_workspace_is_used_when_none_is_named() -> None:
    assert choose([ONE], None) == ONE["id"]


def test_name_and_id_both_choose() -> None:
    assert choose([ONE, TWO], "Legal") == TWO["id"]
    assert choose([TWO, TWIN], str(TWIN["id"])) == TWIN["id"]


def test_user_without_workspace_is_told_how_to_make_one() -> None:
    with pytest.raises(CliError, match="workspaces create"):
        choose([], None)


def test_choice_among_several_is_not_guessed() -> None:
    with pytest.raises(CliError, match="More than one workspace"):
        choose([ONE, TWO], None)


def test_name_of_two_workspaces_is_refused_with_the_ids_to_use() -> None:
    with pytest.raises(CliError, match="2 workspaces have the name 'Legal'") as caught:
        choose([ONE, TWO, TWIN], "Legal")
    assert TWO["id"] in caught.value.detail
    assert TWIN["id"] in caught.value.detail
    assert ONE["id"] not in caught.value.detail


def test_unknown_name_is_refused() -> None:
    with pytest.raises(CliError, match="no workspace 'Sales'"):
        choose([ONE], "Sales")
