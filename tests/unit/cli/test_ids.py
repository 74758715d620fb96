import pytest

from app.cli.ids import canonical

ID = "2b0d7b3d-7f8e-4d8e-9d5e-0b6f0c1d2e3f"


@pytest.mark.parametrize("typed", [ID, ID.upper(), ID.replace("-", ""), f" {ID} "])
def test_an_id_has_one_form(typed: str) -> None:
    assert canonical(typed) == ID


@pytest.mark.parametrize("typed", ["", "xyz", "../me", ID[:-1]])
def test_other_texts_are_no_ids(typed: str) -> None:
    assert canonical(typed) is None
