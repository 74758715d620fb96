from uuid import uuid4

import pytest
from pydantic import ValidationError

from app.jobs.payloads import (
    PAYLOADS,
    ArrangeVectorsPayload,
    IngestPayload,
    ReembedPayload,
    RemoveBlobsPayload,
    RemoveOldVectorsPayload,
    TaskName,
    wrong_fields,
)

INGEST = {
    "workspace_id": str(uuid4()),
    "content_sha256": "0f" * 32,
    "user_id": str(uuid4()),
    "size_bytes": 7,
    "outages": 0,
}
REMOVE = {"workspace_id": str(uuid4()), "keys": ["a/b"]}
OF_A_WORKSPACE = {"workspace_id": str(uuid4()), "user_id": str(uuid4())}


def test_payloads_survive_the_way_through_json() -> None:
    for model, arguments in (
        (IngestPayload, INGEST),
        (RemoveBlobsPayload, REMOVE),
        (ReembedPayload, OF_A_WORKSPACE),
        (RemoveOldVectorsPayload, OF_A_WORKSPACE),
        (ArrangeVectorsPayload, OF_A_WORKSPACE),
    ):
        payload = model.model_validate(arguments)
        assert payload.model_dump(mode="json") == arguments
        assert model.model_validate_json(payload.model_dump_json()) == payload


@pytest.mark.parametrize(
    "changes",
    [
        {"workspace_id": "x"},
        {"workspace_id": None},
        {"content_sha256": "0F" * 32},
        {"content_sha256": "0f" * 31},
        {"content_sha256": "0f" * 32 + "\n"},
        {"user_id": 1},
        {"size_bytes": -1},
        {"size_bytes": 2**53},
        {"size_bytes": "many"},
        {"text": "more"},
    ],
)
def test_arguments_that_are_not_an_ingestion_are_refused(changes: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        IngestPayload.model_validate({**INGEST, **changes})


@pytest.mark.parametrize("changes", [{"keys": []}, {"keys": "a"}, {"keys": [1]}, {"keys": ["a"] * 10_001}, {"more": 1}])
def test_arguments_that_are_not_a_removal_are_refused(changes: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        RemoveBlobsPayload.model_validate({**REMOVE, **changes})


def test_every_task_has_its_payload() -> None:
    assert set(PAYLOADS) == set(TaskName)


@pytest.mark.parametrize(
    ("changes", "fields"),
    [
        ({"user_id": "the code is 0000"}, ("user_id",)),
        ({"user_id": "the code is 0000", "size_bytes": -1}, ("user_id", "size_bytes")),
        ({"the code is 0000": 1}, ("fields that the task does not know",)),
    ],
)
def test_what_is_wrong_is_told_without_any_value_or_foreign_name(
    changes: dict[str, object], fields: tuple[str, ...]
) -> None:
    with pytest.raises(ValidationError) as caught:
        IngestPayload.model_validate({**INGEST, **changes})
    assert wrong_fields(caught.value) == fields
