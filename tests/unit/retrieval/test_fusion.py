import re
from importlib import resources
from typing import Any

import pytest

from app.retrieval.fusion import FusionSettings
from app.retrieval.service import clean_query


def test_an_exact_identifier_outweighs_the_other_arms_together() -> None:
    settings = FusionSettings()
    assert settings.identifier_weight > settings.keyword_weight + settings.vector_weight


@pytest.mark.parametrize(
    "wrong",
    [
        {"keyword_weight": -0.1},
        {"vector_weight": -1.0},
        {"arm_limit": 0},
        {"max_lexemes": 0},
        {"identifier_weight": -1},
        {"max_identifiers": 0},
        {"b": 1.5},
        {"k1": -0.5},
        {"postings_limit": 0},
        {"candidate_limit": 0},
    ],
)
def test_settings_that_make_no_ranking_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must"):
        FusionSettings(**wrong)


def test_every_setting_is_bound_by_the_statement_and_none_is_left_over() -> None:
    sql = resources.files("app.retrieval.queries").joinpath("hybrid.sql").read_text("utf-8")
    bound = set(re.findall(r"(?<![:\w]):(\w+)", sql))
    given = set(FusionSettings().parameters())
    reader_and_query = {"workspace_id", "user_id", "question", "embedding", "model", "result_limit"}
    identifiers = {"identifiers", "identifier_numbers"}
    assert bound == given | reader_and_query | identifiers


def test_clean_query_removes_what_postgres_refuses() -> None:
    assert clean_query(" a\x00b \ud800 ") == "a b ?"
