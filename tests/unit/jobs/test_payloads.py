from uuid import uuid4

import pytest
from pydantic import ValidationError

from app.jobs.payloads import IngestPayload, RemoveBlobsPayload

INGEST = {"workspace_id": str(uuid4()), "content_sha256": "0f" * 32, "user_id": str(uuid4())}
REMOVE = {"workspace_id": str(uuid4()), "keys": ["a/b"]}


def test_payloads_survive_the_way_through_json() -> None:
    for model, arguments in ((IngestPayload, INGEST), (RemoveBlobsPayload, REMOVE)):
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
